import Foundation
import TestPrograms
import Testing

/// Farms with an authority of their own, as people use them with programs.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct JoiningTests {
  @Test func `workers join, renew in the midst of a film, and the film is that of one machine`() async throws {
    // Three renewals of each worker, of which none ends a task.
    let farm = try await Farm(workers: 2, slots: 1, ownAuthority: "10s", worker: PatientFilm.worker)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let film = try PatientFilm(gate: files.path("gate"))
    let edit = try files.write(try await film.document(), to: "edit.json")
    let submit = farm.sheaf("submit", edit, "--wait", "--segment-duration", "1", "-o", files.path("film.mp4"))
    let submitting = Task { try await submit.run() }
    for renewals in 1...3 {
      try await farm.eventually("the workers renew") {
        try (0..<2).allSatisfy { try farm.lines(of: "certificate renewed", byWorker: $0) >= renewals }
      }
      try film.open(seconds: renewals * 3)
    }
    try film.open()
    let submitted = try await submitting.value
    let waited = try farm.logs()
    try #require(submitted.status == 0, "\(submitted.errors)\n\(waited)")
    let rendered = try await TestFilm.render(
      edit, files.path("own.mp4"), segmentDuration: "1", worker: PatientFilm.worker)
    try #require(rendered.status == 0, "\(rendered.errors)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
        == Data(contentsOf: URL(fileURLWithPath: files.path("own.mp4"))))
    let logs = try farm.logs()
    // A grant may be on its way over a connection that is made anew. No task that a worker had is among these.
    let ended = "SELECT count(*) FROM sheaf.attempt WHERE message NOT LIKE '%before the worker had the task'"
    #expect(try await farm.query(ended) == ["0"], "\(logs)")
    #expect(!logs.contains("has expired") && !logs.contains("the coordinator closed the connection"), "\(logs)")
  }

  @Test func `a join token is all that a worker needs, once, until it is revoked`() async throws {
    let farm = try await Farm(workers: 0, slots: 1, ownAuthority: "1h")
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    func worker(_ options: String..., token: String = "") -> Command {
      Command(
        executable: Place.products.appendingPathComponent("sheaf-worker").path,
        arguments: ["--coordinator", farm.address, "--cache", files.path("cache"), "--name", "birch"] + options,
        environment: ["SHEAF_TOKEN": token, "XDG_STATE_HOME": files.path("state")])
    }
    func isConnected() async throws -> Bool {
      try await farm.sheaf("workers").run().output.contains("birch")
    }
    let made = try await farm.sheaf("token", "create", "worker", "studio", "--expires", "1h").run()
    let join = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(made.status == 0 && join.hasPrefix("sheafjoin_"), "\(made.errors)")
    // The farm's own token joins as well, with the digest of the authority.
    let file = try files.write(farm.workerToken, to: "token")
    let own = try await farm.sheaf("ca", "join-token", farm.folder("ca"), "--worker-token-file", file).run()
    #expect(own.output.hasPrefix(join.prefix(75)) && own.output.contains(farm.workerToken), "\(own.errors)")

    for (token, words) in [
      (String(join.dropLast()), "the token is wrong"), ("'\(join)'", "damaged"),
      (join.replacingOccurrences(of: "_sheaf_", with: "_"), "token is wrong"),
      (join.replacing(try Regex("_[0-9a-f]{64}_"), with: "_\(String(repeating: "7", count: 64))_"), "not trusted"),
      ("", "requires TLS"),
    ] {
      let refused = try await worker(token: token).run()
      let status: Int32 = words == "damaged" ? 1 : 69
      #expect(refused.status == status && refused.errors.contains(words), "\(words): \(refused.errors)")
    }
    let plain = try await worker("--tls-ca", farm.folder("ca/authority.pem"), token: farm.token).run()
    #expect(plain.status == 69 && plain.errors.contains("that of clients"), "\(plain.errors)")
    #expect(!FileManager.default.fileExists(atPath: files.path("state/sheaf")))

    let first = try worker(token: join).start()
    try await farm.eventually("the worker has joined") { try await isConnected() }
    first.send(SIGKILL)
    first.wait()
    try await farm.eventually("it is gone") { try await !isConnected() }
    // Without the token it is the same worker, by its certificate; with another name it is none.
    let second = try worker("--identity", files.path("state/sheaf")).start()
    defer { second.send(SIGKILL) }
    try await farm.eventually("the worker is known by its certificate") { try await isConnected() }
    let other = try await worker("--identity", files.path("state/sheaf"), "--name", "alder").run()
    #expect(other.status == 1 && other.errors.contains("give it a join token"), "\(other.status): \(other.errors)")
    let list = try await farm.sheaf("token", "list").run()
    let id = try #require(
      list.output.split(separator: "\n").first { $0.contains("studio") }?.split(separator: " ").first)
    #expect(try await farm.sheaf("token", "revoke", String(id)).run().status == 0)
    #expect(second.wait() == 69)
    #expect(try await !isConnected())
    let audit = try await farm.sheaf("audit", "--action", "certificateIssued,refused").run().output
    for words in ["the worker joins", "birch", "the token is wrong", "that of clients", "requires a token"] {
      #expect(audit.contains(words), "\(words): \(audit)")
    }
  }

  @Test func `certificates for other servers are signed by the farm's authority`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let (ca, leaf, key) = (files.path("ca"), files.path("proxy.pem"), files.path("proxy.key"))
    #expect(try await Command.sheaf("ca", "create", ca, "--name", "our farm").run().status == 0)
    #expect(try await Command.sheaf("ca", "create", ca).run().status == 1)
    let issue = ["ca", "issue", ca, "proxy.example", "192.0.2.7", "--certificate", leaf, "--key", key]
    func sheaf(_ arguments: [String]) async throws -> Command.Result {
      try await Command(
        executable: Place.products.appendingPathComponent("sheaf").path, arguments: arguments, environment: [:]
      ).run()
    }
    #expect(try await sheaf(issue).status == 0)
    #expect(try await sheaf(issue).status == 1)
    let verified = try Tool.result(
      of: "openssl",
      ["verify", "-CAfile", "\(ca)/authority.pem", "-purpose", "sslserver", "-verify_ip", "192.0.2.7", leaf])
    #expect(verified.status == 0, "\(verified.log)")
    let shown = try await sheaf(["ca", "show", ca])
    let digest = try Tool.result(of: "openssl", ["x509", "-in", "\(ca)/authority.pem", "-outform", "DER"])
    let file = try files.write(digest.output.base64EncodedString(), to: "der")
    let sum = try Tool.result(of: "sh", ["-c", "base64 -d \(file) | sha256sum"])
    #expect(shown.output.contains(String(decoding: sum.output.prefix(64), as: UTF8.self)), "\(shown.output)")
    #expect(try await sheaf(["ca", "show", files.path("nothing")]).status == 1)
  }

  @Test func `the worker of a farm of one machine joins it as others do`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    #expect(try await Command.sheaf("ca", "create", files.path("ca")).run().status == 0)
    let ports = try (ReservedPort(), ReservedPort())
    let (wire, http) = (ports.0.number, ports.1.number)
    ports.0.release()
    ports.1.release()
    let farm = try Command.sheaf(
      "farm", "--folder", files.path("farm"), "--postgres", "none", "--listen", "0.0.0.0:\(wire)", "--http",
      "127.0.0.1:\(http)", "--ca", files.path("ca"), environment: ["SHEAF_TOKEN": "secret"]
    ).start()
    defer {
      farm.send(SIGTERM)
      farm.wait()
    }
    try await eventually("the worker of the farm") {
      let result = try await Command(
        executable: "/usr/bin/curl",
        arguments: [
          "-sS", "-H", "Authorization: Bearer secret", "--cacert", files.path("ca/authority.pem"),
          "https://localhost:\(http)/v1/workers",
        ]
      ).run()
      return result.status == 0 && result.output.contains("\"id\"")
    }
  }
}

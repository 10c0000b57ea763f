import Foundation
import TestPrograms
import Testing

/// Farms of programs whose connections are encrypted, and what a program says that is not to connect.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct TLSFarmTests {
  private static let certificates = Result { try TestCertificates() }

  private let certificates: TestCertificates

  init() throws { certificates = try Self.certificates.get() }

  @Test func `a film of a farm with TLS is that of one machine, and who does not trust it gets none`() async throws {
    let farm = try await Farm(workers: 2, slots: 1, certificates: certificates)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(await InvisibleFarmTests.smallFilm(), to: "edit.json")
    let submitted = try await farm.sheaf("submit", edit, "--wait", "-o", files.path("film.mp4")).run()
    let logs = try farm.logs()
    try #require(submitted.status == 0, "\(submitted.errors)\n\(logs)")
    // Its own farm of this machine has no TLS, whatever its environment says about another one.
    let rendered = try await Command(
      executable: Place.products.appendingPathComponent("sheaf").path,
      arguments: ["render", edit, "-o", files.path("own.mp4"), "--store", files.path("store")],
      environment: ["SHEAF_TLS_CA": certificates.authority, "SHEAF_TLS": "1"]
    ).run()
    try #require(rendered.status == 0, "\(rendered.errors)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
        == Data(contentsOf: URL(fileURLWithPath: files.path("own.mp4"))))
    let job = try #require(submitted.output.split(separator: "\n").first)
    let fetched = try await farm.shell(
      #"curl -sS --cacert '\#(certificates.authority)' -H "Authorization: Bearer $SHEAF_TOKEN" -o curl.mp4 "#
        + "https://$SHEAF_HTTP/v1/jobs/\(job)/film && cmp curl.mp4 film.mp4", in: files.path(""))
    #expect(fetched.status == 0, "\(fetched.errors)")
    for (environment, words) in [
      (["SHEAF_TLS_CA": certificates.otherAuthority], "is of an authority that is not trusted"),
      (["SHEAF_TLS_CA": ""], "requires TLS"),
    ] {
      var client = farm.sheaf("workers")
      client.environment.merge(environment) { $1 }
      let refused = try await client.run()
      #expect(refused.status == 69 && refused.errors.contains(words), "\(refused.status): \(refused.errors)")
      let worker = try await Command(
        executable: Place.products.appendingPathComponent("sheaf-worker").path,
        arguments: ["--coordinator", farm.address, "--cache", files.path("cache")],
        environment: ["SHEAF_TOKEN": farm.workerToken].merging(environment) { $1 }
      ).run()
      #expect(worker.status == 69 && worker.errors.contains(words), "\(worker.status): \(worker.errors)")
    }
  }

  /// The worker of `sheaf farm` knows the coordinator by its certificate: that is for another name than 127.0.0.1.
  @Test func `a farm of one machine trusts itself by its certificate`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let ports = try (ReservedPort(), ReservedPort())
    let (wire, http) = (ports.0.number, ports.1.number)
    ports.0.release()
    ports.1.release()
    let farm = try Command(
      executable: Place.products.appendingPathComponent("sheaf").path,
      arguments: [
        "farm", "--folder", files.path("farm"), "--postgres", "none", "--listen", "0.0.0.0:\(wire)", "--http",
        "0.0.0.0:\(http)", "--tls-certificate", certificates.certificate(.otherName), "--tls-key",
        certificates.key(.otherName),
      ],
      environment: ["SHEAF_TOKEN": "secret"]
    ).start()
    defer {
      farm.send(SIGTERM)
      farm.wait()
    }
    let list = ["--cacert", certificates.authority, "--connect-to", "farm.example:\(http):127.0.0.1:\(http)"]
    try await eventually("the worker of the farm") {
      let result = try await Command(
        executable: "/usr/bin/curl",
        arguments: ["-sS", "-H", "Authorization: Bearer secret", "https://farm.example:\(http)/v1/workers"] + list
      ).run()
      return result.status == 0 && result.output.contains("\"id\"")
    }
  }

  @Test func `listening beyond loopback needs TLS, or the option that does without`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    func serve(_ options: String..., environment: [String: String] = [:]) async throws -> Command.Result {
      try await Command(
        executable: Place.products.appendingPathComponent("sheaf").path,
        arguments: ["serve", "--database", "postgres://nobody@127.0.0.1:1/none", "--store", files.path("store")]
          + options,
        environment: ["SHEAF_TOKEN": "secret"].merging(environment) { $1 }
      ).run(seconds: 60)
    }
    for place in [["--listen", "0.0.0.0:0"], ["--http", "0.0.0.0:0"]] {
      let refused = try await serve(place[0], place[1])
      #expect(refused.status == 64, "\(refused.errors)")
      #expect(
        refused.errors.contains("--tls-certificate") && refused.errors.contains("--insecure"), "\(refused.errors)")
    }
    // These get as far as the database, which there is not.
    let insecure = try await serve("--listen", "0.0.0.0:0", environment: ["SHEAF_INSECURE": "1"])
    #expect(insecure.status == 69, "\(insecure.errors)")
    let (certificate, key) = (certificates.certificate(.good), certificates.key(.good))
    let safe = try await serve("--listen", "0.0.0.0:0", "--tls-certificate", certificate, "--tls-key", key)
    #expect(safe.status == 69, "\(safe.errors)")
    let expired = try await serve(
      "--tls-certificate", certificates.certificate(.expired), "--tls-key", certificates.key(.expired))
    #expect(expired.status == 64 && expired.errors.contains("has expired"), "\(expired.errors)")
  }
}

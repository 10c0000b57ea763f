import CSSL
import Digest
import Foundation
import Logging
import NIOCore
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Testing

@testable import TLS
@testable import Wire

/// Connections with TLS, whose certificates the program `openssl` has made.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !QuickTests.areRun, "it starts other programs"))
struct TLSTests {
  static let certificates = Result { try TestCertificates() }

  let certificates: TestCertificates

  init() throws { certificates = try Self.certificates.get() }

  private func identity(_ kind: TestCertificates.Kind = .good) throws -> TLSIdentity {
    try TLSIdentity(certificate: certificates.certificate(kind), key: certificates.key(kind))
  }

  private var trust: TLSTrust { get throws { try TLSTrust(.file(certificates.authority)) } }

  private static let echo: WireServer.Session<Void> = { connection, _, _ in
    for try await message in connection.inbound { try await connection.send(message) }
  }

  @Test func `messages and content are the same bytes both ways`() async throws {
    let trust = try trust
    let count = TestExtent.of(128, whole: 256)
    let (sent, received) = try await withServer(tls: identity(), session: Self.echo) { address in
      try await WireClient.withConnection(to: address, trusting: trust, hello: .worker, timeout: .seconds(300)) {
        connection, _ in
        try await withThrowingTaskGroup(of: SHA256Digest.self) { group in
          var sent = SHA256Hasher()
          group.addTask {
            var received = SHA256Hasher()
            var (left, jobs) = (count, 0)
            for try await message in connection.inbound {
              switch message {
              case .uploadChunk(let chunk):
                received.update(chunk.data)
                left -= 1
              case .cancelJob(let job):
                #expect(job.job == "\(jobs)")
                jobs += 1
              default: Issue.record("unexpected: \(message)")
              }
              if left == 0, jobs == count { break }
            }
            return received.finalize()
          }
          var random = SeededRandom(seed: 64)
          for number in 0..<count {
            // Of many lengths, then as long as content is sent.
            let length = number < 64 ? Int.random(in: 0...70_000, using: &random) : WireProtocol.maximumChunk
            let data = Data(TestBytes.random(length, seed: random.next()))
            sent.update(data)
            try await connection.send(.uploadChunk(.with { $0.data = data }))
            try await connection.send(.cancelJob(.with { $0.job = "\(number)" }))
          }
          let digest = sent.finalize()
          return (digest, try #require(try await group.next()))
        }
      }
    }
    #expect(sent == received)
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `a certificate is accepted for its name and for its address`(host: String) async throws {
    let trust = try trust
    try await withServer(tls: identity()) { address in
      let named = WireAddress(host: host, port: address.port)
      try await WireClient.withConnection(to: named, trusting: trust, hello: .client, timeout: .seconds(300)) {
        _, welcome in
        #expect(welcome.protocolVersion == WireProtocol.version)
      }
    }
  }

  @Test(
    arguments: [
      (.expired, "its certificate has expired"), (.otherName, "its certificate is for another name"),
      (.otherAuthority, "its certificate is of an authority that is not trusted"),
      (.selfSigned, "its certificate is self-signed"),
    ] as [(TestCertificates.Kind, String)])
  func `a certificate is refused with what is wrong with it`(kind: TestCertificates.Kind, reason: String) async throws {
    let trust = try trust
    // A server that has run for long may have one that has expired meanwhile: it is taken from another context.
    let server = try kind == .expired ? ExpiredServer.identity(certificates) : identity(kind)
    for host in ["localhost", "127.0.0.1"] {
      let error = try await withServer(tls: server, admit: Self.nobody) { address in
        let named = WireAddress(host: host, port: address.port)
        return await failure {
          try await WireClient.withConnection(to: named, trusting: trust, hello: .client, timeout: .seconds(300)) {
            _, _ in
          }
        }
      }
      #expect(error?.code == .untrusted)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "none")")
    }
  }

  /// Records a test's failure if somebody says hello.
  private static let nobody: WireServer.Admission<Void> = { _, address in
    Issue.record("admitted: \(address)")
    return .success((.welcoming, ()))
  }

  @Test func `authorities of the system are not those of a file`() async throws {
    let trust = try TLSTrust(.system)
    let error = try await withServer(tls: identity(), admit: Self.nobody) { address in
      await failure {
        try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
      }
    }
    #expect(error?.code == .untrusted)
  }

  @Test func `a self-signed certificate can be trusted by itself`() async throws {
    let trust = try TLSTrust(.file(certificates.certificate(.selfSigned)))
    try await withServer(tls: identity(.selfSigned)) { address in
      try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
        _, _ in
      }
    }
  }

  @Test func `a pinned certificate is accepted whatever its name, and no other one of its authority`() async throws {
    let trust = try TLSTrust(.certificate(certificates.certificate(.otherName)))
    try await withServer(tls: identity(.otherName)) { address in
      try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
        _, _ in
      }
    }
    let error = try await withServer(tls: identity(), admit: Self.nobody) { address in
      await failure {
        try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
      }
    }
    #expect(error?.code == .unreachable)
  }

  @Test func `a client without TLS is refused with the reason`() async throws {
    let error = try await withServer(tls: identity(), admit: Self.nobody) { address in
      await failure {
        try await WireClient.withConnection(to: address, hello: .client, timeout: .seconds(300)) { _, _ in }
      }
    }
    #expect(error?.code == .refused(.protocol))
    #expect(error?.message.contains("requires TLS") == true)
  }

  @Test func `a server without TLS is no server for a client with it`() async throws {
    let trust = try trust
    let error = try await withServer(admit: Self.nobody) { address in
      await failure {
        try await WireClient.withConnection(to: address, trusting: trust, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
      }
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("does not use TLS") == true)
  }

  @Test func `TLS 1.2 is refused`() async throws {
    try await withServer(tls: identity()) { [authority = certificates.authority] address in
      func connect(_ version: String) throws -> Tool.Result {
        try Tool.result(
          of: "openssl",
          ["s_client", version, "-connect", "\(address)", "-CAfile", authority, "-verify_return_error", "-brief"])
      }
      let old = try connect("-tls1_2")
      #expect(old.status != 0 && old.log.contains("alert protocol version"), "\(old.log)")
      let new = try connect("-tls1_3")
      #expect(new.status == 0 && new.log.contains("Protocol version: TLSv1.3"), "\(new.log)")
    }
  }

  @Test func `files that change are used for new connections while others stay open`() async throws {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.path("server.pem"), folder.path("server.key"))
    @Sendable func put(_ kind: TestCertificates.Kind, key other: TestCertificates.Kind? = nil) throws {
      for (from, to) in [(certificates.certificate(kind), certificate), (certificates.key(other ?? kind), key)] {
        try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: to), options: .atomic)
      }
    }
    try put(.good)
    let identity = try TLSIdentity(certificate: certificate, key: key)
    let (lines, logger) = LoggedLines.logger()
    let (first, second) = (try trust, try TLSTrust(.file(certificates.otherAuthority)))
    try await withServer(tls: identity, session: Self.echo) { address in
      try await WireClient.withConnection(to: address, trusting: first, hello: .client, timeout: .seconds(300)) {
        connection, _ in
        var replies = connection.inbound.makeAsyncIterator()
        func exchange() async throws {
          try await connection.send(.heartbeat(.init()))
          #expect(try await replies.next() == .heartbeat(.init()))
        }
        try await exchange()
        identity.look(logger)
        #expect(lines.all == [])
        try put(.otherAuthority)
        identity.look(logger)
        #expect(lines.all == ["TLS certificate loaded"])
        try await exchange()
        let error = await failure {
          try await WireClient.withConnection(to: address, trusting: first, hello: .client, timeout: .seconds(300)) {
            _, _ in
          }
        }
        #expect(error?.code == .untrusted)
        try await WireClient.withConnection(to: address, trusting: second, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
        // A key without its certificate, as between two copies: what was there stays, and is said once.
        try put(.otherAuthority, key: .good)
        for _ in 0..<3 { identity.look(logger) }
        #expect(lines.all.count == 2 && lines.all.last == "TLS certificate not loaded; the one before it stays")
        try await WireClient.withConnection(to: address, trusting: second, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
        try put(.renewed)
        identity.look(logger)
        try await WireClient.withConnection(to: address, trusting: first, hello: .client, timeout: .seconds(300)) {
          _, _ in
        }
        try await exchange()
      }
    }
  }

  @Test func `files that cannot be used are reported`() throws {
    func message(_ certificate: String?, _ key: String?) -> String? {
      do {
        _ = try TLSIdentity.setting(certificate: certificate, key: key, environment: { _ in nil })
        return nil
      } catch {
        return error.description
      }
    }
    let (good, key) = (certificates.certificate(.good), certificates.key(.good))
    #expect(message(nil, nil) == nil)
    #expect(message(good, key) == nil)
    #expect(message(good, nil)?.contains("a certificate and its key") == true)
    #expect(message(nil, key)?.contains("a certificate and its key") == true)
    #expect(message("/none.pem", key)?.contains("the TLS certificate cannot be read") == true)
    #expect(message(good, "/none.pem")?.contains("the TLS key cannot be read") == true)
    #expect(message(key, key)?.contains("has no certificate") == true)
    #expect(message(good, good)?.contains("has no private key") == true)
    #expect(message(good, certificates.key(.renewed))?.contains("is not that of the certificate") == true)
    let (expired, itsKey) = (certificates.certificate(.expired), certificates.key(.expired))
    #expect(message(expired, itsKey)?.contains("has expired") == true)
    let folder = try TemporaryFolder()
    let locked = folder.path("locked.key")
    _ = try Tool.run("openssl", ["ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked])
    #expect(message(good, locked)?.contains("without a passphrase") == true)
    #expect(throws: SettingError.self) {
      _ = try TLSTrust.setting(authorities: key, system: false, environment: { _ in nil })
    }
  }

  @Test func `a file of authorities counts before the system's, and neither is a plain connection`() throws {
    let named = ["SHEAF_TLS_CA": certificates.authority, "SHEAF_TLS": "1"]
    let file = try TLSTrust.setting(authorities: nil, system: false) { named[$0] }
    #expect(file?.authorities == .file(certificates.authority))
    let system = try TLSTrust.setting(authorities: nil, system: false) { $0 == "SHEAF_TLS" ? "1" : nil }
    #expect(system?.authorities == .system)
    #expect(try TLSTrust.setting(authorities: nil, system: false, environment: { _ in nil }) == nil)
  }

  @Test func `keys are changed before they have protected too much`() throws {
    let context = try TLSContext(certificate: certificates.certificate(.good), key: certificates.key(.good))
    var server = try TLSSession.server(context, recordsOfKey: 3)
    let client = try TLSSession.client(try trust, host: "localhost")
    var isDone = (false, false)
    while !isDone.0 || !isDone.1 {
      if !isDone.0 { isDone.0 = try client.handshake() }
      try server.receive(client.output())
      if !isDone.1 { isDone.1 = try server.handshake() }
      try client.receive(server.output())
    }
    var (sent, received) = ([UInt8](), ByteBuffer())
    for number in 0..<20 {
      let bytes = [UInt8](repeating: UInt8(number), count: 1000)
      try bytes.withUnsafeBytes { try server.write($0) }
      sent += bytes
      try client.receive(server.output())
      #expect(try !client.read(into: &received))
    }
    #expect(Array(received.readableBytesView) == sent)
  }
}

extension TLSSession {
  fileprivate func output() -> ByteBuffer {
    var bytes = ByteBuffer()
    takeOutput(into: &bytes)
    return bytes
  }
}

/// A server's certificate that expires while it runs: the program refuses to start with one that has.
private enum ExpiredServer {
  static func identity(_ certificates: TestCertificates) throws -> TLSIdentity {
    try TLSIdentity(
      certificate: certificates.certificate(.expired), key: certificates.key(.expired), at: time(nil) - 3 * 86400)
  }
}

/// What was logged.
final class LoggedLines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock(\.self) }

  static func logger() -> (LoggedLines, Logger) {
    let lines = LoggedLines()
    return (lines, Logger(label: "test") { _ in Handler(lines: lines) })
  }

  private struct Handler: LogHandler {
    let lines: LoggedLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.lines.withLock { $0.append("\(event.message)") } }
  }
}

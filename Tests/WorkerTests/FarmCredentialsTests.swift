import Foundation
import Logging
import SystemSupport
import TestPrograms
import Testing

@testable import TLS
@testable import Worker

/// What a worker shows a farm: a token, or the certificate that it was given for one.
@Suite(.timeLimit(.minutes(10))) struct FarmCredentialsTests {
  private let folder: TemporaryFolder
  private let authority: CertificateAuthority

  init() throws {
    folder = try TemporaryFolder()
    try CertificateAuthority.create(in: folder.path("ca"), name: "farm")
    authority = try CertificateAuthority(folder: folder.path("ca"))
  }

  private let now = time(nil)

  private func credentials(
    _ token: String, _ authorities: TLSTrust.Authorities? = nil, name: String = "birch", at moment: Int? = nil,
    in folder: String? = nil
  ) throws -> FarmCredentials {
    try FarmCredentials(
      token: token, authorities: authorities, name: name, folder: folder ?? self.folder.path("identity"),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, at: moment ?? now)
  }

  private var join: String { JoinToken(authority: authority.digest, token: "sheaf_1").description }

  private func signed(_ key: RequestedKey, name: String = "birch") throws -> String {
    try authority.worker(.init(token: "tok_1", name: name), request: key.request, lifetime: 3600, at: now)
  }

  /// Has a certificate for the join token in the folder.
  private func joined() throws -> FarmCredentials {
    let credentials = try credentials(join)
    let key = try #require(try credentials.greeting(at: now).key)
    try credentials.take(signed(key), for: key)
    return credentials
  }

  @Test func `a connection without TLS has the token alone`() throws {
    let greeting = try credentials("secret").greeting(at: now)
    #expect(greeting.token == "secret" && greeting.trust == nil && greeting.key == nil)
    #expect(try FarmCredentials.empty().greeting().token == "")
  }

  @Test func `a worker that joins has the token, and asks for a certificate`() throws {
    let pinned = try credentials(join).greeting(at: now)
    #expect(pinned.token == "sheaf_1" && pinned.trust?.authorities == .digest(authority.digest))
    #expect(pinned.key != nil && !pinned.hasCertificate)
    let trusted = try credentials("secret", .file(folder.path("ca/authority.pem"))).greeting(at: now)
    #expect(trusted.token == "secret" && trusted.key != nil && !trusted.hasCertificate)
    // Who names a file means it.
    let both = try credentials(join, .file(folder.path("ca/authority.pem"))).greeting(at: now)
    #expect(both.trust?.authorities == .file(folder.path("ca/authority.pem")))
    #expect(throws: TLSError.self) { try credentials(join, .file("/nowhere")) }
  }

  @Test func `a certificate is kept, and used after the next start without a token`() throws {
    let first = try joined()
    let greeting = try first.greeting(at: now)
    #expect(greeting.hasCertificate && greeting.token == "" && greeting.key == nil)
    #expect(try first.greeting(renewing: true, at: now).key != nil)
    let renewal = try #require(first.renewal(at: now + 1000))
    #expect(renewal.wait == .seconds(1400) && renewal.left == .seconds(2600))
    #expect(first.renewal(at: now + 2400)?.wait == .zero && first.renewal(at: now + 3600) == nil)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("identity"))
    try #require(files.count == 1)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("identity/\(files[0])"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    for token in [join, ""] {
      let next = try credentials(token, at: now + 3599).greeting(at: now + 3599)
      #expect(next.hasCertificate && next.token == "", "'\(token)'")
    }
    // Without a token the farm is the certificate's.
    #expect(try credentials("").greeting(at: now).trust?.authorities == .text(authority.certificate))
  }

  @Test func `a certificate is not used for another token, farm, name or time, or if it is damaged`() throws {
    _ = try joined()
    try CertificateAuthority.create(in: folder.path("other"), name: "farm")
    let other = try CertificateAuthority(folder: folder.path("other"))
    for token in [
      JoinToken(authority: authority.digest, token: "sheaf_2").description,
      JoinToken(authority: other.digest, token: "sheaf_1").description,
    ] {
      let greeting = try credentials(token).greeting(at: now)
      #expect(!greeting.hasCertificate && greeting.key != nil && !greeting.token.isEmpty, "\(token)")
    }
    #expect(try credentials(join, name: "alder").greeting(at: now).hasCertificate == false)
    #expect(try credentials(join, at: now + 3600).greeting(at: now + 3600).hasCertificate == false)
    for (name, moment) in [("alder", now), ("birch", now + 3600)] {
      let error = #expect(throws: TLSError.self) { try credentials("", name: name, at: moment) }
      #expect(error?.message.contains("join token") == true)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("identity"))
    let file = folder.path("identity/\(files[0])")
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    for count in [0, 10, whole.count / 3, whole.count - 40] {
      try whole.prefix(count).write(to: URL(fileURLWithPath: file))
      #expect(try credentials(join).greeting(at: now).hasCertificate == false, "\(count) bytes")
      #expect(throws: TLSError.self) { try credentials("") }
    }
  }

  @Test func `a certificate that the farm does not take is not shown again, and the token is`() throws {
    let credentials = try joined()
    #expect(credentials.refuse())
    let greeting = try credentials.greeting(at: now)
    #expect(!greeting.hasCertificate && greeting.token == "sheaf_1" && credentials.renewal(at: now) == nil)
    let key = try #require(greeting.key)
    try credentials.take(signed(key), for: key)
    #expect(try credentials.greeting(at: now).hasCertificate)
    // Who has no token has nothing else to show.
    let tokenless = try self.credentials("")
    #expect(!tokenless.refuse())
    #expect(try tokenless.greeting(at: now).hasCertificate)
  }

  @Test func `what another authority or for another name has signed is not taken`() throws {
    let credentials = try credentials(join)
    let key = try #require(try credentials.greeting(at: now).key)
    try CertificateAuthority.create(in: folder.path("other"), name: "farm")
    let other = try CertificateAuthority(folder: folder.path("other"))
    let foreign = try other.worker(.init(token: "tok_1", name: "birch"), request: key.request, lifetime: 3600, at: now)
    #expect(throws: TLSError.self) { try credentials.take(foreign, for: key) }
    #expect(throws: TLSError.self) { try credentials.take(signed(key, name: "alder"), for: key) }
    #expect(throws: TLSError.self) { try credentials.take(signed(RequestedKey()), for: key) }
    #expect(throws: TLSError.self) { try credentials.take("", for: key) }
    #expect(try credentials.greeting(at: now).hasCertificate == false)
  }

  @Test func `a folder that cannot be written does not keep a worker from its work`() throws {
    let credentials = try credentials(join, in: "/proc/nowhere")
    let key = try #require(try credentials.greeting(at: now).key)
    try credentials.take(signed(key), for: key)
    #expect(try credentials.greeting(at: now).hasCertificate)
  }
}

extension FarmCredentials {
  fileprivate static func empty() throws -> FarmCredentials {
    try FarmCredentials(
      token: "", authorities: nil, name: "birch", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}

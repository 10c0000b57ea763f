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
  private let start = ContinuousClock.now

  private func credentials(
    _ token: String, _ authorities: TLSTrust.Authorities? = nil, name: String = "birch", at moment: Int? = nil,
    in folder: String? = nil
  ) throws -> FarmCredentials {
    try FarmCredentials(
      token: token, authorities: authorities, name: name, folder: folder ?? self.folder.path("identity"),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, at: moment ?? now, start)
  }

  private var join: String { JoinToken(authority: authority.digest, token: "sheaf_1").description }

  private func signed(_ key: RequestedKey, name: String = "birch") throws -> String {
    try authority.worker(.init(token: "tok_1", name: name), request: key.request, lifetime: 3600, at: now)
  }

  /// Has a certificate for the join token in the folder.
  private func joined() throws -> FarmCredentials {
    let credentials = try credentials(join)
    let key = try #require(try credentials.greeting(start).key)
    try credentials.take(signed(key), for: key, start)
    return credentials
  }

  @Test func `a connection without TLS has the token alone`() throws {
    let greeting = try credentials("secret").greeting(start)
    #expect(greeting.token == "secret" && greeting.trust == nil && greeting.key == nil)
    #expect(try FarmCredentials.empty().greeting().token == "")
  }

  @Test func `a worker that joins has the token, and asks for a certificate`() throws {
    let pinned = try credentials(join).greeting(start)
    #expect(pinned.token == "sheaf_1" && pinned.trust?.authorities == .digest(authority.digest))
    #expect(pinned.key != nil && !pinned.hasCertificate)
    let trusted = try credentials("secret", .file(folder.path("ca/authority.pem"))).greeting(start)
    #expect(trusted.token == "secret" && trusted.key != nil && !trusted.hasCertificate)
    // Who names a file means it.
    let both = try credentials(join, .file(folder.path("ca/authority.pem"))).greeting(start)
    #expect(both.trust?.authorities == .file(folder.path("ca/authority.pem")))
    #expect(throws: TLSError.self) { try credentials(join, .file("/nowhere")) }
  }

  @Test func `a certificate is kept, and used after the next start without a token`() throws {
    let first = try joined()
    let greeting = try first.greeting(start)
    #expect(greeting.hasCertificate && greeting.token == "" && greeting.key == nil)
    #expect(try first.greeting(renewing: true, start).key != nil)
    let renewal = try #require(first.renewal(start + .seconds(1000)))
    #expect(renewal.wait == .seconds(1400) && renewal.left == .seconds(2600))
    #expect(first.renewal(start + .seconds(2400))?.wait == .zero && first.renewal(start + .seconds(3600)) == nil)
    #expect(try first.greeting(start + .seconds(3599)).hasCertificate)
    #expect(try !first.greeting(start + .seconds(3600)).hasCertificate)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("identity"))
    try #require(files.count == 1)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("identity/\(files[0])"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    for token in [join, ""] {
      let next = try credentials(token, at: now + 2700)
      let greeting = try next.greeting(start)
      #expect(greeting.hasCertificate && greeting.token == "", "'\(token)'")
      let left = try #require(next.renewal(start))
      #expect(left.wait == .zero && left.left == .seconds(900))
      // A clock that is behind makes it no longer.
      #expect(try credentials(token, at: now - 90_000).renewal(start)?.left == .seconds(3600))
    }
    // Without a token the farm is the certificate's.
    #expect(try credentials("").greeting(start).trust?.authorities == .text(authority.certificate))
  }

  @Test func `a certificate is not used for another token, farm, name or time, or if it is damaged`() throws {
    _ = try joined()
    try CertificateAuthority.create(in: folder.path("other"), name: "farm")
    let other = try CertificateAuthority(folder: folder.path("other"))
    for token in [
      JoinToken(authority: authority.digest, token: "sheaf_2").description,
      JoinToken(authority: other.digest, token: "sheaf_1").description,
    ] {
      let greeting = try credentials(token).greeting(start)
      #expect(!greeting.hasCertificate && greeting.key != nil && !greeting.token.isEmpty, "\(token)")
    }
    #expect(try credentials(join, name: "alder").greeting(start).hasCertificate == false)
    #expect(try credentials(join, at: now + 3600).greeting(start).hasCertificate == false)
    for (name, moment) in [("alder", now), ("birch", now + 3600)] {
      let error = #expect(throws: TLSError.self) { try credentials("", name: name, at: moment) }
      #expect(error?.message.contains("join token") == true)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("identity"))
    let file = folder.path("identity/\(files[0])")
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    for count in [0, 10, whole.count / 3, whole.count - 40] {
      try whole.prefix(count).write(to: URL(fileURLWithPath: file))
      #expect(try credentials(join).greeting(start).hasCertificate == false, "\(count) bytes")
      #expect(throws: TLSError.self) { try credentials("") }
    }
  }

  @Test func `where a certificate is not taken the token is shown, and a renewed one keeps its token`() throws {
    let credentials = try joined()
    let greeting = try credentials.greeting(showingCertificate: false, start)
    #expect(!greeting.hasCertificate && greeting.token == "sheaf_1" && greeting.key != nil)
    #expect(try credentials.greeting(start).hasCertificate && credentials.hasToken && !credentials.hasNewCertificate)
    // Without the token the worker is started again, renews, and is then given the token again.
    let tokenless = try self.credentials("")
    let key = try #require(try tokenless.greeting(renewing: true, start).key)
    try tokenless.take(signed(key), for: key, renewed: true, start)
    #expect(tokenless.hasNewCertificate && !tokenless.hasToken)
    #expect(try tokenless.greeting(start).hasCertificate && !tokenless.hasNewCertificate)
    #expect(try self.credentials(join).greeting(start).hasCertificate)
  }

  @Test func `a certificate counts from when it came, whatever the clock says`() throws {
    let credentials = try credentials(join)
    let key = try #require(try credentials.greeting(start).key)
    // Signed by a farm whose clock is a day behind, and by one whose clock is a day ahead.
    for skew in [-86_400, 86_400] {
      let chain = try authority.worker(
        .init(token: "tok_1", name: "birch"), request: key.request, lifetime: 3600, at: now + skew)
      try credentials.take(chain, for: key, start)
      let renewal = try #require(credentials.renewal(start))
      #expect(renewal.wait == .seconds(2400) && renewal.left == .seconds(3600), "\(skew)")
    }
  }

  @Test(arguments: ["\"", " ", "\u{feff}", "SHEAFJOIN"])
  func `a damaged join token is not taken for a plain one`(what: String) throws {
    let damaged = [what + join, join.replacingOccurrences(of: "sheafjoin", with: what), String(join.dropFirst(3))]
    for text in what == "SHEAFJOIN" ? [damaged[1]] : [damaged[0]] {
      let error = #expect(throws: TLSError.self, "\(text)") { try credentials(text) }
      #expect(error?.message.contains("join token is damaged") == true)
    }
    let short = join.replacingOccurrences(of: authority.digest, with: String(authority.digest.dropLast()))
    #expect(throws: TLSError.self) { try credentials(short) }
  }

  @Test func `what another authority or for another name has signed is not taken`() throws {
    let credentials = try credentials(join)
    let key = try #require(try credentials.greeting(start).key)
    try CertificateAuthority.create(in: folder.path("other"), name: "farm")
    let other = try CertificateAuthority(folder: folder.path("other"))
    let foreign = try other.worker(.init(token: "tok_1", name: "birch"), request: key.request, lifetime: 3600, at: now)
    #expect(throws: TLSError.self) { try credentials.take(foreign, for: key) }
    #expect(throws: TLSError.self) { try credentials.take(signed(key, name: "alder"), for: key) }
    #expect(throws: TLSError.self) { try credentials.take(signed(RequestedKey()), for: key) }
    #expect(throws: TLSError.self) { try credentials.take("", for: key) }
    #expect(try credentials.greeting(start).hasCertificate == false)
  }

  @Test func `a folder that cannot be written does not keep a worker from its work`() throws {
    let credentials = try credentials(join, in: "/proc/nowhere")
    let key = try #require(try credentials.greeting(start).key)
    try credentials.take(signed(key), for: key)
    #expect(try credentials.greeting(start).hasCertificate)
  }
}

extension FarmCredentials {
  fileprivate static func empty() throws -> FarmCredentials {
    try FarmCredentials(
      token: "", authorities: nil, name: "birch", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}

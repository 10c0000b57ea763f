import Foundation
import SystemSupport
import TestPrograms
import Testing

@testable import TLS
@testable import Wire

/// A farm's own authority. What it signs is judged by the program `openssl`.
@Suite(.timeLimit(.minutes(10)), .enabled(if: !QuickTests.areRun, "it starts other programs"))
struct CertificateAuthorityTests {
  private let folder: TemporaryFolder
  private let authority: CertificateAuthority

  init() throws {
    folder = try TemporaryFolder()
    try CertificateAuthority.create(in: folder.path("ca"), name: "Färm № 1")
    authority = try CertificateAuthority(folder: folder.path("ca"))
  }

  private func openssl(_ arguments: String..., expecting status: Int32 = 0) throws -> String {
    let result = try Tool.result(of: "openssl", arguments)
    #expect(result.status == status, "openssl \(arguments): \(result.log)")
    return String(decoding: result.output, as: UTF8.self) + result.log
  }

  private func file(_ text: String, _ name: String) throws -> String { try folder.write(Data(text.utf8), name) }

  private func verify(
    _ chain: String, purpose: String, _ more: [String] = [], at moment: Int = time(nil)
  ) throws -> String {
    let path = try file(chain, "leaf.pem")
    let result = try Tool.result(
      of: "openssl",
      ["verify", "-x509_strict", "-CAfile", folder.path("ca/authority.pem"), "-purpose", purpose]
        + ["-attime", "\(moment)"] + more + [path])
    return result.status == 0 ? "OK" : result.log + String(decoding: result.output, as: UTF8.self)
  }

  @Test func `an authority signs nothing but certificates of its own level`() throws {
    let path = folder.path("ca/authority.pem")
    let text = try openssl("x509", "-in", path, "-noout", "-text", "-nameopt", "utf8")
    #expect(text.contains("CN = Färm № 1") || text.contains("CN=Färm № 1"), "\(text)")
    #expect(text.contains("CA:TRUE, pathlen:0") && text.contains("Certificate Sign"))
    #expect(!text.contains("Digital Signature"))
    let digest = try openssl("x509", "-in", path, "-noout", "-fingerprint", "-sha256")
    #expect(digest.filter { $0 != ":" }.lowercased().contains(authority.digest))
    let key = try FileManager.default.attributesOfItem(atPath: folder.path("ca/authority.key"))
    #expect(key[.posixPermissions] as? Int == 0o600)
    // It is made once.
    #expect(throws: TLSError.self) { try CertificateAuthority.create(in: folder.path("ca"), name: "again") }
    #expect(try CertificateAuthority(folder: folder.path("ca")).digest == authority.digest)
    // Of two files that cannot both be written there is none.
    try FileManager.default.createDirectory(atPath: folder.path("half"), withIntermediateDirectories: true)
    _ = try file("", "half/authority.pem")
    #expect(throws: TLSError.self) { try CertificateAuthority.create(in: folder.path("half"), name: "half") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("half")) == ["authority.pem"])
    #expect(authority.notice(at: time(nil)) == nil)
    #expect(authority.notice(at: authority.expires - 86_400 * 41)?.contains("in 41 days") == true)
    #expect(authority.notice(at: authority.expires) == "the farm's authority has ended")
    // Another's key, no authority, and one that is over.
    try CertificateAuthority.create(in: folder.path("b"), name: "b")
    try FileManager.default.removeItem(atPath: folder.path("b/authority.key"))
    try FileManager.default.copyItem(atPath: folder.path("ca/authority.key"), toPath: folder.path("b/authority.key"))
    #expect(throws: TLSError.self) { try CertificateAuthority(folder: folder.path("b")) }
    let pair = try authority.server(for: ["localhost"], lifetime: 600)
    try FileManager.default.createDirectory(atPath: folder.path("c"), withIntermediateDirectories: true)
    _ = try file(pair.chain, "c/authority.pem")
    _ = try file(pair.key, "c/authority.key")
    let wrong = #expect(throws: TLSError.self) { try CertificateAuthority(folder: folder.path("c")) }
    #expect(wrong?.message.contains("is not that of an authority") == true)
    let late = #expect(throws: TLSError.self) {
      try CertificateAuthority(folder: folder.path("ca"), at: time(nil) + 315_360_010)
    }
    #expect(late?.message.contains("expired") == true)
  }

  @Test func `a server's certificate is for its names, for servers, and for its time`() throws {
    let pair = try authority.server(
      for: ["farm.example", "*.farm.example", "192.0.2.10", "2001:db8::7"], lifetime: 86_400)
    #expect(try verify(pair.chain, purpose: "sslserver") == "OK")
    for name in [["-verify_hostname", "farm.example"], ["-verify_hostname", "a.farm.example"]] {
      #expect(try verify(pair.chain, purpose: "sslserver", name) == "OK", "\(name)")
    }
    for address in ["192.0.2.10", "2001:db8::7"] {
      #expect(try verify(pair.chain, purpose: "sslserver", ["-verify_ip", address]) == "OK", "\(address)")
    }
    #expect(try verify(pair.chain, purpose: "sslserver", ["-verify_hostname", "farm.example.org"]) != "OK")
    #expect(try verify(pair.chain, purpose: "sslserver", ["-verify_ip", "192.0.2.11"]) != "OK")
    #expect(try verify(pair.chain, purpose: "sslclient") != "OK")
    #expect(try verify(pair.chain, purpose: "sslserver", at: time(nil) + 86_390) == "OK")
    #expect(try verify(pair.chain, purpose: "sslserver", at: time(nil) + 86_410).contains("expired"))
    let names = ["", "a b", "a,IP:10.0.0.1", "farm..example", "-x,DNS:y", "a\nb", "é.example", "999.1.1.1/8"]
    for name in names { #expect(throws: TLSError.self, "\(name)") { try ServerName(name) } }
    // No certificate outlives its authority.
    let long = try authority.server(for: ["x"], lifetime: 400_000_000)
    #expect(long.expires == authority.expires)
  }

  @Test(arguments: ["birch", "Zoë's laptop #2", "100%", "a:b,DNS:evil.example", "日本", "tab\tname"])
  func `a worker's certificate has its name and its token, for clients alone`(name: String) throws {
    let key = try RequestedKey()
    let identity = WorkerCertificate.Identity(token: "tok_0123", name: name)
    let chain = try authority.worker(identity, request: key.request, lifetime: 7200)
    let certificate = try ClientCertificate(chain: chain, key: key.key)
    #expect(certificate.identity == identity && certificate.authorityDigest == authority.digest)
    #expect(certificate.lifetime == 7200)
    #expect(try verify(chain, purpose: "sslclient") == "OK")
    #expect(try verify(chain, purpose: "sslserver") != "OK")
    let text = try openssl("x509", "-in", try file(chain, "worker.pem"), "-noout", "-ext", "subjectAltName")
    #expect(text.contains("URI:urn:sheaf:worker:tok_0123:") && !text.contains("DNS:"), "\(text)")
    #expect(throws: TLSError.self) { try ClientCertificate(chain: chain, key: RequestedKey().key) }
  }

  @Test func `a request that is not signed with its own key is not signed`() throws {
    let identity = WorkerCertificate.Identity(token: "tok_1", name: "a")
    func sign(_ request: [UInt8]) throws { _ = try authority.worker(identity, request: request, lifetime: 60) }
    let good = try RequestedKey().request
    try sign(good)
    // Each byte of a request counts.
    for place in stride(from: 0, to: good.count, by: 7) {
      var changed = good
      changed[place] ^= 0x15
      #expect(throws: TLSError.self, "byte \(place)") { try sign(changed) }
    }
    for count in [0, 1, good.count - 1] { #expect(throws: TLSError.self) { try sign(Array(good.prefix(count))) } }
    var random = SeededRandom(seed: 38)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0...1200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(throws: TLSError.self) { try sign(bytes) }
    }
    for kind in [["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"]] {
      let result = try Tool.result(
        of: "openssl",
        ["req", "-new", "-subj", "/CN=x", "-nodes", "-keyout", folder.path("k"), "-outform", "DER"]
          + ["-newkey"] + kind)
      try #require(result.status == 0, "\(result.log)")
      let error = #expect(throws: TLSError.self) { try sign([UInt8](result.output)) }
      #expect(error?.message.contains("P-256") == true || error?.message.contains("too long") == true)
    }
  }

  @Test func `a join token is the authority's digest and the token`() throws {
    for token in ["sheaf_00ff", "a secret with_underscores", "é"] {
      let text = JoinToken(authority: authority.digest, token: token).description
      #expect(text.hasPrefix("sheafjoin_\(authority.digest)_"))
      #expect(JoinToken(text) == JoinToken(authority: authority.digest, token: token))
    }
    let digest = authority.digest
    let none = [
      "", "sheaf_\(digest)_x", "sheafjoin_", "sheafjoin_\(digest)", "sheafjoin_\(digest)_", "sheafjoin_\(digest)0_x",
      "sheafjoin_\(digest.dropLast(2))_x", "sheafjoin_\(digest.dropLast())g_x", "sheafjoin_\(digest)-x",
    ]
    for text in none { #expect(JoinToken(text) == nil, "\(text)") }
  }

  // MARK: Connections

  /// A server that has a certificate of the authority, and asks for one.
  private func server(_ names: [String] = ["localhost", "127.0.0.1"], at moment: Int = time(nil)) throws -> TLSIdentity
  {
    try TLSIdentity(of: authority, names: names, asksPeers: true, at: moment)
  }

  private func worker(
    of authority: CertificateAuthority, _ name: String = "birch", at moment: Int = time(nil)
  ) throws -> ClientCertificate {
    let key = try RequestedKey()
    let identity = WorkerCertificate.Identity(token: "tok_77", name: name)
    return try ClientCertificate(
      chain: authority.worker(identity, request: key.request, lifetime: 3600, at: moment), key: key.key)
  }

  private func other(_ name: String = "other") throws -> CertificateAuthority {
    try CertificateAuthority.create(in: folder.path(name), name: "Färm № 1")
    return try CertificateAuthority(folder: folder.path(name))
  }

  /// What the server knows of a peer that says hello. Throws what refuses it.
  private func seen(by identity: TLSIdentity, _ trust: TLSTrust, host: String = "localhost") async throws
    -> WorkerCertificate?
  {
    let (certificates, found) = AsyncStream.makeStream(of: WorkerCertificate?.self)
    let admit: WireServer.Admission<Void> = { _, origin in
      found.yield(origin.certificate)
      return .success((.welcoming, ()))
    }
    try await withServer(tls: identity, admit: admit) { address in
      let named = WireAddress(host: host, port: address.port)
      try await WireClient.withConnection(to: named, trusting: trust, hello: .worker, timeout: .seconds(300)) { _, _ in
      }
    }
    for await certificate in certificates { return certificate }
    return nil
  }

  @Test func `a worker of the farm is known by its certificate, and a peer without one is nobody`() async throws {
    let identity = try server()
    let farm = TLSTrust.Authorities.text(authority.certificate)
    let known = try await seen(by: identity, TLSTrust(farm, presenting: worker(of: authority)))
    #expect(known?.identity == WorkerCertificate.Identity(token: "tok_77", name: "birch"))
    #expect(try await seen(by: identity, TLSTrust(farm)) == nil)
    // One that asks for none, as the HTTP API, knows nobody, whatever they have.
    let other = try TLSIdentity(of: authority, names: ["localhost"], asksPeers: false)
    #expect(try await seen(by: other, TLSTrust(farm, presenting: worker(of: authority))) == nil)
  }

  /// Certificates with which nobody is let in, nor taken for a peer without one.
  @Test(arguments: ["another authority", "expired", "a server's", "signed by a worker's", "self-signed", "the farm's"])
  func `a certificate that is no worker's of the farm is refused`(kind: String) async throws {
    let certificate: ClientCertificate
    switch kind {
    case "another authority": certificate = try worker(of: other())
    case "expired": certificate = try worker(of: authority, at: time(nil) - 7200)
    case "a server's":
      let pair = try authority.server(for: ["localhost"], lifetime: 3600)
      certificate = ClientCertificate(unverified: pair.chain, key: pair.key)
    case "signed by a worker's":
      let signer = try worker(of: authority)
      try FileManager.default.createDirectory(atPath: folder.path("w"), withIntermediateDirectories: true)
      _ = try file(signer.chain, "w/signer.pem")
      _ = try file(signer.key, "w/signer.key")
      _ = try file("subjectAltName=URI:urn:sheaf:worker:tok_1:birch\nextendedKeyUsage=clientAuth\n", "w/ext")
      _ = try openssl(
        "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=sheaf worker",
        "-keyout", folder.path("w/key"), "-out", folder.path("w/csr"))
      _ = try openssl(
        "x509", "-req", "-in", folder.path("w/csr"), "-CA", folder.path("w/signer.pem"), "-CAkey",
        folder.path("w/signer.key"), "-set_serial", "7", "-days", "2", "-extfile", folder.path("w/ext"), "-out",
        folder.path("w/leaf"))
      certificate = ClientCertificate(
        unverified: try String(contentsOfFile: folder.path("w/leaf"), encoding: .utf8) + signer.chain,
        key: try String(contentsOfFile: folder.path("w/key"), encoding: .utf8))
    case "self-signed":
      _ = try openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=sheaf worker",
        "-addext", "subjectAltName=URI:urn:sheaf:worker:tok_77:birch", "-addext", "extendedKeyUsage=clientAuth",
        "-days", "2", "-keyout", folder.path("k"), "-out", folder.path("c.pem"))
      certificate = ClientCertificate(
        unverified: try String(contentsOfFile: folder.path("c.pem"), encoding: .utf8),
        key: try String(contentsOfFile: folder.path("k"), encoding: .utf8))
    default:
      certificate = ClientCertificate(
        unverified: authority.certificate,
        key: try String(contentsOfFile: folder.path("ca/authority.key"), encoding: .utf8))
    }
    let trust = try TLSTrust(.text(authority.certificate), presenting: certificate)
    let nobody: WireServer.Admission<Void> = { _, origin in
      Issue.record("admitted: \(origin)")
      return .success((.welcoming, ()))
    }
    let error = try await withServer(tls: server(), admit: nobody) { address in
      let named = WireAddress(host: "localhost", port: address.port)
      return await failure {
        try await WireClient.withConnection(to: named, trusting: trust, hello: .worker, timeout: .seconds(300)) {
          _, _ in
        }
      }
    }
    #expect(error?.code == .ownCertificate, "\(error?.message ?? "none")")
  }

  @Test func `an authority's digest is enough to know a farm, and its name is none`() async throws {
    let trust = try TLSTrust(.digest(authority.digest))
    #expect(try await seen(by: server(), trust) == nil)
    #expect(try await seen(by: server(["127.0.0.1"]), trust, host: "127.0.0.1") == nil)
    let worker = try TLSTrust(.digest(authority.digest), presenting: worker(of: authority))
    #expect(try await seen(by: server(), worker)?.identity.name == "birch")
    // Of another authority of the same name, for another host, and of a time that is over.
    let foreign = try other()
    let refused: [(TLSIdentity, TLSTrust, String)] = [
      (try TLSIdentity(of: foreign, names: ["localhost"], asksPeers: true), trust, "authority"),
      (try server(), try TLSTrust(.digest(foreign.digest)), "authority"),
      (try server(["farm.example"]), trust, "for another name"),
      (try server(at: time(nil) - 31 * 86_400), trust, "expired"),
    ]
    for (identity, trust, words) in refused {
      let error = await failure { _ = try await seen(by: identity, trust) }
      #expect(error?.code == .untrusted && error?.message.contains(words) == true, "\(error?.message ?? "none")")
    }
    #expect(throws: TLSError.self) { try TLSTrust(.digest("00ff")) }
  }

  @Test func `a server has its certificate renewed at two thirds of its time`() async throws {
    let start = time(nil) - 20 * 86_400 + 30
    let identity = try server(at: start)
    let trust = try TLSTrust(.text(authority.certificate))
    let (lines, logger) = LoggedLines.logger()
    let first = identity.context
    identity.look(logger, at: start + 20 * 86_400 - 1)
    #expect(identity.context === first && lines.all.isEmpty)
    identity.look(logger, at: start + 20 * 86_400)
    #expect(identity.context !== first && lines.all == ["TLS certificate renewed"])
    #expect(try await seen(by: identity, trust) == nil)
  }
}

extension ClientCertificate {
  /// One that is presented whatever it is.
  fileprivate init(unverified chain: String, key: String) {
    self.init(
      chain: chain, key: key, authority: "", authorityDigest: "", identity: .init(token: "", name: ""),
      issued: time(nil), expires: .max)
  }
}

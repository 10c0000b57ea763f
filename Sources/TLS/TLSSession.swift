import CSSL
import NIOCore

/// The TLS of one connection, without its socket: ciphertext in and out through memory. What it has received is
/// processed at once, so that it holds at most one record that is not complete.
struct TLSSession: ~Copyable {
  /// Bytes of plaintext in a record.
  static let longestRecord = 16 << 10
  /// What a record has besides its plaintext.
  static let recordOverhead = 22
  /// A key protects fewer records than the 2^24.5 after which AES-GCM is not safe any more (RFC 8446, 5.5).
  static let recordsOfKey = 1 << 23

  let session: OpaquePointer
  /// Has what a handshake reads.
  private let context: TLSContext
  /// Owned by the session.
  private let input: OpaquePointer
  private let output: OpaquePointer
  private let recordsOfKey: Int
  private var records = 0
  /// The file with the one certificate that the peer may have.
  private let pinned: String?

  private init(_ context: TLSContext, pinned: String?, recordsOfKey: Int) throws(TLSError) {
    ERR_clear_error()
    guard let session = SSL_new(context.handle) else { throw .recorded(.failed, "there is no memory for a connection") }
    guard let input = sheaf_bio_of_memory() else {
      SSL_free(session)
      throw TLSError(.failed, "there is no memory for a connection")
    }
    guard let output = sheaf_bio_of_memory() else {
      SSL_free(session)
      BIO_free(input)
      throw TLSError(.failed, "there is no memory for a connection")
    }
    SSL_set_bio(session, input, output)
    (self.session, self.input, self.output, self.pinned) = (session, input, output, pinned)
    self.context = context
    self.recordsOfKey = recordsOfKey
  }

  deinit { SSL_free(session) }

  static func server(_ context: TLSContext, recordsOfKey: Int = Self.recordsOfKey) throws(TLSError) -> TLSSession {
    let session = try TLSSession(context, pinned: nil, recordsOfKey: recordsOfKey)
    SSL_set_accept_state(session.session)
    return session
  }

  /// - Parameter host: The name or the IP address that the server's certificate must have.
  static func client(_ trust: TLSTrust, host: String) throws(TLSError) -> TLSSession {
    let pinned: String? = if case .certificate(let path) = trust.authorities { path } else { nil }
    let session = try TLSSession(trust.context, pinned: pinned, recordsOfKey: Self.recordsOfKey)
    SSL_set_connect_state(session.session)
    if pinned == nil { try session.require(host) }
    return session
  }

  /// The peer's certificate must be for this name or IP address.
  private func require(_ host: String) throws(TLSError) {
    // A zone is this machine's own name of a network.
    let name = String(host.prefix { $0 != "%" })
    if (try? SocketAddress(ipAddress: name, port: 0)) != nil {
      guard X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) == 1 else {
        throw .recorded(.failed, "the address \(name) cannot be verified")
      }
    } else {
      // Names stand in the certificate's list of names. Its subject is for people.
      SSL_set_hostflags(session, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      guard SSL_set1_host(session, name) == 1, sheaf_tls_set_server_name(session, name) == 1 else {
        throw .recorded(.failed, "the name \(name) cannot be verified")
      }
    }
  }

  /// Takes ciphertext of the peer. `handshake` or `read` is to follow.
  func receive(_ bytes: ByteBuffer) throws(TLSError) {
    let written = bytes.withUnsafeReadableBytes { BIO_write(input, $0.baseAddress, Int32($0.count)) }
    guard written == bytes.readableBytes else { throw TLSError(.failed, "there is no memory for what has arrived") }
  }

  /// Goes on with the handshake. Returns whether it is complete. Throws if it failed; there may be output all the same,
  /// which says so to the peer.
  func handshake() throws(TLSError) -> Bool {
    ERR_clear_error()
    let result = SSL_do_handshake(session)
    if result == 1 {
      try checkPinned()
      return true
    }
    if SSL_get_error(session, result) == SSL_ERROR_WANT_READ { return false }
    let verified = SSL_get_verify_result(session)
    if verified != X509_V_OK {
      ERR_clear_error()
      throw .untrusted(verified)
    }
    throw refusal() ?? .recorded(.failed, "the TLS handshake failed")
  }

  /// What the peer's certificate says, if it has presented one, that was verified, of a worker.
  func workerCertificate() -> WorkerCertificate? {
    guard SSL_get_verify_result(session) == X509_V_OK, let handle = SSL_get1_peer_certificate(session) else {
      return nil
    }
    return WorkerCertificate(reading: Certificate(owning: handle))
  }

  private func checkPinned() throws(TLSError) {
    guard let pinned else { return }
    guard let expected = try PEMFile(pinned, kind: "TLS certificate").nextCertificate() else {
      throw TLSError(.file, "\(pinned) has no certificate in PEM")
    }
    guard let handle = SSL_get1_peer_certificate(session) else {
      throw TLSError(.untrusted, "it has no certificate")
    }
    guard Certificate(owning: handle).isEqual(to: expected) else {
      // Not for good: a server uses a new file within a minute.
      throw TLSError(.failed, "its certificate is not that of \(pinned)")
    }
  }

  /// Appends the plaintext of what was received. Returns whether the peer has ended what it sends.
  func read(into plaintext: inout ByteBuffer) throws(TLSError) -> Bool {
    while true {
      ERR_clear_error()
      var result: Int32 = 0
      plaintext.writeWithUnsafeMutableBytes(minimumWritableBytes: 1 << 10) { free in
        result = SSL_read(session, free.baseAddress, Int32(clamping: free.count))
        return max(Int(result), 0)
      }
      if result > 0 { continue }
      switch SSL_get_error(session, result) {
      case SSL_ERROR_WANT_READ: return false
      case SSL_ERROR_ZERO_RETURN: return true
      default: throw refusal() ?? .recorded(.failed, "what the peer sent is not TLS as it was agreed")
      }
    }
  }

  /// Why the peer does not accept this end's certificate, if that is what it has said last (RFC 8446, 6.2). In TLS 1.3
  /// it says so when this end's handshake is complete.
  private func refusal() -> TLSError? {
    let reason: String? =
      switch sheaf_error_alert(ERR_peek_error()) {
      case 42: "it is damaged"
      case 43: "it is of another kind"
      case 44: "it was revoked"
      case 45: "it has expired"
      case 46: "it cannot be used"
      case 48: "it is not of the farm's authority"
      case 116: "there is none"
      default: nil
      }
    guard let reason else { return nil }
    ERR_clear_error()
    return TLSError(.ownCertificate, "this end's certificate is not accepted: \(reason)")
  }

  /// Encrypts at most `longestRecord` bytes.
  mutating func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSError) {
    records += 1
    if records > recordsOfKey {
      records = 1
      guard SSL_key_update(session, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 else {
        throw .recorded(.failed, "the key cannot be changed")
      }
    }
    ERR_clear_error()
    guard SSL_write(session, plaintext.baseAddress, Int32(plaintext.count)) == plaintext.count else {
      throw .recorded(.failed, "bytes cannot be encrypted")
    }
  }

  /// States that nothing more will be sent. What the peer sends can still be read.
  func end() {
    ERR_clear_error()
    // It returns whether the peer has ended as well. That it cannot be said, after a failure, changes nothing.
    _ = SSL_shutdown(session)
    ERR_clear_error()
  }

  /// How many bytes are to be sent to the peer.
  var pendingOutput: Int { BIO_ctrl_pending(output) }

  /// Appends what is to be sent to the peer, and takes it away.
  func takeOutput(into ciphertext: inout ByteBuffer) {
    let count = pendingOutput
    guard count > 0 else { return }
    ciphertext.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { free in
      max(Int(BIO_read(output, free.baseAddress, Int32(clamping: min(free.count, count)))), 0)
    }
  }
}

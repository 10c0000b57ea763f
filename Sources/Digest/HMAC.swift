import CCrypto

/// HMAC with SHA-256 (RFC 2104).
package enum MessageCode {
  /// The 32 bytes of the code of a message.
  package static func sha256(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { code, count in
      var length: UInt32 = 0
      let made = HMAC(
        EVP_sha256(), key, Int32(clamping: key.count), message, message.count, code.baseAddress, &length)
      precondition(made != nil && length == 32, "libcrypto has no SHA-256")
      count = 32
    }
  }
}

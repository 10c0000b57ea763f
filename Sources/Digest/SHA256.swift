import CCrypto

/// The SHA-256 of the bytes of a file.
package struct SHA256Digest: Sendable, Hashable {
  /// Always 32.
  package let bytes: [UInt8]

  /// Nil unless there are exactly 32 bytes.
  package init?(bytes: some Sequence<UInt8>) {
    let bytes = [UInt8](bytes)
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Nil unless the text is 64 lower-case hexadecimal digits.
  package init?(hex: some StringProtocol) {
    let digits = [UInt8](hex.utf8)
    guard digits.count == 64 else { return nil }
    var bytes = [UInt8]()
    bytes.reserveCapacity(32)
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self.bytes = bytes
  }

  init(finished bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// 64 lower-case hexadecimal digits.
  package var hex: String {
    let digits: [UInt8] = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: 64) { text in
      for (index, byte) in bytes.enumerated() {
        text[2 * index] = digits[Int(byte >> 4)]
        text[2 * index + 1] = digits[Int(byte & 15)]
      }
      return 64
    }
  }

  /// The digest of bytes that are in memory.
  package static func of(_ bytes: some Sequence<UInt8>) -> SHA256Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finalize()
  }

  /// The digest of bytes that are in memory.
  package static func of(_ bytes: UnsafeRawBufferPointer) -> SHA256Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finalize()
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

/// As JSON the hexadecimal digits.
extension SHA256Digest: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let digest = SHA256Digest(hex: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is not a SHA-256")
    }
    self = digest
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}

extension SHA256Digest: CustomStringConvertible {
  package var description: String { hex }
}

/// Computes the SHA-256 of bytes that arrive in parts.
///
/// Unchecked, and safe: a context has exactly one owner, and libcrypto does not tie it to a thread.
package struct SHA256Hasher: ~Copyable, @unchecked Sendable {
  private let context: OpaquePointer

  package init() {
    // Both fail only if there is no memory left, and then Swift's own allocations fail too.
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("libcrypto has no memory for a SHA-256 context")
    }
    self.context = context
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // It cannot fail for an initialised context.
    let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(status == 1)
  }

  package mutating func update(_ bytes: some Sequence<UInt8>) {
    let done: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
    if done == nil { [UInt8](bytes).withUnsafeBytes { update($0) } }
  }

  /// The digest of everything so far. The hasher cannot be used afterwards.
  package consuming func finalize() -> SHA256Digest {
    digest()
  }

  /// The digest of everything so far. The hasher starts anew.
  mutating func finalizeAndReset() -> SHA256Digest {
    let digest = digest()
    // It cannot fail for a context that was initialised before.
    let status = EVP_DigestInit_ex(context, nil, nil)
    precondition(status == 1)
    return digest
  }

  private func digest() -> SHA256Digest {
    var bytes = [UInt8](repeating: 0, count: 32)
    let status = EVP_DigestFinal_ex(context, &bytes, nil)
    precondition(status == 1)
    return SHA256Digest(finished: bytes)
  }
}

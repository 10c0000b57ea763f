import CCrypto

/// SHA-256 of bytes that come in parts.
///
/// Unchecked, and safe: a context has exactly one owner, and libcrypto does not tie it to a thread.
package struct SHA256Hasher: ~Copyable, @unchecked Sendable {
  private let context: OpaquePointer

  package init() {
    // Both fail only where there is no memory left, which Swift's own allocations do not survive either.
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("libcrypto has no memory for a SHA-256 context")
    }
    self.context = context
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // Cannot fail for a context that was initialised: it only mixes.
    let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(status == 1)
  }

  package mutating func update(_ bytes: some Sequence<UInt8>) {
    let done: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
    if done == nil { [UInt8](bytes).withUnsafeBytes { update($0) } }
  }

  /// The digest of everything so far; the hasher is used up.
  package consuming func finalize() -> SHA256Digest {
    var bytes = [UInt8](repeating: 0, count: 32)
    let status = EVP_DigestFinal_ex(context, &bytes, nil)
    precondition(status == 1)
    return SHA256Digest(finished: bytes)
  }
}

import Glibc

/// The vault, or a file beside it, could not be read or written.
struct VaultError: Error, Sendable, Hashable, CustomStringConvertible {
  enum Code: Sendable, Hashable {
    /// The disk, or a quota on it, is full.
    case outOfSpace
    /// What was uploaded is not what was announced.
    case mismatch
    case missing
    case system(Int32)
  }

  var code: Code
  /// A sentence for a person.
  var description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  /// - Parameter operation: Such as `writing /vault/objects/ab/…`.
  static func system(_ operation: String, errno code: Int32) -> VaultError {
    switch code {
    case ENOSPC, EDQUOT, EFBIG:
      VaultError(.outOfSpace, "no space left on the device: \(operation) failed (\(String(cString: strerror(code))))")
    default: VaultError(.system(code), "\(operation) failed: \(String(cString: strerror(code)))")
    }
  }
}

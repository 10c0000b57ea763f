import Digest
import Jobs

/// What a task's result is a function of: two tasks with the same fingerprint have the same result, byte for byte.
enum TaskFingerprint {
  /// Raised when what tasks write changes in a way that no build tells.
  static let formatVersion = 1

  /// - Parameters:
  ///   - build: Of the worker that runs it: library versions, fonts.
  ///   - inputs: Digests, in the order in which the task opens them.
  static func of(build: String, kind: TaskKind, payload: [UInt8], inputs: [String]) -> SHA256Digest {
    var hasher = SHA256Hasher()
    // Each part with its length before it, so that no two lists of parts read alike.
    func add(_ bytes: some Collection<UInt8>, to hasher: inout SHA256Hasher) {
      hasher.update(withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { [UInt8]($0) })
      hasher.update(bytes)
    }
    add("sheaf task \(formatVersion)".utf8, to: &hasher)
    add(build.utf8, to: &hasher)
    add(kind.rawValue.utf8, to: &hasher)
    add(payload, to: &hasher)
    for input in inputs { add(input.utf8, to: &hasher) }
    return hasher.finalize()
  }
}

import Digest
import FarmModel

/// The digest of everything that a task's result depends on: two tasks with the same fingerprint have the same result,
/// byte for byte.
enum TaskFingerprint {
  /// To be raised when the results of tasks change and the build does not.
  static let formatVersion = 1

  /// What takes the place of the build for a probe task, whose result does not depend on it: a description has what is
  /// in the file. To be raised when descriptions, or the motion found of a camera, change.
  static let probeVersion = "probe 25"

  /// - Parameters:
  ///   - build: Of the worker that runs the task: library versions. A probe task's does not depend on it.
  ///   - inputs: In the order in which the task opens them.
  static func of(build: String, kind: TaskKind, payload: [UInt8], inputs: [SHA256Digest]) -> SHA256Digest {
    var hasher = SHA256Hasher()
    // Each part follows its length, so that two different lists of parts are different bytes.
    func add(_ bytes: some Collection<UInt8>, to hasher: inout SHA256Hasher) {
      hasher.update(withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { [UInt8]($0) })
      hasher.update(bytes)
    }
    add("sheaf task \(formatVersion)".utf8, to: &hasher)
    add((kind == .probe ? probeVersion : build).utf8, to: &hasher)
    add(kind.rawValue.utf8, to: &hasher)
    add(payload, to: &hasher)
    for input in inputs { add(input.hex.utf8, to: &hasher) }
    return hasher.finalize()
  }
}

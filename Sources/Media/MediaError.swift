internal import CMedia
internal import Glibc
internal import SystemSupport

/// What went wrong with a media file or a codec: what was being done, to what, and why it failed, in words that a
/// person can act on.
package struct MediaError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable {
    /// Bytes could not be read or written.
    case io
    /// The disk is full.
    case outOfSpace
    case outOfMemory
    /// The bytes are not a media file of a kind that Sheaf opens.
    case unrecognized
    /// The file is recognized, but holds something that this build cannot decode, encode or write.
    case unsupported
    /// The file's contents contradict its format.
    case damaged
    /// The file has no such track, or the track is not as described.
    case noTrack
    /// A size or count above what is accepted.
    case tooLarge
    /// A piece file that is truncated, foreign or inconsistent.
    case invalidPiece
    /// A request that cannot be met, such as one with frames of another size.
    case invalidRequest
  }

  package let code: Code
  /// What was being done, such as `decoding`.
  package let operation: String
  /// What it was done to, such as a file's name; may be empty.
  package let subject: String
  /// What was wrong and, if that is defined, what would be right.
  package let message: String

  package init(_ code: Code, operation: String, subject: String, message: String) {
    self.code = code
    self.operation = operation
    self.subject = subject
    self.message = message
  }

  /// `reading beach.mov: the file ends at byte 100`.
  package var description: String {
    subject.isEmpty ? "\(operation): \(message)" : "\(operation) \(subject): \(message)"
  }
}

extension MediaError {
  /// A negative AVERROR: the number's meaning, with the error line that libav* logged, if it logged one.
  init(averror: Int32, operation: String, subject: String) {
    let code: Code =
      switch averror {
      case sheaf_averror(ENOSPC), sheaf_averror(EDQUOT), sheaf_averror(EFBIG): .outOfSpace
      case sheaf_averror(ENOMEM): .outOfMemory
      case sheaf_averror(EIO), sheaf_averror(EPERM), sheaf_averror(EBADF): .io
      case sheaf_error_no_decoder, sheaf_error_no_encoder, sheaf_error_patch_welcome, sheaf_averror(ENOSYS):
        .unsupported
      default: .damaged
      }
    let meaning = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
      av_strerror(averror, text.baseAddress, text.count) < 0
        ? "error \(averror)" : String(cString: text.baseAddress!)
    }
    let logged = latestLogLine()
    let message = logged.isEmpty || logged == meaning ? meaning : "\(logged) (\(meaning))"
    self.init(code, operation: operation, subject: subject, message: message)
  }

  /// What libavformat returns while it reads a file, whose bytes could all be read. It returns EIO for a file that ends
  /// before what its header states, and ENOMEM for a size that is out of range, as well as if there is no memory.
  init(demuxing averror: Int32, operation: String, subject: String) {
    let error = MediaError(averror: averror, operation: operation, subject: subject)
    let claim: String
    switch error.code {
    case .io: claim = "it ends before what it states"
    case .outOfMemory:
      guard let memory = malloc(Self.ordinaryMemory) else {
        self = error
        return
      }
      free(memory)
      claim = "it states a size for which no memory can be reserved"
    default:
      self = error
      return
    }
    self.init(.damaged, operation: operation, subject: subject, message: "\(claim): \(error.message)")
  }

  /// More than any demuxer needs at once for a file whose sizes are right, in bytes.
  private static let ordinaryMemory = 64 << 20

  /// Makes the error of a system call on an open file that failed.
  static func during(_ operation: String, _ subject: String) -> (SystemError) -> MediaError {
    { error in
      MediaError(
        error.isOutOfSpace ? .outOfSpace : .io, operation: operation, subject: subject, message: "\(error.code)")
    }
  }
}

/// The latest error that libav* logged in this thread since the last call; empty if there is none.
private func latestLogLine() -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { line in
    sheaf_log_take(line.baseAddress, line.count) == 0 ? "" : String(cString: line.baseAddress!)
  }
}

/// Returns the result of a libav* call, or throws if it is negative.
@discardableResult
func check(_ result: Int32, _ operation: String, _ subject: String) throws(MediaError) -> Int32 {
  guard result < 0 else { return result }
  throw MediaError(averror: result, operation: operation, subject: subject)
}

/// Calls a function of `CMedia` that sets up filters of libavfilter, with room for its message. Throws `.unsupported`
/// with that if libavfilter is missing or refuses.
func checkFilters(
  _ operation: String, _ subject: String, _ setUp: (UnsafeMutablePointer<CChar>, Int) -> Int32
) throws(MediaError) {
  var message = ""
  let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { text -> Int32 in
    text.initialize(repeating: 0)
    guard let first = text.baseAddress else { return -1 }
    let status = setUp(first, text.count)
    message = String(cString: first)
    return status
  }
  guard status >= 0 else {
    throw MediaError(.unsupported, operation: operation, subject: subject, message: "\(message) (status \(status))")
  }
}

/// Returns what an allocation returned, or throws if that is nil.
func allocated<T>(_ value: T?, _ operation: String) throws(MediaError) -> T {
  guard let value else {
    throw MediaError(.outOfMemory, operation: operation, subject: "", message: "out of memory")
  }
  return value
}

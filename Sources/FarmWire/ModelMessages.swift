package import FarmModel
import SwiftProtobuf
package import Wire

// The values of a farm as messages of the protocol, and back. A value of another version is nil.

extension Lease {
  /// The longest name of a task in bytes: those of a job and of its ordinal.
  private static let longestName = 96

  package init(_ message: Sheaf_Lease) throws(WireError) {
    guard let task = TaskID(message.task), message.task.utf8.count <= Self.longestName else {
      throw WireError(.violation, "\"\(message.task.prefix(Self.longestName))\" is not a task")
    }
    self.init(task: task, epoch: message.epoch)
  }

  package var message: Sheaf_Lease {
    .with {
      $0.task = task.description
      $0.epoch = epoch
    }
  }
}

extension TaskKind {
  package var message: Sheaf_TaskKind {
    switch self {
    case .probe: .probe
    case .measure: .measure
    case .video: .video
    case .audio: .audio
    case .stitch: .stitch
    }
  }

  package init?(_ message: Sheaf_TaskKind) {
    guard let kind = Self.allCases.first(where: { $0.message == message }) else { return nil }
    self = kind
  }
}

extension TaskState {
  package var message: Sheaf_TaskState {
    switch self {
    case .waiting: .waiting
    case .ready: .ready
    case .running: .running
    case .done: .done
    case .failed: .failed
    }
  }

  package init?(_ message: Sheaf_TaskState) {
    guard let state = Self.allCases.first(where: { $0.message == message }) else { return nil }
    self = state
  }
}

extension JobState {
  package var message: Sheaf_JobState {
    switch self {
    case .probing: .probing
    case .measuring: .measuring
    case .rendering: .rendering
    case .done: .done
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }

  package init?(_ message: Sheaf_JobState) {
    guard let state = Self.allCases.first(where: { $0.message == message }) else { return nil }
    self = state
  }
}

extension AttemptEnd {
  package var message: Sheaf_AttemptEnd {
    switch self {
    case .released: .released
    case .media: .media
    case .document: .document
    case .crashed: .crashed
    case .hung: .hung
    case .exhausted: .exhausted
    case .killed: .killed
    }
  }

  package init?(_ message: Sheaf_AttemptEnd) {
    guard let end = Self.allCases.first(where: { $0.message == message }) else { return nil }
    self = end
  }
}

extension AttemptUsage {
  /// More than an attempt can take: what a worker reports beyond it is held to be so much.
  private static let most = (milliseconds: Int64(1) << 36, bytes: Int64(1) << 46)

  package var message: Sheaf_AttemptUsage {
    .with {
      $0.waitMilliseconds = Self.milliseconds(wait)
      $0.fetchMilliseconds = Self.milliseconds(fetch)
      $0.renderMilliseconds = Self.milliseconds(render)
      $0.uploadMilliseconds = Self.milliseconds(upload)
      $0.cpuMilliseconds = Self.milliseconds(cpu)
      $0.peakBytes = UInt64(clamping: peakBytes)
      $0.fetchedBytes = UInt64(clamping: fetchedBytes)
      $0.uploadedBytes = UInt64(clamping: uploadedBytes)
    }
  }

  /// Of one attempt.
  package init(attempt message: Sheaf_AttemptUsage) {
    self.init(message, most: Self.most)
  }

  /// Of several together.
  package init(_ message: Sheaf_AttemptUsage) {
    self.init(message, most: (.max, .max))
  }

  private init(_ message: Sheaf_AttemptUsage, most: (milliseconds: Int64, bytes: Int64)) {
    func time(_ milliseconds: UInt64) -> Duration {
      .milliseconds(min(Int64(clamping: milliseconds), most.milliseconds))
    }
    func bytes(_ count: UInt64) -> Int64 { min(Int64(clamping: count), most.bytes) }
    self.init()
    wait = time(message.waitMilliseconds)
    fetch = time(message.fetchMilliseconds)
    render = time(message.renderMilliseconds)
    upload = time(message.uploadMilliseconds)
    cpu = time(message.cpuMilliseconds)
    peakBytes = bytes(message.peakBytes)
    fetchedBytes = bytes(message.fetchedBytes)
    uploadedBytes = bytes(message.uploadedBytes)
  }

  /// Rounded.
  private static func milliseconds(_ time: Duration) -> UInt64 {
    UInt64(exactly: (time / .milliseconds(1)).rounded()) ?? .max
  }
}

extension ProcessEnd {
  package var message: Sheaf_ProcessEnd {
    .with {
      $0.exitCode = exitCode
      $0.signal = signal
      $0.cpuMilliseconds = UInt64(clamping: cpuMilliseconds)
      $0.peakBytes = UInt64(clamping: peakBytes)
      $0.log = log
    }
  }

  /// - Parameter limit: The most bytes of the log that are kept, from its end.
  package init(_ message: Sheaf_ProcessEnd, limit: Int = .max) {
    self.init(
      exitCode: message.exitCode, signal: message.signal, cpuMilliseconds: Int64(clamping: message.cpuMilliseconds),
      peakBytes: Int64(clamping: message.peakBytes),
      log: message.log.utf8.count <= limit
        ? message.log : String(decoding: message.log.utf8.suffix(limit), as: UTF8.self))
  }
}

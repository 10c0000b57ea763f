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

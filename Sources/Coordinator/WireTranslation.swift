package import CompositionModel
import Jobs
import SwiftProtobuf
package import Wire

// The values of the store as messages of the protocol, and back.

extension Lease {
  init(_ message: Sheaf_Lease) throws(WireError) {
    guard let task = TaskID(message.task), message.task.utf8.count <= 96 else {
      throw WireError(.violation, "\"\(message.task.prefix(96))\" is not a task")
    }
    self.init(task: task, epoch: message.epoch)
  }

  var message: Sheaf_Lease {
    .with {
      $0.task = task.description
      $0.epoch = epoch
    }
  }
}

extension TaskKind {
  var message: Sheaf_TaskKind {
    switch self {
    case .probe: .probe
    case .measure: .measure
    case .video: .video
    case .audio: .audio
    case .stitch: .stitch
    }
  }
}

extension TaskState {
  var message: Sheaf_TaskState {
    switch self {
    case .waiting: .waiting
    case .ready: .ready
    case .running: .running
    case .done: .done
    case .failed: .failed
    }
  }
}

extension JobState {
  var message: Sheaf_JobState {
    switch self {
    case .probing: .probing
    case .measuring: .measuring
    case .rendering: .rendering
    case .done: .done
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}

extension JobState {
  /// Nil for a state of another version.
  init?(_ message: Sheaf_JobState) {
    guard let state = Self.allCases.first(where: { $0.message == message }) else { return nil }
    self = state
  }
}

extension PublishOutcome? {
  var message: Sheaf_PublishReply.Outcome {
    switch self {
    case .published: .published
    case .duplicate: .duplicate
    case .stale: .stale
    case nil: .missingContent
    }
  }
}

extension AttemptEnd {
  var message: Sheaf_AttemptEnd {
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
}

extension String {
  /// With "…" in place of the middle if there are more characters than the limit: a message begins with what failed and
  /// ends with the reason.
  func shortened(to limit: Int) -> String {
    guard count > limit else { return self }
    return prefix((limit - 1) / 2) + "…" + suffix(limit / 2)
  }
}

extension TaskFailure {
  /// - Parameter limit: Of the message in characters and of the log in bytes.
  init(_ message: Sheaf_Failure, limit: Int) {
    let end: AttemptEnd =
      switch message.end {
      case .media: .media
      case .document: .document
      case .crashed: .crashed
      case .hung: .hung
      case .exhausted: .exhausted
      case .killed: .killed
      case .released, .unspecified, .UNRECOGNIZED: .released
      }
    self.init(
      end: end, message: message.message.shortened(to: limit),
      process: message.hasProcess ? ProcessEnd(message.process, limit: limit) : nil, jitter: .random(in: 0...1))
  }
}

extension ProcessEnd {
  fileprivate init(_ message: Sheaf_ProcessEnd, limit: Int) {
    self.init(
      exitCode: message.exitCode, signal: message.signal, cpuMilliseconds: Int64(clamping: message.cpuMilliseconds),
      peakBytes: Int64(clamping: message.peakBytes),
      log: String(decoding: message.log.utf8.suffix(limit), as: UTF8.self))
  }

  var message: Sheaf_ProcessEnd {
    .with {
      $0.exitCode = exitCode
      $0.signal = signal
      $0.cpuMilliseconds = UInt64(clamping: cpuMilliseconds)
      $0.peakBytes = UInt64(clamping: peakBytes)
      $0.log = log
    }
  }
}

extension Sheaf_Problem {
  init(_ problem: Problem) {
    self.init()
    pointer = problem.pointer
    message = problem.message
    guard let loss = problem.loss else { return }
    lost = loss.what.rawValue
    if let track = loss.track { lostTrack = UInt32(clamping: track) }
  }
}

extension Problem {
  package init(_ message: Sheaf_Problem) {
    // A kind of another version is a warning like any other.
    let loss = Loss.Kind(rawValue: message.lost).map {
      Loss(what: $0, track: message.hasLostTrack ? Int(message.lostTrack) : nil)
    }
    self.init(pointer: message.pointer, message: message.message, loss: loss)
  }
}

extension Duration {
  /// Truncated to whole milliseconds.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

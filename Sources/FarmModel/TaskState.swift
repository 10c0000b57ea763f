/// A task's place in its job: the ordinals count from 0 through the probe tasks, then the measure tasks, the video
/// tasks, the audio tasks and the stitch task.
package struct TaskID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package var job: JobID
  package var ordinal: Int32

  package init(job: JobID, ordinal: Int32) {
    self.job = job
    self.ordinal = ordinal
  }

  /// Reads `job/ordinal`. Nil if the text has another form.
  package init?(_ text: String) {
    let parts = text.split(separator: "/")
    guard parts.count == 2, let ordinal = Int32(parts[1]), ordinal >= 0 else { return nil }
    self.init(job: JobID(String(parts[0])), ordinal: ordinal)
  }

  package static func < (left: TaskID, right: TaskID) -> Bool {
    left.job == right.job ? left.ordinal < right.ordinal : left.job < right.job
  }

  /// `job/ordinal`, as on the wire.
  package var description: String { "\(job)/\(ordinal)" }
}

/// What a task does. `docs/design/processes.md` describes each kind under "The life of a job".
package enum TaskKind: String, Sendable, Hashable, Codable, CaseIterable {
  case probe, measure, video, audio, stitch
}

/// `waiting -> ready -> running -> done | failed`. A running task is ready again when its last lease is lost.
package enum TaskState: String, Sendable, Hashable, Codable, CaseIterable {
  case waiting, ready, running, done, failed
}

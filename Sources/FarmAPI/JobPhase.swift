import FarmModel

/// What is done for a job at a time, in the order in which one job comes to it.
package enum JobPhase: String, Sendable, Hashable, CaseIterable {
  /// Its media are probed.
  case probing
  /// Its media are probed, and the film is cut into segments.
  case planning
  /// Segments are measured for an average bit rate.
  case measuring
  case rendering
  /// Every segment is rendered, and the audio is not mixed yet.
  case mixing
  /// The pieces are joined.
  case stitching
  /// It is done, has failed or was cancelled.
  case ended
}

extension JobStatus {
  /// Nil: a state that this version does not know.
  package var phase: JobPhase? {
    switch state {
    case .probing: filesDone < filesTotal ? .probing : .planning
    case .measuring: .measuring
    case .rendering where framesDone < framesTotal || segmentsDone < segmentsTotal: .rendering
    case .rendering: hasAudio && !audioDone ? .mixing : .stitching
    case .done, .failed, .cancelled: .ended
    case nil: nil
    }
  }
}

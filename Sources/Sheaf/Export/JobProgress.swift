import Client
import FarmAPI
import Synchronization

/// The progress of one job over several looks at it: never less than before, with its rate.
final class JobProgress: Sendable {
  private struct State {
    var tracker = ProgressTracker()
    var latest = ExportSession.Progress(phase: .probing)
  }

  private let state = Mutex(State())
  private let start = ContinuousClock.now

  func show(_ status: JobStatus) -> ExportSession.Progress {
    let now = start.duration(to: .now)
    return state.withLock { state in
      state.latest = ExportSession.Progress(state.tracker.show(status, at: now), after: state.latest)
      return state.latest
    }
  }

  /// The progress in a phase of which the job's status says nothing. Nil: it is in that phase already.
  func begin(_ phase: RenderPhase) -> ExportSession.Progress? {
    state.withLock { state in
      guard state.latest.phase != phase else { return nil }
      state.latest.phase = phase
      (state.latest.framesPerSecond, state.latest.estimatedTimeRemaining) = (nil, nil)
      return state.latest
    }
  }
}

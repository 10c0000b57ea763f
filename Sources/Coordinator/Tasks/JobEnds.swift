import FarmAPI
import FarmModel
import Jobs
import Synchronization

/// Reports how jobs end, each end once.
final class JobEnds: Sendable {
  /// How many ends are remembered.
  private static let mostEnds = 10_000

  private let store: any JobStore
  private let facts: TaskFacts
  private let traces: JobTraces
  private let events: FarmEvents
  private let counts: WorkCounts
  /// An end of a job, which may be taken up again and end once more.
  private struct End: Hashable {
    var job: JobID
    /// From the submission to the end.
    var elapsed: Duration
  }

  private let reported = Mutex<Set<End>>([])

  init(store: any JobStore, facts: TaskFacts, traces: JobTraces, events: FarmEvents, counts: WorkCounts) {
    self.store = store
    self.facts = facts
    self.traces = traces
    self.events = events
    self.counts = counts
  }

  /// Reports how a job has ended, if it has.
  func report(_ job: JobID) async {
    // Only the log lacks it if the store does not answer now.
    guard let job = try? await store.summary(of: job)?.job, job.state.hasEnded else { return }
    // Kept for the log's line, also of a job of which this coordinator has seen only the end.
    _ = await traces.trace(of: job.id)
    // Several calls may find the same end, as of a job that is cancelled while it is planned.
    if job.purpose == .render, remember(End(job: job.id, elapsed: job.elapsed)) {
      events.emit(
        .jobEnded(
          job: job.id.description, name: job.name, state: job.state, seconds: job.elapsed.roundedSeconds,
          reason: job.failure?.message))
    }
    await facts.forget(job.id)
    counts.ended(job.id)
  }

  /// False if it was reported already.
  private func remember(_ end: End) -> Bool {
    reported.withLock { ends in
      if ends.count >= Self.mostEnds { ends = [] }
      return ends.insert(end).inserted
    }
  }
}

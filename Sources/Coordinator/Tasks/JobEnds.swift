import FarmAPI
import FarmModel
import Jobs
import Synchronization

/// Reports how jobs end, each end once.
final class JobEnds: Sendable {
  /// How many jobs are remembered.
  private static let mostJobs = 10_000

  private let store: any JobStore
  private let facts: TaskFacts
  private let events: FarmEvents
  private let reported = Mutex<Set<JobID>>([])

  init(store: any JobStore, facts: TaskFacts, events: FarmEvents) {
    self.store = store
    self.facts = facts
    self.events = events
  }

  /// Reports how a job has ended, if it has.
  func report(_ job: JobID) async {
    // Only the log lacks it if the store does not answer now.
    guard let job = try? await store.summary(of: job)?.job, job.state.hasEnded else { return }
    // Several calls may find the same end, as of a job that is cancelled while it is planned.
    if job.purpose == .render, remember(job.id) {
      events.emit(
        .jobEnded(
          job: job.id.description, name: job.name, state: job.state, seconds: job.elapsed.seconds,
          reason: job.failure?.message))
    }
    await facts.forget(job.id)
  }

  /// A job that had ended was taken up again.
  func goesOn(_ job: JobID) { reported.withLock { _ = $0.remove(job) } }

  /// False if it was reported already.
  private func remember(_ job: JobID) -> Bool {
    reported.withLock { jobs in
      if jobs.count >= Self.mostJobs { jobs = [] }
      return jobs.insert(job).inserted
    }
  }
}

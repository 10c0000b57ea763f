import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime

/// The watched jobs. All who watch a job share one look at it.
actor JobWatches {
  /// What a watch yields: the status at each change, nil if there is no such job.
  typealias Statuses = AsyncThrowingStream<JobStatus?, any Error>

  private struct Watched {
    var watchers: [UInt64: Statuses.Continuation] = [:]
    var last: JobStatus?
  }

  private let reader: StatusReader
  private let changes: ChangeSignal
  private let now: @Sendable () -> Duration
  private var schedule = LookSchedule()
  private var jobs: [JobID: Watched] = [:]
  private var next: UInt64 = 0
  /// How many looks there were, for tests.
  private(set) var looks = 0

  init(reader: StatusReader, changes: ChangeSignal, now: @escaping @Sendable () -> Duration) {
    self.reader = reader
    self.changes = changes
    self.now = now
  }

  /// The status of a job now and at each change, until it has ended; an element that the reader has not read yet is
  /// replaced by the next one. Throws `FarmError` if the store has failed for good.
  func watch(_ job: JobID) async -> Statuses {
    let (stream, continuation) = Statuses.makeStream(bufferingPolicy: .bufferingNewest(1))
    let key = next
    next += 1
    continuation.onTermination = { _ in Task { await self.remove(key, of: job) } }
    jobs[job, default: Watched()].watchers[key] = continuation
    if let last = jobs[job]?.last { continuation.yield(last) }
    schedule.add(job)
    await changes.signal()
    return stream
  }

  /// Looks at the watched jobs until it is cancelled.
  func run() async {
    var seen = await changes.count
    while !Task.isCancelled {
      let count = await changes.count
      if count != seen { schedule.changed() }
      seen = count
      switch schedule.next(now: now()) {
      case .look(let job): await look(at: job)
      // It throws if it is cancelled, and then the loop ends.
      case .wait(let time): try? await Task.sleep(for: time)
      case .idle:
        // Changes are hints, and some may be missing.
        if await changes.wait(since: seen, atMost: .seconds(1)) == seen { schedule.changed() }
      }
    }
    for watched in jobs.values { for watcher in watched.watchers.values { watcher.finish() } }
  }

  private func look(at job: JobID) async {
    looks += 1
    do {
      let status = try await abandonable { [reader] in try await reader.status(of: job) }
      guard let watched = jobs[job] else { return }
      let hasEnded = status?.hasEnded ?? true
      if hasEnded || status?.withoutTimes != watched.last?.withoutTimes {
        for watcher in watched.watchers.values { watcher.yield(status) }
      }
      jobs[job]?.last = status
      if hasEnded { finish(job) }
    } catch let error as JobStoreError {
      // The job goes on while a database restarts, and so does the watch.
      guard error.code == .unavailable else { return finish(job, throwing: error) }
      guard let watched = jobs[job], var status = watched.last else { return }
      status.wait = .noStore
      guard status != watched.last else { return }
      for watcher in watched.watchers.values { watcher.yield(status) }
      jobs[job]?.last = status
    } catch {
      // Cancelled: the coordinator stops.
    }
  }

  private func finish(_ job: JobID, throwing error: JobStoreError? = nil) {
    schedule.remove(job)
    let failure = error.map { FarmError($0) }
    for watcher in (jobs.removeValue(forKey: job)?.watchers ?? [:]).values { watcher.finish(throwing: failure) }
  }

  private func remove(_ key: UInt64, of job: JobID) {
    jobs[job]?.watchers[key] = nil
    guard jobs[job]?.watchers.isEmpty == true else { return }
    jobs[job] = nil
    schedule.remove(job)
  }
}

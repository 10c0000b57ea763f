import ContentStorage
import FarmAPI
import FarmModel
import Jobs
import Logging

/// Whether workers are believed, as the store has it: what one has made that is not believed any more is not used, and
/// is made again.
actor WorkerStandings {
  private let store: any JobStore
  private let results: ResultCache
  private let facts: TaskFacts
  private let connections: WorkerConnections
  private let events: FarmEvents
  private let changes: ChangeSignal
  private let availability: StoreAvailability
  /// By account.
  private var held: [String: WorkerStanding]?
  private var isUnderWay = false

  init(
    store: any JobStore, results: ResultCache, facts: TaskFacts, connections: WorkerConnections, events: FarmEvents,
    changes: ChangeSignal, availability: StoreAvailability
  ) {
    self.store = store
    self.results = results
    self.facts = facts
    self.connections = connections
    self.events = events
    self.changes = changes
    self.availability = availability
  }

  /// What is due once a second, and after a result may have shown that another one is wrong. Of calls at once one does
  /// it.
  func look() async {
    if isUnderWay { return }
    isUnderWay = true
    defer { isUnderWay = false }
    do throws(JobStoreError) {
      try await refresh()
      let purge = try await store.purge()
      for job in purge.replanned {
        await facts.forget(job)
        events.emit(.jobReplanned(job: job.description, reason: .quarantine))
      }
      for job in purge.doubted { events.emit(.jobDoubted(job: job.description)) }
      for unchecked in try await store.acceptUnchecked() {
        let fact = await facts.fact(of: unchecked.task)
        events.emit(.taskDone(.init(unchecked.task, fact), worker: unchecked.account, seconds: nil))
      }
      if purge != Purge() { await changes.signal() }
    } catch {
      availability.report(error, "results of workers not compared")
    }
  }

  /// Reads who is believed, before results are looked up.
  func refresh() async throws(JobStoreError) {
    let found = try await store.standings().filter { $0.hold != nil }
    let now = Dictionary(found.map { ($0.account, $0) }) { first, _ in first }
    results.distrust(Set(found.filter { $0.hold == .quarantined }.map(\.account)))
    for worker in connections.all { await worker.setHold(now[worker.account]?.hold) }
    // At the start of a coordinator nothing has changed.
    if let held {
      for (account, standing) in now where held[account] != standing {
        events.emit(.workerHeld(account: account, hold: standing.hold?.rawValue, reason: standing.reason))
      }
      for account in held.keys where now[account] == nil {
        events.emit(.workerHeld(account: account, hold: nil, reason: ""))
      }
    }
    held = now
  }
}

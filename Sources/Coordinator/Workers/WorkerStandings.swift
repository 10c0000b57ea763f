import ContentStorage
import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime

/// Whether workers are believed, as the store has it: what one has made that is not believed any more is not used, and
/// is made again.
actor WorkerStandings {
  private let store: any JobStore
  private let results: ResultCache
  private let facts: TaskFacts
  private let ends: JobEnds
  private let connections: WorkerConnections
  private let events: FarmEvents
  private let changes: ChangeSignal
  private let availability: StoreAvailability
  private let logger: Logger
  /// By account.
  private var held: [String: WorkerStanding]?
  /// By account: how often it was quarantined.
  private var quarantines: [String: Int64] = [:]
  private var refreshes = 0
  private var newest = 0
  private var isUnderWay = false

  init(
    store: any JobStore, results: ResultCache, facts: TaskFacts, ends: JobEnds, connections: WorkerConnections,
    events: FarmEvents,
    changes: ChangeSignal, availability: StoreAvailability, logger: Logger
  ) {
    self.store = store
    self.results = results
    self.facts = facts
    self.ends = ends
    self.connections = connections
    self.events = events
    self.changes = changes
    self.availability = availability
    self.logger = logger
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
        await record(unchecked, fact)
        await ends.report(unchecked.task.job)
      }
      if purge != Purge() { await changes.signal() }
    } catch {
      availability.report(error, "results of workers not compared")
    }
  }

  /// Who makes a result now.
  func maker(_ account: String) -> ResultMaker { ResultMaker(account, quarantines: quarantines[account] ?? 0) }

  private func record(_ result: UncheckedResult, _ fact: TaskFacts.Fact?) async {
    guard let fact, fact.kind != .stitch else { return }
    let maker = maker(result.account)
    do {
      try await BlockingWork.run { [results] in
        try results.record(result.result, for: fact.fingerprint, maker: maker)
      }
    } catch {
      // Only a later job does not find it.
      logger.error("result not cached", metadata: ["task": "\(result.task)", "error": "\(error)"])
    }
  }

  /// Reads who is believed, before results are looked up.
  func refresh() async throws(JobStoreError) {
    refreshes += 1
    let number = refreshes
    let standings = try await store.standings()
    // A later reading has come before.
    guard number > newest else { return }
    newest = number
    quarantines = Dictionary(standings.map { ($0.account, $0.quarantines) }) { first, _ in first }
    let found = standings.filter { $0.hold != nil }
    let now = Dictionary(found.map { ($0.account, $0) }) { first, _ in first }
    let doubted = standings.filter { $0.quarantines > 0 }
    results.distrust(
      Dictionary(doubted.map { ($0.account, $0.hold == .quarantined ? nil : $0.quarantines) }) { first, _ in first })
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

import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime

/// What goes on by itself in a coordinator: what is due after some time, and what other coordinators have changed.
struct Housekeeping: Sendable {
  /// How often leases may be renewed.
  private static let renewalPeriod = Duration.milliseconds(100)
  /// How often it is looked whether each connection is alive: every so many renewal periods, 1 s.
  private static let connectionPeriods = 10
  /// How often the workers' rows are written again: every so many renewal periods, 4 s.
  private static let registrationPeriods = 40
  /// How often the content store and the use of memory are looked at.
  private static let lookPeriod = Duration.seconds(1)
  /// How often leases are expired and jobs without workers are bound again.
  private static let expiryPeriod = Duration.seconds(1)
  /// How often abandoned inspections are cancelled: every so many expiry periods.
  private static let inspectionPeriods = 8

  let store: any JobStore
  let claims: TaskClaims
  let workers: ConnectedWorkers
  let reports: TaskReports
  let standings: WorkerStandings
  let facts: TaskFacts
  let ends: JobEnds
  let storage: StorageWatch
  let memory: UsedMemory
  let availability: StoreAvailability
  let changes: ChangeSignal
  let events: FarmEvents
  let counts: WorkCounts

  /// Until it is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await followChanges() }
      group.addTask { await keepConnections() }
      group.addTask { await keepMachine() }
      group.addTask { await keepJobs() }
      group.addTask { await keepStandings() }
    }
  }

  /// Something may have become ready, or may be planned.
  private func changed() async {
    claims.changed()
    await changes.signal()
  }

  private func followChanges() async {
    for await _ in store.changes() { await changed() }
  }

  /// What is due for the connections. Workers are registered here, because they are registered also while the store's
  /// other operations take long.
  private func keepConnections() async {
    var periods = 0
    while !Task.isCancelled {
      claims.tick()
      if periods % Self.connectionPeriods == 0 {
        await workers.tick(refreshes: periods % Self.registrationPeriods == 0)
      }
      periods += 1
      do { try await Task.sleep(for: Self.renewalPeriod) } catch { return }
    }
  }

  /// What is due on this machine. A disk may take long to answer.
  private func keepMachine() async {
    while !Task.isCancelled {
      if await storage.look() {
        claims.hold(.storage, storage.holdsTasks)
        // Jobs are planned that could not be planned meanwhile.
        await changed()
      }
      await memory.releaseIfDue()
      do { try await Task.sleep(for: Self.lookPeriod) } catch { return }
    }
  }

  /// What is due in the store. The store's changes are hints and may be lost, so everything is checked.
  private func keepJobs() async {
    var periods = 0
    while !Task.isCancelled {
      do {
        let ended = try await abandonable { [store] in try await store.expire() }
        availability.answered()
        if !ended.isEmpty { Task { await reportExpired(ended) } }
        for job in try await abandonable({ [store] in try await store.jobsToRebind() }) {
          try await abandonable { await rebind(job) }
        }
        if periods % Self.inspectionPeriods == 0 { try await abandonable { await cancelAbandonedInspections() } }
      } catch let error as JobStoreError {
        availability.report(error, "leases not expired")
      } catch {
        // Cancelled: the service stops.
        return
      }
      await changed()
      periods += 1
      do { try await Task.sleep(for: Self.expiryPeriod) } catch { return }
    }
  }

  /// Apart from the leases, because what is quarantined may have a long list of jobs.
  private func keepStandings() async {
    while !Task.isCancelled {
      do {
        try await abandonable { await standings.look() }
        try await Task.sleep(for: Self.expiryPeriod)
      } catch {
        return
      }
    }
  }

  private func reportExpired(_ leases: [Lease]) async {
    await reports.forget(leases)
    counts.lost(leases)
    for lease in leases { events.emit(.leaseExpired(.init(lease.task, await facts.fact(of: lease.task)))) }
    for job in Set(leases.map(\.task.job)).sorted() { await ends.report(job) }
  }

  /// The build of the job has no worker any more.
  private func rebind(_ job: JobID) async {
    do throws(JobStoreError) {
      guard try await store.replan(job, reason: "no worker of its build is connected") else { return }
      await facts.forget(job)
      events.emit(.jobReplanned(job: job.description, reason: .build))
    } catch {
      availability.report(error, "job not planned again")
    }
  }

  /// Ends inspections whose client or coordinator went away.
  private func cancelAbandonedInspections() async {
    do throws(JobStoreError) {
      for job in try await store.inspections(olderThan: Inspection.longest) { _ = try await store.cancel(job) }
    } catch {
      availability.report(error, "inspections not cancelled")
    }
  }
}

extension Duration {
  /// In seconds, to the nearest tenth, for logs.
  var roundedSeconds: Double { (Double(milliseconds) / 100).rounded() / 10 }
}

extension FarmEvent.Task {
  /// - Parameter fact: Nil: what it makes is not known.
  init(_ task: TaskID, _ fact: TaskFacts.Fact?) {
    self.init(job: task.job.description, ordinal: Int(task.ordinal), label: fact?.label ?? "")
  }
}

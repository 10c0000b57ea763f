import FarmModel
import Jobs
import Logging
import Runtime

/// Begins the plans of jobs that can be planned, and looks for such jobs at each change.
actor JobPlanning {
  private let planner: Planner
  private let changes: ChangeSignal
  private let storage: StorageWatch
  private let ends: JobEnds
  private let memory: UsedMemory
  private let availability: StoreAvailability
  private var plannings = Plannings()
  private var isDraining = false

  init(
    planner: Planner, changes: ChangeSignal, storage: StorageWatch, ends: JobEnds, memory: UsedMemory,
    availability: StoreAvailability
  ) {
    self.planner = planner
    self.changes = changes
    self.storage = storage
    self.ends = ends
    self.memory = memory
    self.availability = availability
  }

  /// Until it is cancelled. A job that cannot be planned yet is tried again at the next change, of which there is one a
  /// second at least.
  func run() async {
    while !Task.isCancelled {
      let seen = await changes.count
      do {
        let jobs = try await abandonable { [store = planner.store] in try await store.jobsToPlan() }
        // In tasks of their own: planning a long film takes a while, and neither changes nor other jobs wait for it.
        if !isDraining, !storage.isAway {
          for (job, isAlone) in plannings.begin(jobs) { Task { await self.plan(job, isAlone: isAlone) } }
        }
      } catch let error as JobStoreError {
        availability.report(error, "jobs not planned")
      } catch {
        // Cancelled: the service stops.
        return
      }
      _ = await changes.wait(since: seen, atMost: Self.longestWait)
    }
  }

  /// Changes are hints, and some may be missing.
  private static let longestWait = Duration.seconds(1)

  private func plan(_ job: JobID, isAlone: Bool) async {
    var mustBeAlone = false
    // The drain has ended the attempts that it has found.
    if isDraining { return plannings.end(job, mustBeAlone: false) }
    do throws(JobStoreError) {
      mustBeAlone = try await planner.plan(job, isAlone: isAlone)
      // One whose document does not match its media, or whose film is cached.
      await ends.report(job)
    } catch {
      availability.report(error, "job not planned")
    }
    plannings.end(job, mustBeAlone: mustBeAlone)
    memory.used()
  }

  /// This process ends on purpose: it begins no plans any more, and another one begins those that are under way. None
  /// of them counts as lost.
  func drain(atMost limit: Duration) async {
    isDraining = true
    let jobs = plannings.running.keys
    let ending = Task { [store = planner.store, name = planner.attempts.planner] in
      for job in jobs { try await abandonable { try await store.endPlanning(job, by: name) } }
    }
    let limiting = Task {
      try await Task.sleep(for: limit)
      ending.cancel()
    }
    do { try await ending.value } catch let error as JobStoreError {
      availability.report(error, "attempts to plan not ended")
    } catch {
      // Not in time: they run out.
    }
    limiting.cancel()
  }
}

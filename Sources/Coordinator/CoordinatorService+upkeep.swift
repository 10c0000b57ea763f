import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Jobs
import Logging
import SystemSupport
import Wire

// What goes on by itself: time, changes, planning, retention.
extension CoordinatorService {
  // MARK: Time

  /// What is due without the store, ten times a second and once a second.
  func keepTime() async {
    var ticks = 0
    while !Task.isCancelled {
      answer(renewals.handle(.tick, now: now))
      if ticks % 10 == 0 {
        // Here, because workers are registered also while the store's other operations take long.
        if ticks % 40 == 0 { mustRegister = true }
        register()
        for worker in Array(workers.values) { await worker.tick() }
        left.forget(olderThan: configuration.policy.lease * 4, now: now)
        await lookAtStore()
        await releaseMemory()
      }
      ticks += 1
      do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
    }
  }

  private func lookAtStore() async {
    let minimum = configuration.minimumFree
    do {
      let (absence, free) = try await abandonable { [availableBytes, content] in
        try await BlockingWork.run(.files) { () -> (String?, Int64?) in
          if let absence = content.store.absence { return (absence, nil) }
          guard minimum > 0 else { return (nil, nil) }
          let free = try availableBytes()
          guard free < minimum, content.store.removeRemains(freeing: minimum - free) > 0 else { return (nil, free) }
          return (nil, try availableBytes())
        }
      }
      let (hasMoved, hasFilled) = (disk.looked(absence), free.map { disk.measured($0) } ?? false)
      guard hasMoved || hasFilled else { return }
      hold()
      if hasMoved {
        if let absence {
          logger.error("content store away; running tasks wait for it", metadata: ["reason": "\(absence)"])
        } else {
          logger.notice("content store there again", metadata: ["store": "\(content.store.directory)"])
        }
      }
      if hasFilled, let free {
        if let notice = disk.notice {
          logger.error("disk low", metadata: ["reason": "\(notice)"])
        } else {
          logger.notice("disk has room again", metadata: ["free": "\(ByteCount.text(free))"])
        }
      }
      // Jobs are planned that could not be planned meanwhile.
      await changed()
    } catch is CancellationError {
    } catch {
      logger.error("free disk space not measured", metadata: ["error": "\(error)"])
    }
  }

  /// A document was read or planned.
  func usedMemory() {
    freed.used(now: now)
  }

  private func releaseMemory() async {
    guard freed.isDue(now: now) else { return }
    do {
      try await BlockingWork.run(.planning) { FreedMemory.release() }
    } catch {
      // Cancelled: the service stops.
    }
  }

  /// An upload waits for room on the disk, or, without a reason, has begun.
  func uploadWaits(_ content: Content, _ reason: String?) async {
    let metadata: Logger.Metadata = ["content": "\(content.digest)", "size": "\(ByteCount.text(content.size))"]
    if let reason {
      guard uploads.refused(content, reason, now: now) else { return }
      logger.warning("upload waits for room", metadata: metadata.merging(["reason": "\(reason)"]) { first, _ in first })
    } else {
      guard uploads.begun(content.digest) else { return }
      logger.notice("upload has room", metadata: metadata)
    }
    await changes.signal()
  }

  /// What is due in the store, once a second. The store's changes are hints and may be lost, so everything is checked.
  func keepUp() async {
    var ticks = 0
    while !Task.isCancelled {
      do {
        let start = now
        let ended = try await abandonable { [store] in try await store.expire() }
        storeCalls.add((now - start) / .seconds(1))
        storeAnswered()
        if !ended.isEmpty { Task { await self.reportExpired(ended) } }
        for job in try await abandonable({ [store] in try await store.jobsToRebind() }) {
          try await abandonable { await self.rebind(job) }
        }
        if ticks % 8 == 0 { try await abandonable { await self.cancelAbandonedInspections() } }
      } catch let error as JobStoreError {
        report(error, "leases not expired")
      } catch {
        // Cancelled: the service stops.
        return
      }
      await changed()
      ticks += 1
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// The build of the job has no worker any more.
  private func rebind(_ job: JobID) async {
    do throws(JobStoreError) {
      guard try await store.replan(job) else { return }
      await facts.forget(job)
      events.emit(.jobReplanned(job: job.description, reason: .build))
    } catch {
      report(error, "job not planned again")
    }
  }

  /// Ends inspections whose client or coordinator went away.
  private func cancelAbandonedInspections() async {
    do throws(JobStoreError) {
      for job in try await store.inspections(olderThan: Inspection.longest) { _ = try await store.cancel(job) }
    } catch {
      report(error, "inspections not cancelled")
    }
  }

  // MARK: Changes and plans

  func followChanges() async {
    for await _ in store.changes() { await changed() }
  }

  func changed() async {
    claim(claimBatcher.handle(.changed))
    await changes.signal()
    mustPlanAgain = true
    lookForPlans()
  }

  /// In tasks of their own: planning a long film takes a while, and neither changes nor other jobs wait for it.
  private func lookForPlans() {
    guard mustPlanAgain, !isLookingForPlans else { return }
    mustPlanAgain = false
    isLookingForPlans = true
    Task {
      do throws(JobStoreError) {
        let jobs = try await store.jobsToPlan()
        if !isDraining, disk.absence == nil {
          for (job, isAlone) in plannings.begin(jobs) { plan(job, isAlone: isAlone) }
        }
      } catch {
        report(error, "jobs not planned")
      }
      isLookingForPlans = false
      lookForPlans()
    }
  }

  private func plan(_ job: JobID, isAlone: Bool) {
    let planner = Planner(
      store: store, content: content, results: results, notes: notes, facts: facts, inputs: inputs,
      waitsForCompositors: configuration.waitsForCompositors,
      attempts: PlanningAttempts(
        store: store, planner: planner, renewal: configuration.policy.lease / 3, logger: logger),
      events: events, logger: logger)
    Task {
      var mustBeAlone = false
      do throws(JobStoreError) {
        mustBeAlone = try await planner.plan(job, isAlone: isAlone)
        // One whose document does not match its media, or whose film is cached.
        await reportEnd(of: job)
      } catch {
        report(error, "job not planned")
      }
      plannings.end(job, mustBeAlone: mustBeAlone)
      usedMemory()
      mustPlanAgain = true
      // The next tick or change looks for more, so that a job that cannot be planned yet is not tried all the time.
    }
  }

  // MARK: The store

  /// Logs a call of the store that failed. The beginning of an outage is logged once.
  func report(_ error: JobStoreError, _ message: Logger.Message) {
    switch error.code {
    case .unavailable: storeFailed(error)
    // This process has closed it, because it ends.
    case .closed: break
    default:
      logger.error(message, metadata: ["error": "\(error)"])
    }
  }

  /// The store is unavailable.
  func storeFailed(_ error: JobStoreError) {
    guard outage.failed(isLocked: error.isAboutLocks, now: now) == .began else { return }
    logger.error("job store unavailable; running tasks go on", metadata: ["error": "\(error)"])
  }

  private func storeAnswered() {
    guard case .ended(let duration)? = outage.succeeded(now: now) else { return }
    logger.notice("job store available again", metadata: ["seconds": "\(duration.seconds)"])
  }

  // MARK: Events

  /// Reports how a job has ended, if it has.
  func reportEnd(of job: JobID) async {
    // Only the log lacks it if the store does not answer now.
    guard let job = try? await store.summary(of: job)?.job, job.state.hasEnded else { return }
    // Several calls may find the same end, as of a job that is cancelled while it is planned.
    if job.purpose == .render, endings.insert(job.id) {
      events.emit(
        .jobEnded(
          job: job.id.description, name: job.name, state: job.state, seconds: job.elapsed.seconds,
          reason: job.failure?.message))
    }
    await facts.forget(job.id)
  }

  /// A job that had ended was taken up again.
  func goesOn(_ job: JobID) { endings.remove(job) }

  private func reportExpired(_ leases: [Lease]) async {
    await reports.forget(leases)
    for lease in leases { events.emit(.leaseExpired(.init(lease.task, await facts.fact(of: lease.task)))) }
    for job in Set(leases.map(\.task.job)).sorted() { await reportEnd(of: job) }
  }

  // MARK: Retention

  /// Deletes jobs that ended long ago, and trims the content store, once a minute.
  func retain() async {
    while !Task.isCancelled {
      do {
        try await abandonable { try await self.deleteOldJobs() }
        try await abandonable { try await self.trimStore() }
      } catch let error as JobStoreError {
        report(error, "old jobs not deleted")
      } catch is CancellationError {
        return
      } catch {
        logger.error("content store not trimmed", metadata: ["error": "\(error)"])
      }
      do { try await Task.sleep(for: configuration.retentionInterval) } catch { return }
    }
  }

  private func deleteOldJobs() async throws {
    let batch = 100
    var total = 0
    var deleted = batch
    while deleted == batch, !Task.isCancelled {
      deleted = try await store.deleteJobs(endedBefore: configuration.keepJobs, limit: batch)
      total += deleted
    }
    if total > 0 { logger.info("old jobs deleted", metadata: ["jobs": "\(total)"]) }
  }

  private func trimStore() async throws {
    guard let limit = configuration.storeLimit else {
      return try await BlockingWork.run { [store = content.store] in store.removeLeftovers() }
    }
    let kept = try await store.contentsInUse(keepingResults: configuration.keepResults)
    let removed = try await BlockingWork.run(.hashing) { [store = content.store] in
      try store.trim(to: limit, keeping: Set(kept))
    }
    if removed > 0 { logger.info("content store trimmed", metadata: ["removed": "\(ByteCount.text(removed))"]) }
  }
}

extension Duration {
  /// In seconds, to the nearest tenth.
  var seconds: Double { (Double(milliseconds) / 100).rounded() / 10 }
}

extension FarmEvent.Task {
  /// - Parameter fact: Nil: what it makes is not known.
  init(_ task: TaskID, _ fact: TaskFacts.Fact?) {
    self.init(job: task.job.description, ordinal: Int(task.ordinal), label: fact?.label ?? "")
  }
}

import FarmModel

// What is recorded of each transition. `Journal` specifies the operations.

extension FarmState {
  /// - Returns: The event's number.
  @discardableResult
  private mutating func append(_ event: JournalEvent) -> Int64 {
    lastEvent += 1
    var event = event
    event.position.number = lastEvent
    journal.append(event)
    return lastEvent
  }

  /// Records what has become of a job, and the messages about it. Inspections are nobody's jobs.
  mutating func record(_ kind: JournalEvent.Kind, ofJob number: Int, message: String? = nil, now: Duration) {
    let (job, counts) = (jobs[number].job, jobs[number].counts)
    guard job.purpose == .render else { return }
    var event = JournalEvent(kind, at: now)
    (event.job, event.name, event.state, event.message) = (job.id, job.name, job.state, message)
    event.owner = job.owner
    switch kind {
    case .jobPlanned where job.state == .measuring:
      (event.tasks, event.cached) = (counts.measures.total, counts.measures.done)
    case .jobPlanned:
      event.tasks = counts.videos.total + counts.audios.total + 1
      event.cached = counts.videos.done + counts.audios.done
    case .jobEnded:
      event.took = now - jobs[number].submitted
      event.output = job.output
    default: break
    }
    address(event, number: append(event), now: now)
  }

  /// - Parameter place: The task's.
  private func event(_ kind: JournalEvent.Kind, of place: Place, by worker: WorkerID, now: Duration) -> JournalEvent {
    var event = JournalEvent(kind, at: now)
    (event.job, event.owner) = (jobs[place.number].job.id, jobs[place.number].job.owner)
    (event.ordinal, event.label) = (Int32(place.ordinal), self[place].task.label)
    (event.worker, event.workerName) = (worker, name(of: worker))
    return event
  }

  mutating func recordGrant(_ lease: LeaseRecord, now: Duration) {
    var event = event(.taskGranted, of: lease.place, by: lease.holder.worker, now: now)
    event.epoch = lease.epoch
    append(event)
  }

  mutating func recordResult(of place: Place, now: Duration) {
    guard let publisher = self[place].task.publisher else { return }
    var event = event(.taskDone, of: place, by: publisher.worker, now: now)
    (event.epoch, event.took) = (self[place].task.publishedEpoch, publisher.took)
    event.phases = self[place].usage(of: event.epoch)?.phases
    append(event)
  }

  mutating func recordCompared(_ lease: LeaseRecord, now: Duration) {
    var event = event(.taskCompared, of: lease.place, by: lease.holder.worker, now: now)
    (event.epoch, event.took) = (lease.epoch, now - lease.grantedAt)
    event.phases = self[lease.place].usage(of: lease.epoch)?.phases
    append(event)
  }

  mutating func recordAttempt(_ lease: LeaseRecord, _ failure: TaskFailure, now: Duration) {
    var event = event(.taskFailed, of: lease.place, by: lease.holder.worker, now: now)
    (event.epoch, event.took) = (lease.epoch, now - lease.grantedAt)
    (event.end, event.message) = (failure.end, failure.message)
    event.phases = failure.usage?.phases
    append(event)
  }

  private mutating func append(_ kind: JournalEvent.Kind, _ worker: WorkerRecord, _ message: String?, now: Duration) {
    var event = JournalEvent(kind, at: now)
    (event.worker, event.name, event.message) = (worker.id, worker.name, message)
    append(event)
  }

  mutating func recordRegistration(
    of worker: WorkerRecord, isNew: Bool, pausedBefore: String, now: Duration
  ) {
    if isNew { append(.workerConnected, worker, nil, now: now) }
    guard worker.paused != pausedBefore else { return }
    let isPaused = !worker.paused.isEmpty
    append(isPaused ? .workerPaused : .workerResumed, worker, isPaused ? worker.paused : nil, now: now)
  }

  mutating func recordHold(_ hold: WorkerHold?, of account: String, _ reason: String, now: Duration) {
    var event = JournalEvent(hold == nil ? .workerReleased : .workerHeld, at: now)
    (event.name, event.message) = (account, hold.map { "\($0.rawValue): \(reason)" })
    append(event)
  }

  mutating func recordDeparture(of worker: WorkerRecord, now: Duration) {
    append(.workerDisconnected, worker, nil, now: now)
  }

  // MARK: Reading

  /// Where the events after a place begin.
  private func index(after position: JournalPosition?) -> Int {
    journal.partitioningIndex { event in position.map { event.position > $0 } ?? true }
  }

  package func events(after position: JournalPosition?, limit: Int) -> [JournalEvent]? {
    if let position, let removedEvents, position < removedEvents { return nil }
    let start = index(after: max(position, removedEvents))
    return Array(journal[start...].prefix(max(limit, 0)))
  }

  package func newestEvents(limit: Int) -> [JournalEvent] {
    journal[index(after: removedEvents)...].suffix(max(limit, 0))
  }

  package mutating func removeEvents(olderThan age: Duration, most: Int, limit: Int, now: Duration) -> Int {
    let kept = Array(journal[index(after: removedEvents)...])
    let excess = kept.count - max(most, 0)
    let oldest = kept.indices.prefix(max(limit, 0))
    guard let newest = oldest.last(where: { $0 < excess || now - kept[$0].at > age }) else { return 0 }
    let last = kept[newest].position
    removedEvents = last
    let needed = Set(deliveries.map(\.event))
    journal.removeAll { $0.position <= last && !needed.contains($0.position.number) }
    return newest + 1
  }
}

/// The later of two places. Nil is before all.
private func max(_ left: JournalPosition?, _ right: JournalPosition?) -> JournalPosition? {
  guard let left, let right else { return left ?? right }
  return Swift.max(left, right)
}

extension FarmState {
  package mutating func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure, now: Duration) -> Bool {
    guard let place = place(of: lease), jobs[place.number].tasks[place.ordinal].task.worker == worker else {
      return false
    }
    let message = failure.message.withoutNul
    switch failure.cause {
    case .infrastructure: lose(place, message: message)
    case .media:
      if let error = charge(place, message: message, jitter: failure.jitter, now: now) {
        end(place.number, as: .failed, at: now, error: error)
      }
    case .document:
      failForGood(place, message: message)
      end(place.number, as: .failed, at: now, error: message)
    }
    return true
  }

  package mutating func fail(_ job: JobID, error: String, now: Duration) -> Bool {
    guard let number = numbers[job], !jobs[number].job.state.hasEnded else { return false }
    end(number, as: .failed, at: now, error: error.withoutNul)
    return true
  }

  package mutating func cancel(_ job: JobID, now: Duration) -> JobState? {
    guard let number = numbers[job] else { return nil }
    if !jobs[number].job.state.hasEnded { end(number, as: .cancelled, at: now) }
    return jobs[number].job.state
  }

  package mutating func release(worker: WorkerID) -> Int {
    let lost = leased.filter { jobs[$0.number].tasks[$0.ordinal].task.worker == worker }
    for place in lost { lose(place, message: LossMessage.connectionClosed(worker)) }
    workers.removeAll { $0.record.id == worker }
    return lost.count
  }

  package mutating func expire(now: Duration) -> [Lease] {
    workers.removeAll { now - $0.lastNoted > policy.lease }
    let past = leased.filter { jobs[$0.number].tasks[$0.ordinal].leasedUntil <= now }
    let hung = leased.filter {
      let record = jobs[$0.number].tasks[$0.ordinal]
      return record.leasedUntil > now && now - record.movedAt >= policy.hang
    }
    let lost = (past + hung).sorted().map { place in
      let task = jobs[place.number].tasks[place.ordinal].task
      return Lease(task: task.id, epoch: task.epoch)
    }
    for place in past {
      guard let worker = jobs[place.number].tasks[place.ordinal].task.worker else { continue }
      lose(place, message: LossMessage.leaseRanOut(worker))
    }
    // All are charged before any job ends, and a job ends with the error of the first of its tasks.
    var errors: [(number: Int, error: String)] = []
    for place in hung {
      guard let worker = jobs[place.number].tasks[place.ordinal].task.worker,
        let error = charge(place, message: LossMessage.hung(worker), jitter: 0, now: now),
        errors.last?.number != place.number
      else { continue }
      errors.append((place.number, error))
    }
    for (number, error) in errors { end(number, as: .failed, at: now, error: error) }
    return lost
  }

  private mutating func lose(_ place: Place, message: String) {
    jobs[place.number].tasks[place.ordinal].task.error = message
    makeReady(place)
  }

  /// Charges a failure to the holder. Returns the job's error if that was one charge too many.
  private mutating func charge(_ place: Place, message: String, jitter: Double, now: Duration) -> String? {
    guard let worker = jobs[place.number].tasks[place.ordinal].task.worker else { return nil }
    jobs[place.number].tasks[place.ordinal].task.failedOn.append(worker)
    let task = jobs[place.number].tasks[place.ordinal].task
    let charges = task.failedOn.count
    guard charges < policy.maximumCharges else {
      failForGood(place, message: message)
      return LossMessage.gaveUp(task.kind, task.id, charges: charges, worker: worker, message: message)
    }
    jobs[place.number].tasks[place.ordinal].restsUntil =
      now + policy.backOff(afterCharge: charges, jitter: jitter)
    lose(place, message: message)
    return nil
  }

  private mutating func failForGood(_ place: Place, message: String) {
    unlease(place)
    jobs[place.number].tasks[place.ordinal].task.state = .failed
    jobs[place.number].tasks[place.ordinal].task.error = message
  }
}

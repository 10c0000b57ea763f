extension FarmState {
  package mutating func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure, now: Duration) -> Bool {
    guard let held = held(lease, by: worker) else { return false }
    let message = failure.message.withoutNul
    switch failure.cause {
    case .infrastructure: lose(held, message: message)
    case .media:
      if let error = charge(held, message: message, jitter: failure.jitter, now: now) {
        end(held.place.number, as: .failed, at: now, error: error)
      }
    case .document:
      failForGood(held.place, message: message)
      end(held.place.number, as: .failed, at: now, error: message)
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
    let lost = leased.compactMap { place in
      jobs[place.number].tasks[place.ordinal].seat(of: worker).map { Held(place: place, seat: $0) }
    }
    for held in lost { lose(held, message: LossMessage.connectionClosed(worker)) }
    workers.removeAll { $0.record.id == worker }
    return lost.count
  }

  package mutating func expire(now: Duration) -> [Lease] {
    workers.removeAll { now - $0.lastNoted > policy.lease }
    var lost: [(lease: Lease, worker: WorkerID, isPast: Bool)] = []
    for place in leased {
      let record = jobs[place.number].tasks[place.ordinal]
      for seat in record.seats {
        let times = record.times(of: seat)
        guard let worker = record.worker(of: seat), times.until <= now || now - times.movedAt >= policy.hang
        else { continue }
        lost.append((Lease(task: record.task.id, epoch: record.epoch(of: seat)), worker, times.until <= now))
      }
    }
    for (lease, worker, isPast) in lost where isPast {
      guard let held = held(lease, by: worker) else { continue }
      lose(held, message: LossMessage.leaseRanOut(worker))
    }
    // All are charged before any job ends, and a job ends with the error of the first of its tasks.
    var errors: [(number: Int, error: String)] = []
    for (lease, worker, isPast) in lost where !isPast {
      // Not held where the task's other lease was the one charge too many.
      guard let held = held(lease, by: worker),
        let error = charge(held, message: LossMessage.hung(worker), jitter: 0, now: now),
        errors.last?.number != held.place.number
      else { continue }
      errors.append((held.place.number, error))
    }
    for (number, error) in errors { end(number, as: .failed, at: now, error: error) }
    return lost.map(\.lease)
  }

  /// The task is ready again, or its other lease's alone.
  private mutating func lose(_ held: Held, message: String) {
    let place = held.place
    jobs[place.number].tasks[place.ordinal].task.error = message
    guard jobs[place.number].tasks[place.ordinal].task.twin != nil else {
      makeReady(place)
      return
    }
    jobs[place.number].tasks[place.ordinal].drop(held.seat)
    news += 1
  }

  /// Charges a failure to the holder. Returns the job's error if that was one charge too many.
  private mutating func charge(_ held: Held, message: String, jitter: Double, now: Duration) -> String? {
    let place = held.place
    guard let worker = jobs[place.number].tasks[place.ordinal].worker(of: held.seat) else { return nil }
    jobs[place.number].tasks[place.ordinal].task.failedOn.append(worker)
    let task = jobs[place.number].tasks[place.ordinal].task
    let charges = task.failedOn.count
    guard charges < policy.maximumCharges else {
      failForGood(place, message: message)
      return LossMessage.gaveUp(task.kind, task.id, charges: charges, worker: worker, message: message)
    }
    jobs[place.number].tasks[place.ordinal].restsUntil =
      now + policy.backOff(afterCharge: charges, jitter: jitter)
    lose(held, message: message)
    return nil
  }

  private mutating func failForGood(_ place: Place, message: String) {
    unlease(place)
    jobs[place.number].tasks[place.ordinal].task.state = .failed
    jobs[place.number].tasks[place.ordinal].task.error = message
  }
}

/// Which of a task's two leases.
enum Seat: Sendable, Hashable {
  case first, twin
}

/// A lease that somebody holds.
struct Held: Sendable, Hashable {
  var place: Place
  var seat: Seat
}

extension FarmState {
  /// Where the worker's lease stands, if it still is the worker's.
  func held(_ lease: Lease, by worker: WorkerID) -> Held? {
    guard let place = place(of: lease.task) else { return nil }
    let record = jobs[place.number].tasks[place.ordinal]
    guard let seat = record.seat(at: lease.epoch), record.worker(of: seat) == worker else { return nil }
    return Held(place: place, seat: seat)
  }
}

extension TaskRecord {
  /// The leases that there are.
  var seats: [Seat] {
    guard task.state == .leased else { return [] }
    return task.twin == nil ? [.first] : [.first, .twin]
  }

  func seat(at epoch: Int64) -> Seat? { seats.first { self.epoch(of: $0) == epoch } }

  /// A worker never has both.
  func seat(of worker: WorkerID) -> Seat? { seats.first { self.worker(of: $0) == worker } }

  func worker(of seat: Seat) -> WorkerID? { seat == .first ? task.worker : task.twin?.worker }

  func epoch(of seat: Seat) -> Int64 { seat == .twin ? task.twin?.epoch ?? 0 : task.epoch }

  func times(of seat: Seat) -> LeaseTimes { seat == .first ? times : twinTimes }

  mutating func renew(_ seat: Seat, done: Int64, until: Duration, now: Duration) {
    switch seat {
    case .first:
      times.until = until
      guard done > task.progress else { return }
      task.progress = done
      times.movedAt = now
    case .twin:
      twinTimes.until = until
      guard let progress = task.twin?.progress, done > progress else { return }
      task.twin?.progress = done
      twinTimes.movedAt = now
    }
  }

  /// Takes one of two leases away; the twin takes the first one's place.
  mutating func drop(_ seat: Seat) {
    if seat == .first, let twin = task.twin {
      task.worker = twin.worker
      task.epoch = twin.epoch
      task.progress = twin.progress
      times = twinTimes
    }
    task.twin = nil
  }
}

import Digest
import FarmModel

// Whether workers are believed. `WorkerControl` specifies each operation.

struct StandingRecord: Sendable {
  var confirmed: Int64 = 0
  var quarantines: Int64 = 0
  var hold: WorkerHold?
  var reason = ""
  var heldAt: Duration?
  /// Whether nothing is left of its results, as far as they can be made again.
  var isPurged = true
}

/// A result that is compared before it is used, with what is recorded of it if it is.
struct ComparedRecord: Sendable {
  var epoch: Int64
  var worker: WorkerID
  var account: String
  var result: Content
  var grantedAt: Duration
  var publishedAt: Duration
  var took: Duration
}

extension FarmState {
  /// The account of a worker. Nil: it was never registered, or not for long.
  func account(of worker: WorkerID) -> String? {
    let index = workers.partitioningIndex { $0.record.id >= worker }
    guard index < workers.count, workers[index].record.id == worker else { return nil }
    return workers[index].record.account
  }

  func hold(of worker: WorkerID) -> WorkerHold? { account(of: worker).flatMap { standings[$0]?.hold } }

  /// Whether a worker's account has made a result of a task that is compared.
  func hasMade(_ place: Place, _ worker: WorkerID) -> Bool {
    let compared = self[place].compared
    return !compared.isEmpty && compared.contains { $0.account == account(of: worker) }
  }

  /// Whether a result must be compared before it is used.
  /// - Parameter draw: From 0 to 1, exclusive.
  func mustCompare(_ place: Place, _ result: Content, by account: String, draw: Double, now: Duration) -> Bool {
    let record = self[place]
    guard policy.comparedShare > 0, record.task.kind.isCompared else { return false }
    guard record.compared.isEmpty else {
      return !record.compared.contains { $0.account != account && $0.result.digest == result.digest }
    }
    guard draw < policy.comparedShare || isNew(account) else { return false }
    return couldMake(place, except: [account], now: now)
  }

  private func isNew(_ account: String) -> Bool {
    let confirmed = standings[account]?.confirmed ?? 0
    guard confirmed < policy.firstCompared else { return false }
    let waiting = active.reduce(Int64(0)) { count, number in
      count + jobs[number].tasks.reduce(0) { $0 + Int64($1.compared.count { $0.account == account }) }
    }
    return confirmed + waiting < policy.firstCompared
  }

  /// Whether a connected worker of another account, that takes tasks, could make a task's result.
  private func couldMake(_ place: Place, except accounts: Set<String>, now: Duration) -> Bool {
    let build = jobs[place.number].job.build
    return workers.contains { entry in
      isPresent(entry, now: now) && entry.record.paused.isEmpty && entry.record.build == build
        && takes(place.number, entry.record.pools, now: now)
        && !accounts.contains(entry.record.account)
        && standings[entry.record.account]?.hold == nil && entry.record.memory >= self[place].task.memory
    }
  }

  /// Keeps the result of a lease until it is compared with another one.
  mutating func compare(_ lease: LeaseRecord, _ account: String, _ result: Content, now: Duration) {
    let place = lease.place
    leases.removeAll { $0.place == place && $0.epoch == lease.epoch }
    if !self[place].compared.contains(where: { $0.account == account }) {
      self[place].compared.append(
        ComparedRecord(
          epoch: lease.epoch, worker: lease.holder.worker, account: account, result: result, grantedAt: lease.grantedAt,
          publishedAt: now, took: now - lease.grantedAt))
      recordCompared(lease, now: now)
    }
    let count = self[place].compared.count
    if count >= LeasePolicy.mostCompared {
      let task = self[place].task
      leases.removeSubrange(leases(at: place))
      self[place].task.state = .failed
      let message = "\(task.kind.rawValue) task \(task.id) failed for good: \(FailureMessage.different(count))"
      let failure = JobFailure(reason: .task, message: message, task: task.id.ordinal)
      end(place.number, as: .failed, failure: failure, now: now)
    } else if let other = leases(at: place).first {
      leases[other].isBackup = false
      changeCount += 1
    } else {
      makeReady(place)
    }
  }

  /// A task has a result: those who have made the same one are confirmed, and the others are quarantined.
  mutating func settle(_ place: Place, now: Duration) {
    let (task, compared) = (self[place].task, self[place].compared)
    self[place].compared = []
    let same = Set(compared.filter { $0.result.digest == task.result?.digest }.map(\.account))
    guard !same.isEmpty else { return }
    for account in same.union([task.maker].compactMap(\.self)) { standings[account, default: .init()].confirmed += 1 }
    for account in Set(compared.map(\.account)).subtracting(same).sorted() where account != task.maker {
      _ = setHold(.quarantined, of: account, reason: FailureMessage.disproved(task.id), now: now)
    }
  }

  package mutating func acceptUnchecked(now: Duration) -> [UncheckedResult] {
    var accepted: [UncheckedResult] = []
    for number in active.sorted() {
      for ordinal in jobs[number].tasks.indices {
        let place = Place(number: number, ordinal: ordinal)
        let compared = self[place].compared
        guard let first = unanimous(place) else { continue }
        let age = now - first.publishedAt
        let isAlone =
          self[place].task.state == .ready && age >= policy.lease
          && !couldMake(place, except: Set(compared.map(\.account)), now: now)
        guard isAlone || age >= LeasePolicy.patience else { continue }
        accept(place, first, now: now)
        accepted.append(UncheckedResult(task: self[place].task.id, result: first.result, account: first.account))
      }
    }
    return accepted
  }

  /// The first of the results of a task that are compared, if they do not differ.
  func unanimous(_ place: Place) -> ComparedRecord? {
    let compared = self[place].compared
    return Set(compared.map(\.result.digest)).count == 1 ? compared.first : nil
  }

  /// Publishes a result of a task that is compared, whoever has the task.
  mutating func accept(_ place: Place, _ result: ComparedRecord, now: Duration) {
    leases.removeSubrange(leases(at: place))
    jobs[place.number].ready.removeAll { $0 == place.ordinal }
    self[place].compared = []
    finish(place, result, now: now)
  }

  /// A job is ready to be stitched, or done: if it has results of an account that is quarantined, they are to be purged
  /// once more.
  mutating func suspectMakers(ofJob number: Int) {
    let makers = Set(jobs[number].tasks.filter { $0.task.state == .done }.compactMap(\.task.maker))
    for account in makers where standings[account]?.hold == .quarantined { standings[account]?.isPurged = false }
  }

  package func accounts(named name: String) -> [String] {
    let name = name.withoutNul
    let found = workers.map(\.record).filter { $0.account == name || $0.name == name }.map(\.account)
    return Set(found + standings.keys.filter { $0 == name }).sorted {
      Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8))
    }
  }

  package func workerStandings() -> [WorkerStanding] {
    standings.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }.map { account, record in
      WorkerStanding(
        account: account, confirmed: record.confirmed, quarantines: record.quarantines, hold: record.hold,
        reason: record.reason, heldAt: record.heldAt)
    }
  }

  package mutating func setHold(
    _ hold: WorkerHold?, of account: String, reason: String, now: Duration
  ) -> Bool {
    let (account, reason) = (account.withoutNul, hold == nil ? "" : reason.withoutNul)
    var record = standings[account] ?? StandingRecord()
    guard record.hold != hold || record.reason != reason else { return false }
    if record.hold == .quarantined, hold != nil, hold != .quarantined { return false }
    if hold == .quarantined {
      record.confirmed = 0
      record.quarantines += 1
      record.isPurged = false
    }
    (record.hold, record.reason, record.heldAt) = (hold, reason, hold == nil ? nil : now)
    standings[account] = record
    changeCount += 1
    recordHold(hold, of: account, reason, now: now)
    return true
  }

  package mutating func purge(now: Duration) -> Purge {
    var purge = Purge()
    // Also of one that was let go on before it was purged.
    let accounts = Set(standings.filter { !$0.value.isPurged }.keys)
    let found = accounts.union(standings.filter { $0.value.hold == .quarantined }.keys)
    for lease in leases where account(of: lease.holder.worker).map(found.contains) ?? false {
      end(lease, with: TaskFailure(end: .released, message: FailureMessage.quarantined), now: now)
    }
    for number in jobs.indices where !jobs[number].isDeleted && !found.isEmpty {
      for ordinal in jobs[number].tasks.indices {
        jobs[number].tasks[ordinal].compared.removeAll { found.contains($0.account) }
      }
      let tainted = jobs[number].tasks.map(\.task).filter { $0.state == .done && accounts.contains($0.maker ?? "") }
      guard let maker = tainted.compactMap(\.maker).min(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
      else { continue }
      let job = jobs[number].job
      if job.state == .done {
        let doubt = FailureMessage.doubted(maker)
        guard jobs[number].job.doubt != doubt else { continue }
        record(.jobDoubted, ofJob: number, message: doubt, now: now)
        jobs[number].job.doubt = doubt
        purge.doubted.append(job.id)
      } else if !job.state.hasEnded {
        if job.state.isBound { _ = replan(job.id, reason: FailureMessage.replanned(maker), now: now) }
        _ = reprobe(job.id, tasks: tainted.filter { $0.kind == .probe }.map(\.id.ordinal))
        purge.replanned.append(job.id)
      }
    }
    for account in accounts { standings[account]?.isPurged = true }
    return purge
  }
}

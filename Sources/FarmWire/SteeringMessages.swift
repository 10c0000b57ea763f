package import FarmAPI
import FarmModel
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

// What holds jobs up, and who goes first, as messages of the protocol, and back.

extension Sheaf_Submit {
  package var schedule: JobSchedule {
    get {
      var schedule = JobSchedule()
      schedule.isPaused = paused
      schedule.holdUntil = hasHoldUntilMilliseconds ? Timestamp(milliseconds: holdUntilMilliseconds) : nil
      schedule.after = after
      return schedule
    }
    set {
      paused = newValue.isPaused
      if let time = newValue.holdUntil { holdUntilMilliseconds = time.milliseconds }
      after = newValue.after
    }
  }
}

extension Sheaf_ChangeOwner {
  package init(_ owner: String, _ request: OwnerRequest) {
    self.init()
    self.owner = owner
    if let value = request.weight { weight = value }
    if let number = request.mostRunning { mostRunning = number }
    if let number = request.mostJobs { mostOpen = number }
    if let number = request.mostBytes { mostStored = number }
  }
}

extension OwnerRequest {
  package init(_ message: Sheaf_ChangeOwner) {
    self.init()
    weight = message.hasWeight ? message.weight : nil
    mostRunning = message.hasMostRunning ? message.mostRunning : nil
    mostJobs = message.hasMostOpen ? message.mostOpen : nil
    mostBytes = message.hasMostStored ? message.mostStored : nil
  }
}

extension WorkerHoldRequest {
  package init(_ message: Sheaf_HoldWorker) {
    self.init(worker: message.worker, hold: message.hold.isEmpty ? nil : message.hold, reason: message.reason)
  }
}

extension Sheaf_HoldWorker {
  package init(_ request: WorkerHoldRequest) {
    self.init()
    (worker, hold, reason) = (request.worker, request.hold ?? "", request.reason)
  }
}

extension Sheaf_HoldsReply {
  package init(_ reports: [WorkerHoldReport]) throws {
    self.init()
    holds = try JSONCoding.encoder.encode(reports)
  }

  package var reports: [WorkerHoldReport] {
    get throws(WireError) {
      do {
        return try JSONDecoder().decode([WorkerHoldReport].self, from: holds)
      } catch {
        throw WireError(.violation, "the coordinator's holds are those of another version: \(error)")
      }
    }
  }
}

extension Sheaf_OwnersReply {
  package init(_ owners: [OwnerReport]) throws {
    self.init()
    self.owners = try JSONCoding.encoder.encode(owners)
  }

  package var reports: [OwnerReport] {
    get throws(WireError) {
      do {
        return try JSONDecoder().decode([OwnerReport].self, from: owners)
      } catch {
        throw WireError(.violation, "the coordinator's owners are those of another version: \(error)")
      }
    }
  }
}

extension Sheaf_ChangePool {
  package init(_ pool: String, _ request: PoolRequest) {
    self.init()
    (self.pool, hours, timeZone) = (pool, request.hours, request.timeZone)
  }
}

extension PoolRequest {
  package init(_ message: Sheaf_ChangePool) { self.init(hours: message.hours, timeZone: message.timeZone) }
}

extension Sheaf_PoolsReply {
  package init(_ pools: [PoolReport]) throws {
    self.init()
    self.pools = try JSONCoding.encoder.encode(pools)
  }

  package var reports: [PoolReport] {
    get throws(WireError) {
      do {
        return try JSONDecoder().decode([PoolReport].self, from: pools)
      } catch {
        throw WireError(.violation, "the coordinator's pools are those of another version: \(error)")
      }
    }
  }
}

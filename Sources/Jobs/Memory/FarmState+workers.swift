extension FarmState {
  package mutating func register(_ worker: WorkerRecord, now: Duration) throws(JobStoreError) {
    try worker.validate()
    var record = worker
    record.name = worker.name.withoutNul
    record.build = worker.build.withoutNul
    record.coordinator = worker.coordinator.withoutNul
    let index = workers.partitioningIndex { $0.record.id >= worker.id }
    if index < workers.count, workers[index].record.id == worker.id {
      if workers[index].record.session != worker.session || now - workers[index].lastSeen > policy.lease {
        workers[index].registeredAt = now
      }
      workers[index].record = record
      workers[index].lastSeen = now
    } else {
      workers.insert(WorkerEntry(record: record, registeredAt: now, lastSeen: now), at: index)
    }
  }

  package func workers(now: Duration) -> [WorkerRecord] {
    let present = workers.filter { now - $0.lastSeen <= policy.lease }.map { entry in
      var record = entry.record
      record.busy = Int32(leases.count { $0.worker == record.id })
      record.connected = now - entry.registeredAt
      return record
    }
    return present.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}

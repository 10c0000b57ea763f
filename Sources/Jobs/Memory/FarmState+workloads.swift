import Digest
import FarmModel

// What is left of the jobs that render.

extension FarmState {
  package func workloads(now: Duration) -> [Workload] {
    jobs.indices.filter { number in
      let record = jobs[number]
      return !record.isDeleted && record.job.purpose == .render && record.job.state == .rendering
    }.map { workload(of: $0, now: now) }
  }

  private func workload(of number: Int, now: Duration) -> Workload {
    let record = jobs[number]
    var workload = Workload(
      job: record.job.id, owner: record.job.owner ?? "", priority: record.job.priority, pool: record.job.pool,
      build: record.job.build ?? "",
      mayGoOn: mayGoOn(number, now: now) && (record.job.pool.map { isOpen($0, now: now) } ?? true))
    let done = record.tasks.map(\.task).filter { $0.kind == .video && $0.state == .done }
    workload.doneCost = done.reduce(0) { $0 + $1.cost }
    workload.doneBytes = done.reduce(0) { $0 + ($1.result?.size ?? 0) }
    var rendered: [[SHA256Digest]: Workload.Rendered] = [:]
    for task in done {
      guard let publisher = task.publisher else { continue }
      let inputs = task.inputs.map(\.digest)
      rendered[inputs, default: Workload.Rendered(inputs: inputs)].add(cost: task.cost, took: publisher.took)
    }
    workload.rendered = rendered.values.sorted { $0.inputs.map(\.hex).lexicographicallyPrecedes($1.inputs.map(\.hex)) }
    let open = record.tasks.indices.filter { [.ready, .running].contains(record.tasks[$0].task.state) }
    workload.left = open.sorted { left, right in
      let (one, other) = (record.tasks[left].task.cost, record.tasks[right].task.cost)
      return one == other ? left < right : one > other
    }.map { ordinal in
      let place = Place(number: number, ordinal: ordinal)
      let task = record.tasks[ordinal].task
      let held = leases[leases(at: place)]
      let furthest = held.map(\.progress).max().flatMap { most in held.first { $0.progress == most } }
      return Workload.Task(
        kind: task.kind, cost: task.cost, work: task.work, inputs: task.inputs.map(\.digest),
        attempt: furthest.map {
          Workload.Attempt(
            worker: $0.holder.worker, progress: $0.progress, moved: $0.movedAt - $0.grantedAt,
            ran: now - $0.grantedAt)
        })
    }
    return workload
  }
}

extension Workload.Rendered {
  fileprivate mutating func add(cost: Double, took: Duration) {
    count += 1
    self.cost += cost
    self.took += took
  }
}

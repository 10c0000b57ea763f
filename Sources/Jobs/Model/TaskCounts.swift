package import FarmModel

/// The counts of a job's tasks, which every store keeps with the job, so that a summary reads no task.
package struct TaskCounts: Sendable, Equatable {
  package var probes = JobSummary.Count()
  package var measures = JobSummary.Count()
  package var videos = JobSummary.Count()
  package var cachedVideos: Int64 = 0
  package var work = JobSummary.Count()
  package var audios = JobSummary.Count()
  /// The most that one of the tasks needs.
  package var memory: Int64 = 0

  /// The counts of tasks as a submission or a plan makes them.
  package init(of tasks: [NewTask] = []) {
    for task in tasks { add(task) }
  }

  package mutating func add(_ task: NewTask) {
    memory = max(memory, task.memory)
    switch task.kind {
    case .probe: probes.total += 1
    case .measure: measures.total += 1
    case .audio: audios.total += 1
    case .stitch: work.total += task.work
    case .video:
      videos.total += 1
      work.total += task.work
      if task.cached != nil { cachedVideos += 1 }
    }
    if task.cached != nil { finish(task.kind, work: task.work) }
  }

  /// Counts a task as done.
  package mutating func finish(_ kind: TaskKind, work: Int64) {
    switch kind {
    case .probe: probes.done += 1
    case .measure: measures.done += 1
    case .audio: audios.done += 1
    case .stitch: self.work.done += work
    case .video:
      videos.done += 1
      self.work.done += work
    }
  }

  /// Whether all tasks but the stitch task are done.
  package var isFinished: Bool { probes.isDone && measures.isDone && videos.isDone && audios.isDone }
}

extension JobSummary.Count {
  fileprivate var isDone: Bool { done == total }
}

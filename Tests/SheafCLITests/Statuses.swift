import FarmAPI
import FarmModel

// Statuses of which a test sets what it looks at.

extension JobStatus {
  static func with(_ set: (inout JobStatus) -> Void) -> JobStatus {
    var status = JobStatus(job: "", state: nil)
    set(&status)
    return status
  }
}

extension TaskStatus {
  static func with(_ set: (inout TaskStatus) -> Void) -> TaskStatus {
    var status = TaskStatus(task: "", kind: nil, state: nil)
    set(&status)
    return status
  }
}

extension WorkerStatus {
  static func with(_ set: (inout WorkerStatus) -> Void) -> WorkerStatus {
    var status = WorkerStatus(name: "", id: "")
    set(&status)
    return status
  }
}

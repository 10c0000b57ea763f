import Digest
import FarmModel

/// One attempt at a task by this worker. A task that is granted again is another run.
struct RunID: Sendable, Hashable, Comparable {
  var number: Int

  static func < (left: RunID, right: RunID) -> Bool { left.number < right.number }
}

/// A task that the coordinator has granted.
struct TaskGrant: Sendable, Hashable {
  var lease: Lease
  /// For logs.
  var kind: String
  /// For logs.
  var job = ""
  /// For logs: the id of the job's trace; empty if it has none.
  var trace = ""
  /// A `TaskPayload` as JSON, which only the task process reads.
  var payload: [UInt8]
  var inputs: [InputContent]
  /// What progress counts up to.
  var work: UInt64
  /// Whether the result is the job's, which no task reads.
  var isFilm = false
}

/// What a finished task is published as.
struct TaskResult: Sendable, Hashable {
  var content: Content
  /// How its process ended. Nil: that is not known.
  var process: ProcessEnd?
  /// What the attempt took, until it was sent.
  var usage = AttemptUsage()
  /// The damaged media that the result shows, as JSON of `ShownDamage`; empty if there are none.
  var damage: [UInt8] = []
}

/// What the coordinator did with a result.
enum PublishAnswer: Sendable, Hashable {
  /// Published now or before.
  case published
  /// The worker does not hold the lease any more.
  case stale
  /// The coordinator does not have the content.
  case missingContent
}

/// What happens to an agent. Its state depends on the events and on their times alone.
enum AgentEvent: Sendable, Hashable {
  /// The coordinator has accepted the worker. `heartbeat` is the time between two heartbeats, `lease` the time after
  /// which a silent peer is considered lost.
  case connected(heartbeat: Duration, lease: Duration, hang: Duration? = nil)
  /// The connection is closed; no more events of it follow.
  case disconnected
  /// The last bytes of the coordinator came at this time.
  case heard(at: Duration)
  case granted(TaskGrant)
  /// - `drains`: Whether the worker is to end.
  case heartbeatAnswered(cancelled: [Lease], drains: Bool = false)
  case publishAnswered(Lease, PublishAnswer)
  case failureAnswered(Lease)

  /// What the task process reports: frames, samples or bytes done so far, and a number that rises with any forward
  /// movement.
  case progressed(RunID, done: UInt64, moved: UInt64)
  /// The agent has opened, read or digested something for the run.
  case moved(RunID)
  /// So many bytes of content came from the coordinator for the run.
  case fetched(RunID, bytes: Int)
  case entered(RunID, RunPhase)
  case ended(RunID, RunEnd)
  /// How many bytes of the result the coordinator has.
  case uploading(RunID, bytes: UInt64)
  /// The coordinator has the result. Of its bytes so many were sent.
  case uploaded(RunID, bytes: UInt64)
  /// The coordinator cannot take the result for now.
  case uploadPostponed(RunID)
  case uploadFailed(RunID, String)

  /// Why this worker can take no tasks for now, for a person; nil if it can.
  case paused(String?)
  /// The agent's next deadline may have come.
  case tick
  /// End when the running tasks are done, or the time for that is over.
  case drain
  /// End now.
  case stop
}

/// How a run's process ended.
enum RunEnd: Sendable, Hashable {
  case made(TaskResult)
  case failed(TaskFailure)
  /// The agent ended it.
  case killed(ProcessEnd?)

  /// Nil if it is not known.
  var process: ProcessEnd? {
    switch self {
    case .made(let result): result.process
    case .killed(let process): process
    case .failed(let failure): failure.process
    }
  }
}

/// What an agent does about an event. The effects of one event are carried out in order.
enum AgentEffect: Sendable, Hashable {
  struct Progress: Sendable, Hashable {
    var lease: Lease
    var done: UInt64
    /// Rises with any forward movement.
    var moved: UInt64
  }

  case sendHeartbeat([Progress], freeSlots: Int, isDraining: Bool, paused: String?)
  case sendPublish(Lease, TaskResult)
  case sendFailure(Lease, TaskFailure)
  /// Close the connection, because the coordinator is silent.
  case disconnect
  /// Start a process for the task. `ended` follows.
  case start(RunID, TaskGrant)
  /// End the process. `ended` follows.
  case kill(RunID)
  /// Send the result to the coordinator's content store. `uploaded` or `uploadFailed` follows.
  case upload(RunID)
  /// Release what the run holds, its result included.
  case discard(RunID)
  /// Log why the worker ends by itself.
  case reportEnd(EndReason)
  /// End the agent: nothing is left to do.
  case leave
}

/// Why a worker ends by itself.
enum EndReason: String, Sendable, Hashable {
  case idle = "no task for as long as --exit-when-idle says"
  case drained = "the farm's operator has it drained"
}

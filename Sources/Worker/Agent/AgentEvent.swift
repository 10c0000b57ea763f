/// What happens to an agent. Events and the time at which they came are all that its state depends on.
enum AgentEvent: Sendable, Hashable {
  /// The coordinator said welcome. `lease` is how long it goes without hearing from the worker.
  case connected(heartbeat: Duration, lease: Duration)
  /// The connection is gone; nothing more of it will come.
  case disconnected
  case granted(TaskGrant)
  case heartbeatAnswered(cancelled: [TaskLease])
  case publishAnswered(TaskLease, PublishOutcome)
  case failureAnswered(TaskLease)

  /// Frames, samples or bytes done so far.
  case progressed(RunID, UInt64)
  /// The task waits for bytes from the coordinator, or no longer does: its silence means nothing meanwhile.
  case waits(RunID, Bool)
  case ended(RunID, RunEnd)
  /// Of the result, as many bytes are with the coordinator.
  case uploading(RunID, bytes: UInt64)
  case uploaded(RunID)
  case uploadFailed(RunID, String)

  /// The agent's next deadline may have come.
  case tick
  /// Leave, when what is running is done or the time for that is up.
  case drain
  /// Leave now.
  case stop
}

/// How a run's process ended.
enum RunEnd: Sendable, Hashable {
  case made(TaskResult)
  case failed(TaskFailure)
  /// The agent ended it.
  case killed
}

/// What an agent does about it; the edges carry it out, in order.
enum AgentEffect: Sendable, Hashable {
  struct Progress: Sendable, Hashable {
    var lease: TaskLease
    var done: UInt64
  }

  case sendHeartbeat([Progress], freeSlots: Int, isDraining: Bool)
  case sendPublish(TaskLease, TaskResult)
  case sendFailure(TaskLease, TaskFailure)
  /// The coordinator is silent: give the connection up.
  case disconnect
  /// Start a process for the task. `ended` follows.
  case start(RunID, TaskGrant)
  /// End the process. `ended` follows.
  case kill(RunID)
  /// Send the result to the vault. `uploaded` or `uploadFailed` follows.
  case upload(RunID)
  /// Forget the run and what it made.
  case discard(RunID)
  /// Nothing is left to do: end.
  case leave
}

/// What the agent says to a task process over their socket.
enum AgentMessage: Sendable, Hashable {
  /// The one task of the process's life. The descriptors of its output and then of its inputs follow it.
  case task(TaskOrder)
  /// The bytes asked for are in the input's file now.
  case available(request: UInt32)
  /// The bytes asked for cannot be had.
  case unavailable(request: UInt32, message: String)
}

/// What a task process says to the agent.
enum TaskMessage: Sendable, Hashable {
  /// Confined and waiting for its task. `confinement` is what is in force, as `CSandbox`'s flags.
  case ready(confinement: UInt8)
  /// Frames, samples or bytes done so far.
  case progress(UInt64)
  /// Bytes of a ranged input that must be in its file before the task goes on.
  case need(RangeRequest)
  /// The output is complete.
  case finished
  case failed(TaskFailure)
}

/// A task as the process that runs it sees it.
struct TaskOrder: Sendable, Hashable {
  /// A `TaskPayload` as JSON.
  var payload: [UInt8]
  var inputs: [TaskInput]
}

/// One opened input.
struct TaskInput: Sendable, Hashable {
  /// SHA-256, lower-case hexadecimal.
  var digest: String
  /// In bytes.
  var size: Int64
  /// For messages: what the file is called.
  var name: String
  /// Whether the file is filled only as the task asks for it.
  var isRanged: Bool
}

struct RangeRequest: Sendable, Hashable {
  /// Chosen by the task process; the answer carries it.
  var request: UInt32
  /// Index in the order's inputs.
  var input: UInt32
  var range: Range<Int64>
}

/// Why a task gave no result.
struct TaskFailure: Error, Sendable, Hashable {
  enum Cause: UInt8, Sendable, Hashable, CaseIterable {
    /// The media or the codec: another worker may do better.
    case media = 1
    /// This worker's surroundings: disk, memory, connection.
    case infrastructure = 2
    /// No worker ever will.
    case document = 3
  }

  var cause: Cause
  var message: String
}

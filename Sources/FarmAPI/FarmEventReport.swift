package import FarmModel

/// What has happened in the farm, as clients get it. Its JSON is stable: keys may be added, but are never changed.
package struct FarmEventReport: Sendable, Hashable, Codable {
  package enum Name: String, Sendable, Hashable, Codable, CaseIterable {
    case jobSubmitted, jobPlanned, jobReplanned, jobRetried, jobPaused, jobResumed, jobPriorityChanged, jobPoolChanged,
      jobEnded,
      jobDeleted, jobDoubted
    case taskGranted, taskDone, taskCompared, taskFailed
    case workerConnected, workerDisconnected, workerPaused, workerResumed, workerHeld, workerReleased
  }

  package var event: Name
  /// The event's place, the same at every coordinator.
  package var id: EventPlace
  /// When it happened, in seconds since 1970, by the farm's clock.
  package var time: Double
  /// Nil: it is about no job.
  package var job: String?
  /// The job's name, or the worker's, for people.
  package var name: String?
  /// The job's. Nil: it has none, or it is about a worker.
  package var owner: String?
  /// The job's state after it.
  package var state: JobState?
  /// The task's ordinal in its job.
  package var ordinal: Int?
  /// Which of the task's attempts it is about.
  package var epoch: Int64?
  /// What the task makes.
  package var label: String?
  /// The worker's name if it is about a task, and its id if it is about the worker.
  package var worker: String?
  /// The worker's id.
  package var workerID: String?
  /// How the attempt ended.
  package var end: AttemptEnd?
  /// How long the attempt took from its grant, or the job from its submission.
  package var seconds: Double?
  /// What of that an attempt waited for a slot, for its inputs, worked, and took to deliver its result. Nil: its worker
  /// did not say.
  package var waitSeconds: Double?
  package var fetchSeconds: Double?
  package var renderSeconds: Double?
  package var uploadSeconds: Double?
  /// Of the plan: how many tasks there are, and how many results were known.
  package var tasks: Int?
  package var cached: Int?
  /// Why, for a person.
  package var reason: String?

  package init(_ event: Name, id: EventPlace, time: Double) {
    self.event = event
    self.id = id
    self.time = time
  }
}

/// The place of an event among all of a farm.
package struct EventPlace: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package var transaction: Int64
  package var number: Int64

  /// The place before every event.
  package static let beginning = EventPlace(transaction: 0, number: 0)

  package init(transaction: Int64, number: Int64) {
    self.transaction = transaction
    self.number = number
  }

  /// Nil if the text has another form.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let transaction = Int64(parts[0]), let number = Int64(parts[1]), transaction >= 0,
      number >= 0
    else { return nil }
    self.init(transaction: transaction, number: number)
  }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let place = EventPlace(text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "\"\(text)\" is not the place of an event"))
    }
    self = place
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Two numbers with a full stop between.
  package var description: String { "\(transaction).\(number)" }

  package static func < (left: EventPlace, right: EventPlace) -> Bool {
    (left.transaction, left.number) < (right.transaction, right.number)
  }
}

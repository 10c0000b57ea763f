package import FarmAPI
import FarmModel
import Jobs

// What has happened in the farm, at whichever coordinator.

extension FarmService {
  /// A part of what has happened.
  package struct Events: Sendable {
    /// Oldest first, of which the caller may know.
    package var reports: [FarmEventReport]
    /// Up to where it reaches.
    package var end: EventPlace
    /// Whether there may be more after it.
    package var isFull: Bool
  }

  /// The events after a place, as they are among at most `limit`. Nil: some of them are not kept any more.
  package func events(after place: EventPlace, limit: Int) async throws -> Events? {
    try require(.see)
    return try await withStore {
      let position = place == .beginning ? nil : JournalPosition(place)
      guard let found = try await coordinator.store.events(after: position, limit: limit) else { return nil }
      return Events(reports: visible(found), end: found.last?.place ?? place, isFull: found.count >= limit)
    }
  }

  /// The newest events, as they are among at most `limit`.
  package func newestEvents(limit: Int) async throws -> Events {
    try require(.see)
    return try await withStore {
      let found = try await coordinator.store.newestEvents(limit: limit)
      return Events(reports: visible(found), end: found.last?.place ?? .beginning, isFull: found.count >= limit)
    }
  }

  private func visible(_ events: [JournalEvent]) -> [FarmEventReport] {
    events.filter { $0.job == nil || caller.sees(jobOf: $0.owner) }.map { FarmEventReport($0) }
  }
}

extension JournalEvent {
  fileprivate var place: EventPlace { EventPlace(transaction: position.transaction, number: position.number) }
}

extension JournalPosition {
  fileprivate init(_ place: EventPlace) {
    self.init(transaction: place.transaction, number: place.number)
  }
}

extension FarmEventReport {
  init(_ event: JournalEvent) {
    let name = Name(event.kind)
    self.init(name, id: event.place, time: event.at.exactSeconds)
    job = event.job?.description
    (self.name, owner) = (event.name, event.owner)
    state = event.state
    ordinal = event.ordinal.map { Int($0) }
    (epoch, label) = (event.epoch, event.label)
    workerID = event.worker?.description
    worker = event.workerName ?? workerID
    end = event.end
    seconds = event.took?.exactSeconds
    if let phases = event.phases?.map(\.exactSeconds), phases.count == 4 {
      (waitSeconds, fetchSeconds, renderSeconds, uploadSeconds) = (phases[0], phases[1], phases[2], phases[3])
    }
    tasks = event.tasks.map { Int($0) }
    cached = event.cached.map { Int($0) }
    reason = event.message
  }
}

extension FarmEventReport.Name {
  fileprivate init(_ kind: JournalEvent.Kind) {
    self =
      switch kind {
      case .jobSubmitted: .jobSubmitted
      case .jobPlanned: .jobPlanned
      case .jobReplanned: .jobReplanned
      case .jobRetried: .jobRetried
      case .jobPaused: .jobPaused
      case .jobResumed: .jobResumed
      case .jobPriorityChanged: .jobPriorityChanged
      case .jobPoolChanged: .jobPoolChanged
      case .jobEnded: .jobEnded
      case .jobDeleted: .jobDeleted
      case .jobDoubted: .jobDoubted
      case .taskGranted: .taskGranted
      case .taskDone: .taskDone
      case .taskCompared: .taskCompared
      case .taskFailed: .taskFailed
      case .workerConnected: .workerConnected
      case .workerDisconnected: .workerDisconnected
      case .workerPaused: .workerPaused
      case .workerResumed: .workerResumed
      case .workerHeld: .workerHeld
      case .workerReleased: .workerReleased
      }
  }
}

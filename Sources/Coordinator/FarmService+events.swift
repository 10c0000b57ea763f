package import FarmAPI
import FarmModel
import Jobs

// What has happened in the farm, at whichever coordinator.

extension FarmService {
  /// The events after a place, oldest first, at most `limit`. Nil: some of them are not kept any more.
  package func events(after place: EventPlace, limit: Int) async throws -> [FarmEventReport]? {
    try await withStore {
      let position = place == .beginning ? nil : JournalPosition(place)
      return try await coordinator.store.events(after: position, limit: limit)?.map { FarmEventReport($0) }
    }
  }

  /// The newest events, oldest first, at most `limit`.
  package func newestEvents(limit: Int) async throws -> [FarmEventReport] {
    try await withStore { try await coordinator.store.newestEvents(limit: limit).map { FarmEventReport($0) } }
  }
}

extension JournalPosition {
  fileprivate init(_ place: EventPlace) {
    self.init(transaction: place.transaction, number: place.number)
  }
}

extension FarmEventReport {
  init(_ event: JournalEvent) {
    let name = Name(event.kind)
    let place = EventPlace(transaction: event.position.transaction, number: event.position.number)
    self.init(name, id: place, time: event.at.exactSeconds)
    job = event.job?.description
    self.name = event.name
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
      case .jobEnded: .jobEnded
      case .jobDeleted: .jobDeleted
      case .taskGranted: .taskGranted
      case .taskDone: .taskDone
      case .taskFailed: .taskFailed
      case .workerConnected: .workerConnected
      case .workerDisconnected: .workerDisconnected
      case .workerPaused: .workerPaused
      case .workerResumed: .workerResumed
      }
  }
}

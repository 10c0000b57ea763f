import Coordinator
import FarmModel

/// The feeds of a farm: one for all who see everything, and one for each owner who sees only its own.
actor EventFeeds {
  /// The most owners who have a feed at a time.
  private static let mostOwners = 256

  private struct Running {
    var feed: EventFeed
    var task: Task<Void, Never>
  }

  private let farm: FarmService
  private nonisolated let everything: EventFeed
  private var owners: [String: Running] = [:]
  private var hasEnded = false

  init(_ farm: FarmService) {
    self.farm = farm
    everything = EventFeed(farm)
  }

  /// What a caller may watch. Throws `.forbidden` if that is nothing, `.tooManyRequests` if too many others watch.
  func feed(for asked: FarmService) async throws -> EventFeed {
    try asked.requireSight()
    guard asked.caller.role == .submitter, let owner = asked.caller.owner else { return everything }
    if let running = owners[owner] { return running.feed }
    if owners.count >= Self.mostOwners { await removeForgotten() }
    guard owners.count < Self.mostOwners, !hasEnded else {
      throw ProblemDetails(.tooManyRequests, "\(Self.mostOwners) owners watch the farm")
    }
    // Another request may have made it meanwhile.
    if let running = owners[owner] { return running.feed }
    let feed = EventFeed(farm.asked(by: Caller(role: .submitter, owner: owner)))
    owners[owner] = Running(feed: feed, task: Task { await feed.run() })
    return feed
  }

  /// Follows the farm until it is cancelled, and removes the feeds that nobody watches.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { [everything] in await everything.run() }
      group.addTask {
        while !Task.isCancelled {
          // It throws if it is cancelled, and then the loop ends.
          try? await Task.sleep(for: .seconds(60))
          await self.removeForgotten()
        }
      }
    }
    for running in owners.values { running.task.cancel() }
    owners = [:]
  }

  private func removeForgotten() async {
    for (owner, running) in owners where await !running.feed.isWatched {
      running.task.cancel()
      owners[owner] = nil
    }
  }

  /// Ends every watch.
  func stop() async {
    hasEnded = true
    await everything.stop()
    for running in owners.values { await running.feed.stop() }
  }
}

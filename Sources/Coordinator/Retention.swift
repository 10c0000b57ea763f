import ContentStorage
import Jobs
import Logging
import Runtime
import SystemSupport

/// Deletes jobs that ended long ago, and trims the content store.
struct Retention: Sendable {
  /// How many jobs one call of the store deletes.
  private static let batch = 100
  /// How many events one call of the store removes.
  private static let eventBatch = 10_000
  /// How long, and how many, events are kept for those who were away.
  private static let keptEvents = Duration.seconds(7 * 24 * 3600)
  private static let mostEvents = 200_000
  /// How long a message to a webhook can be sent again.
  private static let keptDeliveries = Duration.seconds(30 * 24 * 3600)

  let store: any JobStore
  let content: ContentStore
  let configuration: CoordinatorConfiguration
  let availability: StoreAvailability
  let counts: WorkCounts
  let logger: Logger

  /// Every `configuration.retentionInterval`, until it is cancelled.
  func run() async {
    var sizeIsDue = ContinuousClock.now
    while !Task.isCancelled {
      do {
        try await abandonable { try await deleteOldJobs() }
        try await abandonable { try await removeOldEvents() }
        try await abandonable { try await removeOldAudit() }
        try await abandonable { try await trimStore() }
        if sizeIsDue <= .now {
          let took = try await ContinuousClock().measure { try await abandonable { try await measureStore() } }
          // Of a store of millions of objects, one hundredth of the time.
          sizeIsDue = .now + took * 100
        }
      } catch let error as JobStoreError {
        availability.report(error, "old jobs not deleted")
      } catch is CancellationError {
        return
      } catch {
        logger.error("content store not trimmed", metadata: ["error": "\(error)"])
      }
      do { try await Task.sleep(for: configuration.retentionInterval) } catch { return }
    }
  }

  private func measureStore() async throws {
    counts.measured(contentBytes: try await BlockingWork.run(.hashing) { [content] in content.contentBytes() })
  }

  private func deleteOldJobs() async throws {
    var total = 0
    var deleted = Self.batch
    while deleted == Self.batch, !Task.isCancelled {
      deleted = try await store.deleteJobs(endedBefore: configuration.keepJobs, limit: Self.batch)
      total += deleted
    }
    if total > 0 { logger.info("old jobs deleted", metadata: ["jobs": "\(total)"]) }
  }

  private func removeOldEvents() async throws {
    _ = try await store.removeDeliveries(olderThan: Self.keptDeliveries, limit: Self.eventBatch)
    var removed = Self.eventBatch
    while removed == Self.eventBatch, !Task.isCancelled {
      removed = try await store.removeEvents(
        olderThan: Self.keptEvents, most: Self.mostEvents, limit: Self.eventBatch)
    }
  }

  private func removeOldAudit() async throws {
    var removed = Self.eventBatch
    while removed == Self.eventBatch, !Task.isCancelled {
      removed = try await store.removeAuditEntries(olderThan: configuration.keepAudit, limit: Self.eventBatch)
    }
  }

  private func trimStore() async throws {
    guard let limit = configuration.storeLimit else {
      return try await BlockingWork.run { [content] in content.removeLeftovers() }
    }
    let kept = try await store.contentsInUse(keepingResults: configuration.keepResults)
    let removed = try await BlockingWork.run(.hashing) { [content] in try content.trim(to: limit, keeping: Set(kept)) }
    if removed > 0 { logger.info("content store trimmed", metadata: ["removed": "\(ByteCount.text(removed))"]) }
  }
}

import Client
import ContentStorage
import Jobs
import Logging
import PostgresJobs

/// What came of connecting to the database.
enum DatabaseAttempt: Sendable {
  case connected(PostgresJobStore)
  /// It may be reached later.
  case unavailable(JobStoreError)
  case refused(CommandFailure)

  /// Tries for some time, because the database may start later than the coordinator.
  static func connect(
    _ url: String, _ policy: LeasePolicy, _ content: ContentStore, isReplacing: Bool, _ logger: Logger
  ) async throws -> PostgresJobStore {
    let limit = ContinuousClock.now + .seconds(15)
    var attempt = await make(url, policy, content, isReplacing: isReplacing)
    if let reason = attempt.unavailable {
      logger.warning("database not reached yet; trying for 15 s", metadata: ["error": "\(reason)"])
    }
    while attempt.unavailable != nil, ContinuousClock.now < limit {
      try await Task.sleep(for: .seconds(1))
      attempt = await make(url, policy, content, isReplacing: isReplacing)
    }
    return try attempt.store
  }

  /// Connects, and checks that the database's content store is this one.
  private static func make(
    _ url: String, _ policy: LeasePolicy, _ content: ContentStore, isReplacing: Bool
  ) async -> DatabaseAttempt {
    do throws(JobStoreError) {
      let jobs = try await PostgresJobStore.connect(url: url, policy: policy)
      let recorded = try await jobs.contentStore(content.identity, replacing: isReplacing)
      if recorded == content.identity { return .connected(jobs) }
      await jobs.close()
      // A second start finds the folder as this one did.
      content.forgetIdentity()
      return .refused(CommandFailure(.unavailable, content.refusal(recorded)))
    } catch {
      if error.code == .unavailable { return .unavailable(error) }
      return .refused(CommandFailure(.unavailable, "the database cannot be used: \(error)"))
    }
  }

  private var unavailable: JobStoreError? {
    if case .unavailable(let error) = self { error } else { nil }
  }

  private var store: PostgresJobStore {
    get throws(CommandFailure) {
      switch self {
      case .connected(let store): return store
      case .unavailable(let error): throw CommandFailure(.unavailable, "\(error)")
      case .refused(let failure): throw failure
      }
    }
  }
}

extension ContentStore {
  /// Why a coordinator does not start with this store, and what to do.
  /// - Parameter recorded: The identity of the database's content store.
  fileprivate func refusal(_ recorded: String) -> String {
    switch origin {
    case .recorded:
      """
      the content store \(directory) is \(identity), and the database belongs to the content store \(recorded): name the \
      folder of that one with --store, or give --replace-store if it is lost
      """
    case .unnamed:
      """
      the content store \(directory) has lost its file "identity", and the database belongs to the content store \
      \(recorded). If this folder is that one, write the file again: printf %s \(recorded) > '\(directory)/identity'. If \
      not, name the folder of that one with --store, or give --replace-store if it is lost
      """
    case .new:
      """
      the folder \(directory) has no content store, and the database belongs to the content store \(recorded): if its disk \
      is not mounted, mount it; or name the store's folder with --store, or give --replace-store if it is lost
      """
    }
  }
}

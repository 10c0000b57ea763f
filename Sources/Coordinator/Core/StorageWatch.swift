import ContentStorage
import Digest
import Logging
import Runtime
import Synchronization
import SystemSupport

/// Whether the content store can take results and uploads: looks at it, logs what changes, and has what a person needs
/// to know.
final class StorageWatch: Sendable {
  private struct State: Sendable {
    var disk: DiskSpace
    var uploads = WaitingUploads()
  }

  private let store: ContentStore
  /// Measures the free bytes of the disk. Blocks.
  let availableBytes: @Sendable () throws -> Int64
  private let changes: ChangeSignal
  private let logger: Logger
  private let now: @Sendable () -> Duration
  private let state: Mutex<State>

  /// - Parameters:
  ///   - minimumFree: The free bytes of the disk below which nothing is granted. 0: it is not measured.
  ///   - availableBytes: Measures the free bytes of the disk.
  ///   - now: Time since any fixed moment.
  init(
    store: ContentStore, minimumFree: Int64, availableBytes: @escaping @Sendable () throws -> Int64,
    changes: ChangeSignal, logger: Logger, now: @escaping @Sendable () -> Duration
  ) {
    self.store = store
    self.availableBytes = availableBytes
    self.changes = changes
    self.logger = logger
    self.now = now
    state = Mutex(State(disk: DiskSpace(minimum: minimumFree)))
  }

  private var disk: DiskSpace { state.withLock(\.disk) }

  /// Whether no task may be granted.
  var holdsTasks: Bool { disk.holdsTasks }
  /// Whether nothing that is in the store can be read for now.
  var isAway: Bool { disk.absence != nil }
  /// What a person needs to know if no task may be granted.
  var diskNotice: String? { disk.notice }
  /// What holds up the whole farm, for a person.
  var notices: [String] {
    state.withLock { state in [state.disk.notice, state.uploads.notice(now: now())].compactMap(\.self) }
  }

  /// Looks whether the store is there and has room.
  /// - Returns: Whether that has changed.
  func look() async -> Bool {
    let minimum = disk.minimum
    do {
      let (absence, free) = try await abandonable { [availableBytes, store] in
        try await BlockingWork.run(.files) { () -> (String?, Int64?) in
          if let absence = store.absence { return (absence, nil) }
          guard minimum > 0 else { return (nil, nil) }
          let free = try availableBytes()
          guard free < minimum, store.removeRemains(freeing: minimum - free) > 0 else { return (nil, free) }
          return (nil, try availableBytes())
        }
      }
      let (hasMoved, hasFilled) = state.withLock { state in
        (state.disk.looked(absence), free.map { state.disk.measured($0) } ?? false)
      }
      if hasMoved { logPresence(absence) }
      if hasFilled, let free { logRoom(free) }
      return hasMoved || hasFilled
    } catch is CancellationError {
    } catch {
      logger.error("free disk space not measured", metadata: ["error": "\(error)"])
    }
    return false
  }

  private func logPresence(_ absence: String?) {
    if let absence {
      logger.error("content store away; running tasks wait for it", metadata: ["reason": "\(absence)"])
    } else {
      logger.notice("content store there again", metadata: ["store": "\(store.directory)"])
    }
  }

  private func logRoom(_ free: Int64) {
    if let notice = disk.notice {
      logger.error("disk low", metadata: ["reason": "\(notice)"])
    } else {
      logger.notice("disk has room again", metadata: ["free": "\(ByteCount.text(free))"])
    }
  }

  /// An upload waits for room on the disk, or, without a reason, has begun.
  func uploadWaits(_ content: Content, _ reason: String?) async {
    let metadata: Logger.Metadata = ["content": "\(content.digest)", "size": "\(ByteCount.text(content.size))"]
    if let reason {
      guard state.withLock({ $0.uploads.refused(content, reason, now: now()) }) else { return }
      logger.warning("upload waits for room", metadata: metadata.merging(["reason": "\(reason)"]) { first, _ in first })
    } else {
      guard state.withLock({ $0.uploads.begun(content.digest) }) else { return }
      logger.notice("upload has room", metadata: metadata)
    }
    await changes.signal()
  }
}

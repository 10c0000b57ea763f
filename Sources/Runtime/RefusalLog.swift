package import Logging
import Synchronization

/// Logs what was refused: the first time at once, then at most once a minute with how often, so that who is refused
/// again and again does not fill the log, and is not missing from it.
package final class RefusalLog: Sendable {
  private struct Entry {
    /// Since the last line.
    var count = 0
    var peers: Set<String> = []
    var logged: ContinuousClock.Instant
    var isScheduled = false
  }

  private let logger: Logger
  private let interval: Duration
  private let entries = Mutex<[String: Entry]>([:])
  private let observer = Mutex<(@Sendable (String, Int, [String]) -> Void)?>(nil)

  /// How many peers a line names.
  private static let namedPeers = 4

  /// - Parameter interval: Between two lines of one reason.
  package init(_ logger: Logger, interval: Duration = .seconds(60)) {
    self.logger = logger
    self.interval = interval
  }

  /// - Parameter observer: Called with each line: the reason, how often, and some of the peers.
  package func observe(_ observer: @escaping @Sendable (_ reason: String, _ count: Int, _ peers: [String]) -> Void) {
    self.observer.withLock { $0 = observer }
  }

  /// - Parameters:
  ///   - reason: For people; one of a few texts, each of which has lines of its own.
  ///   - peer: The address of who was refused, without its port.
  package func refused(_ reason: String, _ peer: String) {
    let now = ContinuousClock.now
    let (isFirst, waits) = entries.withLock { entries -> (Bool, Bool) in
      guard var entry = entries[reason] else {
        entries[reason] = Entry(logged: now)
        return (true, false)
      }
      if entry.count == 0, now - entry.logged >= interval {
        entry.logged = now
        entries[reason] = entry
        return (true, false)
      }
      entry.count += 1
      if entry.peers.count < Self.namedPeers { entry.peers.insert(peer) }
      let waits = !entry.isScheduled
      entry.isScheduled = true
      entries[reason] = entry
      return (false, waits)
    }
    if isFirst { log(reason, count: 1, peers: [peer]) }
    if waits {
      Task { [weak self, interval] in
        try await Task.sleep(for: interval)
        self?.flush(reason)
      }
    }
  }

  /// Logs what is counted and not logged yet.
  package func flush() { for reason in entries.withLock({ $0.keys.sorted() }) { flush(reason) } }

  private func flush(_ reason: String) {
    let entry = entries.withLock { entries -> Entry? in
      guard let entry = entries[reason], entry.count > 0 else { return nil }
      entries[reason] = Entry(logged: .now)
      return entry
    }
    if let entry { log(reason, count: entry.count, peers: entry.peers.sorted()) }
  }

  private func log(_ reason: String, count: Int, peers: [String]) {
    observer.withLock { $0 }?(reason, count, peers)
    logger.warning(
      "refused", metadata: ["reason": "\(reason)", "times": "\(count)", "peers": "\(peers.joined(separator: ", "))"])
  }
}

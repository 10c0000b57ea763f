import FarmModel
import Jobs
import Logging
import Runtime
import Synchronization

/// Records who has done what. Whoever reads a film in parts, or is refused again and again, is recorded once in a
/// while.
final class Audit: Sendable {
  /// How long the same download, and the same refusal, are not recorded again.
  private static let (ofDownloads, ofRefusals) = (Duration.seconds(600), Duration.seconds(60))
  /// How many of those are known at most. Beyond that all are forgotten, with what is counted of refusals, and recorded
  /// again when they happen again.
  private static let mostKnown = 10_000

  private let store: any JobStore
  private let logger: Logger
  /// Whether anything is recorded.
  private let isOn: Bool
  private let known = Mutex<[AuditEntry: Known]>([:])

  /// What was recorded a short time ago.
  private struct Known {
    var until: ContinuousClock.Instant
    /// How often it has happened since.
    var count: Int64 = 0
  }

  init(store: any JobStore, isOn: Bool, logger: Logger) {
    self.store = store
    self.isOn = isOn
    self.logger = logger
  }

  /// Throws if it cannot be recorded; then the log has it.
  func record(_ entry: AuditEntry) async throws(JobStoreError) {
    guard isOn else { return }
    do throws(JobStoreError) {
      try await store.record(entry)
    } catch {
      logger.error(
        "not recorded in the audit",
        metadata: [
          "action": "\(entry.action.rawValue)", "owner": "\(entry.caller.owner ?? "")",
          "address": "\(entry.caller.address)", "subject": "\(entry.subject)", "detail": "\(entry.detail)",
          "error": "\(error)",
        ])
      throw error
    }
  }

  /// Records a download, or a certificate for a worker, unless the same was recorded a short time ago. One that cannot
  /// be recorded is refused.
  func recordOnce(_ entry: AuditEntry) async throws(JobStoreError) {
    guard isOn, isNew(entry, for: Self.ofDownloads) else { return }
    do throws(JobStoreError) {
      try await record(entry)
    } catch {
      known.withLock { known in known[entry] = nil }
      throw error
    }
  }

  /// Records a refusal: the first at once, and the same again once a minute with how often. It does not wait for the
  /// store.
  func recordRefusal(_ entry: AuditEntry) {
    guard isOn, isNew(entry, for: Self.ofRefusals) else { return }
    logger.warning(
      "refused",
      metadata: [
        "reason": "\(entry.detail)", "owner": "\(entry.caller.owner ?? "")",
        "token": "\(entry.caller.token?.description ?? "")", "peers": "\(entry.caller.address)",
      ])
    Task {
      // The log has it if the store has not.
      try? await record(entry)
      try? await Task.sleep(for: Self.ofRefusals)
      await recordAgain(entry)
    }
  }

  private func recordAgain(_ entry: AuditEntry) async {
    let count = known.withLock { known in known.removeValue(forKey: entry)?.count ?? 0 }
    guard count > 0 else { return }
    var again = entry
    again.times = count
    try? await record(again)
  }

  /// Records what is counted and not recorded yet: the coordinator ends.
  func flush() async {
    let counted = known.withLock { known in known.filter { $0.value.count > 0 && $0.key.action == .refused }.map(\.key)
    }
    for entry in counted { await recordAgain(entry) }
  }

  /// Records refusals of peers without a valid token as they are logged.
  func follow(_ refusals: RefusalLog) {
    guard isOn else { return }
    refusals.observe { [self] reason, count, peers in
      let nobody = Caller(role: .viewer, address: peers.joined(separator: ", "))
      let entry = AuditEntry(.refused, by: nobody, of: "", detail: reason, times: Int64(count))
      // The log has it if the store has not.
      Task { try? await record(entry) }
    }
  }

  private func isNew(_ entry: AuditEntry, for time: Duration) -> Bool {
    let now = ContinuousClock.now
    return known.withLock { known in
      if let last = known[entry], last.until > now {
        known[entry]?.count += 1
        return false
      }
      if known.count >= Self.mostKnown {
        known = known.filter { $0.value.until > now }
        if known.count >= Self.mostKnown { known = [:] }
      }
      known[entry] = Known(until: now + time)
      return true
    }
  }
}

package import Digest
import Synchronization

/// Who made a result.
package struct ResultMaker: Sendable, Hashable {
  /// The account of the worker.
  package var account: String
  /// How often the account had been quarantined before.
  package var quarantines: Int64

  package init(_ account: String, quarantines: Int64 = 0) {
    (self.account, self.quarantines) = (account, quarantines)
  }
}

/// What a task produced before, and who made it.
package struct KnownResult: Sendable, Hashable {
  package var content: Content
  /// Nil: it is not known.
  package var maker: ResultMaker?

  package init(_ content: Content, maker: ResultMaker? = nil) {
    self.content = content
    self.maker = maker
  }
}

/// The results of tasks by fingerprint: what a task with this fingerprint produced before. The entries are files in
/// `fingerprints/` of a content store, and the results are the store's objects. Every method blocks.
package final class ResultCache: Sendable {
  /// The longest entry, in bytes.
  static let longestEntry = 512

  private let store: ContentStore
  /// By account: how often it was quarantined before results of it are used. Nil: none is used.
  private let distrusted = Mutex<[String: Int64?]>([:])

  package init(_ store: ContentStore) {
    self.store = store
  }

  /// Sets the accounts that are not believed.
  /// - Parameter accounts: Of each, how often it must have been quarantined before results of it are used. Nil: none is
  ///   used.
  package func distrust(_ accounts: [String: Int64?]) { distrusted.withLock { $0 = accounts } }

  private func isBelieved(_ maker: ResultMaker) -> Bool {
    guard let least = distrusted.withLock({ $0[maker.account] }) else { return true }
    return least.map { maker.quarantines >= $0 } ?? false
  }

  /// The result of a task with this fingerprint; nil if there is none, if the store does not have it any more, or if
  /// who made it is not believed.
  package func result(of fingerprint: SHA256Digest) -> KnownResult? {
    guard let result = Self.decode(store.text(of: path(of: fingerprint), limit: Self.longestEntry)) else { return nil }
    if let maker = result.maker, !isBelieved(maker) { return nil }
    return store.contains(result.content) ? result : nil
  }

  /// Records the result of a task with this fingerprint.
  package func record(
    _ result: Content, for fingerprint: SHA256Digest, maker: ResultMaker? = nil
  ) throws(ContentStoreError) {
    let made = maker.map { " \($0.quarantines) \($0.account)" } ?? ""
    try store.write("\(result.digest) \(result.size)\(made)", to: path(of: fingerprint))
  }

  /// The result that an entry names; nil if the entry is damaged.
  static func decode(_ entry: String?) -> KnownResult? {
    guard let words = entry?.split(separator: " ", maxSplits: 3), words.count == 2 || words.count == 4,
      let digest = SHA256Digest(hex: words[0]), let size = Int64(words[1])
    else { return nil }
    let content = Content(digest: digest, size: size)
    guard words.count > 2 else { return KnownResult(content) }
    guard let quarantines = Int64(words[2]) else { return nil }
    return KnownResult(content, maker: ResultMaker(String(words[3]), quarantines: quarantines))
  }

  private func path(of fingerprint: SHA256Digest) -> String { store.entry("fingerprints", fingerprint) }
}

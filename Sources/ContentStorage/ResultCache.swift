package import Digest
import Synchronization

/// What a task produced before, and who made it.
package struct KnownResult: Sendable, Hashable {
  package var content: Content
  /// The account of the worker that made it. Nil: it is not known.
  package var maker: String?

  package init(_ content: Content, maker: String? = nil) {
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
  private let distrusted = Mutex<Set<String>>([])

  package init(_ store: ContentStore) {
    self.store = store
  }

  /// Sets the accounts whose results are not used.
  package func distrust(_ accounts: Set<String>) { distrusted.withLock { $0 = accounts } }

  /// The result of a task with this fingerprint; nil if there is none, if the store does not have it any more, or if
  /// who made it is not believed.
  package func result(of fingerprint: SHA256Digest) -> KnownResult? {
    guard let result = Self.decode(store.text(of: path(of: fingerprint), limit: Self.longestEntry)) else { return nil }
    if let maker = result.maker, distrusted.withLock({ $0.contains(maker) }) { return nil }
    return store.contains(result.content) ? result : nil
  }

  /// Records the result of a task with this fingerprint.
  package func record(
    _ result: Content, for fingerprint: SHA256Digest, maker: String? = nil
  ) throws(ContentStoreError) {
    try store.write("\(result.digest) \(result.size)\(maker.map { " \($0)" } ?? "")", to: path(of: fingerprint))
  }

  /// The result that an entry names; nil if the entry is damaged.
  static func decode(_ entry: String?) -> KnownResult? {
    guard let words = entry?.split(separator: " ", maxSplits: 2), words.count >= 2,
      let digest = SHA256Digest(hex: words[0]), let size = Int64(words[1])
    else { return nil }
    return KnownResult(Content(digest: digest, size: size), maker: words.count > 2 ? String(words[2]) : nil)
  }

  private func path(of fingerprint: SHA256Digest) -> String { store.entry("fingerprints", fingerprint) }
}

package import Digest

/// The results of tasks by fingerprint: what a task with this fingerprint produced before. The entries are files in
/// `fingerprints/` of a content store, and the results are the store's objects. Every method blocks.
package final class ResultCache: Sendable {
  private let store: ContentStore

  package init(_ store: ContentStore) {
    self.store = store
  }

  /// The result of a task with this fingerprint; nil if there is none, or if the store does not have it any more.
  package func result(of fingerprint: SHA256Digest) -> Content? {
    guard let content = Self.decode(store.text(of: path(of: fingerprint), limit: 128)) else { return nil }
    return store.contains(content) ? content : nil
  }

  /// Records the result of a task with this fingerprint.
  package func record(_ result: Content, for fingerprint: SHA256Digest) throws(ContentStoreError) {
    try store.write("\(result.digest) \(result.size)", to: path(of: fingerprint))
  }

  /// The result that an entry names; nil if the entry is damaged.
  static func decode(_ entry: String?) -> Content? {
    guard let words = entry?.split(separator: " "), words.count == 2, let digest = SHA256Digest(hex: words[0]),
      let size = Int64(words[1])
    else { return nil }
    return Content(digest: digest, size: size)
  }

  private func path(of fingerprint: SHA256Digest) -> String { store.entry("fingerprints", fingerprint) }
}

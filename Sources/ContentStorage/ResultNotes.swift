package import Digest

/// What is known of results beyond their bytes: a short text by the result's digest. The notes are files in `notes/` of
/// a content store, and stay there for some time after the result is gone. Every method blocks.
package final class ResultNotes: Sendable {
  /// The most bytes that a note may have to be read.
  private static let limit = 1 << 20

  private let store: ContentStore

  package init(_ store: ContentStore) {
    self.store = store
  }

  /// Nil if there is none.
  package func note(of result: SHA256Digest) -> String? {
    store.text(of: store.entry("notes", result), limit: Self.limit)
  }

  package func record(_ note: String, of result: SHA256Digest) throws(ContentStoreError) {
    try store.write(note, to: store.entry("notes", result))
  }
}

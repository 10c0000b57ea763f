package import Digest
package import FoundationEssentials
import Glibc
import SystemSupport

/// Content that is being written to a content store. It is hashed as it is written, and exists under its digest only
/// after `finish` has checked it. Every method blocks.
///
/// Unchecked, and safe: one task at a time uses it, and calls its methods one after the other.
package final class ContentUpload: @unchecked Sendable {
  /// As announced.
  package let content: Content
  /// Bytes written so far.
  package private(set) var received: Int64 = 0
  private let store: ContentStore
  /// Nil when the upload is finished or discarded.
  private var file: OpenFile?
  private var hasher: SHA256Hasher? = SHA256Hasher()

  init(_ store: ContentStore, _ content: Content) throws(ContentStoreError) {
    self.store = store
    self.content = content
    file = try mapErrors { () throws(SystemError) in try store.temporaryFile() }
  }

  deinit {
    discard()
  }

  /// Appends bytes. Throws `.mismatch` if there are more than announced.
  package func write(_ data: Data) throws(ContentStoreError) {
    guard let file, Int64(data.count) <= content.size - received else {
      throw ContentStoreError(.mismatch, "the upload is longer than the announced \(content.size) bytes")
    }
    let result = data.withUnsafeBytes { bytes in
      hasher?.update(bytes)
      return Result { () throws(SystemError) in try file.write(bytes) }
    }
    try mapErrors { () throws(SystemError) in try result.get() }
    received += Int64(data.count)
  }

  /// Checks size and digest, and stores the content. Throws `.mismatch` if they are not as announced.
  package func finish() throws(ContentStoreError) {
    guard let file, received == content.size else {
      throw ContentStoreError(.mismatch, "the upload has \(received) bytes instead of the announced \(content.size)")
    }
    guard let actual = hasher.take()?.finalize(), actual == content.digest else {
      throw ContentStoreError(.mismatch, "the upload does not have the announced digest")
    }
    try mapErrors { () throws(SystemError) in
      try file.sync()
      try store.commit(file, to: store.path(of: content.digest))
    }
    self.file = nil
  }

  /// Removes what was written. Does nothing after `finish`.
  package func discard() {
    guard let file else { return }
    unlink(file.name)
    self.file = nil
  }
}

package import Digest
package import FoundationEssentials
import Glibc
import SystemSupport

/// Content that is being written to a content store. It is hashed as it is written, and exists under its digest only
/// after `finish` has checked it. Every method blocks.
///
/// An upload that is dropped leaves what it has written, if that is a mebibyte or more, as `temporary/partial-<digest>`
/// for a day, or until another upload needs the room. The next upload of the same content goes on from there. One
/// upload at a time writes that file; another one of the same content, of any process, writes a file of its own, of
/// which nothing is left.
///
/// Unchecked, and safe: one task at a time uses it, and calls its methods one after the other.
package final class ContentUpload: @unchecked Sendable {
  /// The fewest bytes that are kept for a later upload.
  static let smallestPartial: Int64 = 1 << 20

  /// As announced.
  package let content: Content
  /// Bytes written so far, those of an interrupted upload included.
  package private(set) var received: Int64 = 0
  /// How many of the bytes an interrupted upload left. Unless it is zero, `resume` must come before `write`.
  package let resumed: Int64
  private let store: ContentStore
  /// Nil when the upload is finished or discarded.
  private var file: OpenFile?
  private var hasher: BlockHasher? = BlockHasher()
  private let isPartial: Bool
  /// Whether blocks beyond the file's end are allocated for it.
  private var isAllocated = false
  /// Bytes that are counted by the store and not written yet, where blocks could not be allocated.
  private var reservation: Int64 = 0

  init(_ store: ContentStore, _ content: Content) throws(ContentStoreError) {
    self.store = store
    self.content = content
    let name = store.partialPath(of: content.digest)
    let (file, isPartial) = try mapErrors { () throws(SystemError) -> (OpenFile, Bool) in
      if let partial = try Self.openPartial(name) { return (partial, true) }
      return (try store.temporaryFile(), false)
    }
    let size = try mapErrors { () throws(SystemError) -> Int64 in
      let size = try Int64(file.status().st_size)
      let kept = size <= content.size ? size : 0
      // It also frees what a coordinator that was killed had reserved.
      try file.truncate(to: kept)
      return kept
    }
    self.file = file
    self.isPartial = isPartial
    resumed = size
  }

  deinit {
    keep()
  }

  /// The file of an interrupted upload, or a new one, locked for this upload; nil if another upload has it.
  private static func openPartial(_ path: String) throws(SystemError) -> OpenFile? {
    while true {
      let file = try ContentStore.makeTemporaryFile(path, O_RDWR | O_CREAT)
      guard try file.lockWithoutWaiting() else { return nil }
      // Between the two calls the upload that had the lock may have finished, and the file may be an object.
      if try file.isNamed { return file }
    }
  }

  /// Reserves the space of what is not written yet, so that uploads that are written at the same time, by any
  /// coordinator of the store, do not count on the same space. What interrupted uploads left is removed if that makes
  /// the room. Throws `.outOfSpace` if fewer than `minimumFree` bytes would be left on the disk.
  package func reserve(leaving minimumFree: Int64) throws(ContentStoreError) {
    guard let file else { return }
    isAllocated = try store.reserve(resumed..<content.size, of: file, leaving: minimumFree)
    if !isAllocated { reservation = content.size - resumed }
  }

  private func release(_ bytes: Int64) {
    store.release(min(bytes, reservation))
    reservation -= min(bytes, reservation)
  }

  /// Reads what an interrupted upload left, which the digest needs. Takes as long as reading that many bytes.
  package func resume() throws(ContentStoreError) {
    guard let file, resumed > 0, received == 0 else { return }
    do throws(SystemError) {
      hasher = try file.hashing(upTo: resumed)
    } catch {
      throw ContentStoreError(error)
    }
    received = resumed
  }

  /// Appends bytes. Throws `.mismatch` if there are more than announced, `.outOfSpace` if the disk is full and no
  /// remains of interrupted uploads can be removed for the rest.
  package func write(_ data: Data) throws(ContentStoreError) {
    guard let file, Int64(data.count) <= content.size - received else {
      throw ContentStoreError(.mismatch, "the upload is longer than the announced \(content.size) bytes")
    }
    do throws(SystemError) {
      try put(data, to: file)
    } catch {
      guard error.isOutOfSpace, store.removeRemains(freeing: content.size - received) > 0 else {
        throw ContentStoreError(error)
      }
      try mapErrors { () throws(SystemError) in try put(data, to: file) }
    }
    data.withUnsafeBytes { hasher?.update($0) }
    received += Int64(data.count)
    release(Int64(data.count))
  }

  private func put(_ data: Data, to file: OpenFile) throws(SystemError) {
    try data.withUnsafeBytes { bytes in
      Result { () throws(SystemError) in try file.write(bytes, at: received) }
    }.get()
  }

  /// Checks size and digest, and stores the content. Throws `.mismatch` if they are not as announced, `.interrupted` if
  /// that may be the fault of what an interrupted upload left; either way nothing is left of the upload.
  package func finish() throws(ContentStoreError) {
    guard let file, received == content.size else {
      throw ContentStoreError(.mismatch, "the upload has \(received) bytes instead of the announced \(content.size)")
    }
    guard let blocks = hasher.take()?.finalize(), blocks.content == content else {
      discard()
      guard resumed == 0 else {
        throw ContentStoreError(.interrupted, "what an interrupted upload left was damaged, and is removed")
      }
      throw ContentStoreError(.mismatch, "the upload does not have the announced digest")
    }
    // Before the object, so that whoever finds the object finds its blocks.
    store.blocks.save(blocks)
    try mapErrors { () throws(SystemError) in
      try file.sync()
      try store.commit(file, to: store.path(of: content.digest))
    }
    self.file = nil
  }

  /// Ends the upload and keeps what was written for the next one of the same content, if it is worth it. Does nothing
  /// after `finish` or `discard`.
  /// - Parameter isPromised: Whether its client counts on it, however little it is.
  package func keep(isPromised: Bool = false) {
    guard isPartial, isPromised || max(received, resumed) >= Self.smallestPartial else { return discard() }
    release(reservation)
    // Frees the blocks that are reserved and not written. If that fails, the next upload of the content frees them.
    if isAllocated, let file, let size = try? file.status().st_size { try? file.truncate(to: Int64(size)) }
    // The descriptor is closed, and the lock with it.
    file = nil
  }

  /// Ends the upload and removes what was written. Does nothing after `finish` or `keep`.
  package func discard() {
    release(reservation)
    guard let file else { return }
    unlink(file.name)
    self.file = nil
  }
}

extension ContentStore {
  /// The bytes that an upload of the content has left, or has written up to now. 0: there are none.
  package func partialSize(of digest: SHA256Digest) -> Int64 {
    var status = stat()
    return stat(partialPath(of: digest), &status) == 0 ? Int64(status.st_size) : 0
  }

  func partialPath(of digest: SHA256Digest) -> String { partialPrefix + digest.hex }
}

extension OpenFile {
  /// A hasher that has the file's first `count` bytes. Throws `EIO` if there are fewer.
  fileprivate func hashing(upTo count: Int64) throws(SystemError) -> BlockHasher {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var hasher = BlockHasher()
    var offset: Int64 = 0
    while offset < count {
      let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(Int64(buffer.count), count - offset))])
      guard try read(into: wanted, at: offset) == wanted.count else {
        throw SystemError(EIO, "reading \(name), which has become shorter,")
      }
      hasher.update(UnsafeRawBufferPointer(wanted))
      offset += Int64(wanted.count)
    }
    return hasher
  }
}

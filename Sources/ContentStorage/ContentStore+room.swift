import CFiles
import Glibc
import Synchronization
import SystemSupport

// The room on the disk for uploads. An upload allocates the space of all that it will write before it begins, so that
// the file system accounts for it: no other upload, of this coordinator or of another one with the same store, counts
// on that space. What interrupted uploads left is removed when the room is needed.

extension ContentStore {
  /// Reserves the space of what an upload will write to its file. Throws `.outOfSpace` if fewer than `minimumFree`
  /// bytes would be left on the disk, and no remains of interrupted uploads can be removed for it.
  /// - Parameter range: The range of bytes of the file.
  /// - Returns: Whether the space is allocated. If not, because the file system cannot, it is counted in this process
  ///   until `release`.
  func reserve(
    _ range: Range<Int64>, of file: OpenFile, leaving minimumFree: Int64
  ) throws(ContentStoreError) -> Bool {
    let bytes = Int64(range.count)
    var missing = try missing(for: bytes, leaving: minimumFree)
    if missing > 0, removeRemains(freeing: missing) > 0 {
      missing = try self.missing(for: bytes, leaving: minimumFree)
    }
    guard missing == 0 else { throw try noRoom(for: bytes, leaving: minimumFree) }
    let isAllocated = try mapErrors { () throws(SystemError) in try file.allocate(range) }
    guard isAllocated else {
      reserved.withLock { $0 += bytes }
      return false
    }
    // Another coordinator may have reserved space in between.
    guard try self.missing(for: 0, leaving: minimumFree) > 0 else { return true }
    try mapErrors { () throws(SystemError) in try file.truncate(to: range.lowerBound) }
    throw try noRoom(for: bytes, leaving: minimumFree)
  }

  /// Gives back bytes that were counted in this process.
  func release(_ bytes: Int64) {
    reserved.withLock { $0 -= bytes }
  }

  private func missing(for bytes: Int64, leaving minimumFree: Int64) throws(ContentStoreError) -> Int64 {
    let free = max(0, try availableBytes() - reserved.withLock { $0 })
    // A peer may announce any size.
    let (missing, isBeyond) = (minimumFree - free).addingReportingOverflow(bytes)
    return isBeyond ? .max : max(0, missing)
  }

  private func noRoom(for bytes: Int64, leaving minimumFree: Int64) throws(ContentStoreError) -> ContentStoreError {
    let free = try availableBytes() - reserved.withLock { $0 }
    return ContentStoreError(
      .outOfSpace,
      """
      the disk has \(ByteCount.text(max(0, free))) left beside other uploads, and \(ByteCount.text(minimumFree)) must stay \
      free beside the \(ByteCount.text(bytes)) of this one
      """)
  }

  // MARK: What interrupted uploads left

  /// Removes what interrupted uploads left, the oldest first, until so many bytes are free that were not. Removes
  /// nothing if all of it together is less. What an open upload writes is locked and stays.
  /// - Returns: The bytes that were freed.
  package func removeRemains(freeing missing: Int64) -> Int64 {
    let remains = Directories.files(in: directory + "/temporary")
      .filter { $0.path.hasPrefix(partialPrefix) }.sorted { $0.modified < $1.modified }
      .compactMap { remains in lock(remains).map { (file: $0, bytes: remains.allocatedSize) } }
    guard remains.reduce(0, { $0 + $1.bytes }) >= missing else { return 0 }
    var freed: Int64 = 0
    for (file, bytes) in remains where freed < missing {
      guard unlink(file.name) == 0 else { continue }
      freed += bytes
    }
    return freed
  }

  /// Opens and locks what an interrupted upload left. Nil if an upload goes on with it, or has finished it.
  private func lock(_ remains: Directories.File) -> OpenFile? {
    guard let file = try? OpenFile.open(remains.path, O_RDWR), (try? file.lockWithoutWaiting()) == true,
      (try? file.isNamed) == true
    else { return nil }
    return file
  }

  var partialPrefix: String { "\(directory)/temporary/partial-" }
}

extension OpenFile {
  /// Whether the file still has the name under which it was opened.
  var isNamed: Bool {
    get throws(SystemError) {
      var named = stat()
      let status = try status()
      return stat(name, &named) == 0 && named.st_ino == status.st_ino && named.st_dev == status.st_dev
    }
  }

  /// Allocates the blocks of a range and leaves the file's size. Returns false if the file system has no such
  /// operation.
  fileprivate func allocate(_ range: Range<Int64>) throws(SystemError) -> Bool {
    if range.isEmpty { return true }
    let status = files_allocate(descriptor, off_t(range.lowerBound), off_t(range.count))
    if status == 0 { return true }
    if [-EOPNOTSUPP, -ENOSYS].contains(status) { return false }
    throw SystemError(-status, "reserving \(ByteCount.text(Int64(range.count))) for \(name)")
  }
}

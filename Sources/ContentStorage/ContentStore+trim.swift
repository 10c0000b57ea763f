package import Digest
import Glibc
import Synchronization
import SystemSupport

// What the store removes by itself: the objects that were not used for longest, entries whose content is gone, and what
// interrupted uploads left.

extension ContentStore {
  /// Objects that were made or used within this time, in seconds, are never trimmed: an upload may have just arrived
  /// for a job that is being submitted. Longer than `useInterval`, so that every use that is not recorded is within it.
  static let trimAge: Double = 900
  /// How long what an interrupted upload left is kept, in seconds, unless the room is needed.
  static let partialAge: Double = 86_400
  /// How long a note stays after its result, in seconds: a job that has ended reports what is in it.
  static let noteAge: Double = 90 * 86_400
  /// How often entries are looked through if no object was removed, in seconds.
  static let entryInterval: Double = 3600
  /// The most entries of results, and the most of places.
  static let maximumEntries = 1_000_000

  /// Removes objects until those that are left take at most `limit` bytes of the disk: the one that was not used for
  /// longest first. Objects that were made or used within the last quarter of an hour stay, and so do those in
  /// `keeping`, so the store may be larger than `limit` afterwards. What refers to removed objects goes too. Takes as
  /// long as reading the attributes of every file of the store.
  /// - Parameters:
  ///   - limit: In bytes on the disk, as `du` counts them.
  ///   - keeping: What open jobs need, and films that were not fetched. It must have been complete within the last
  ///     minutes.
  /// - Returns: The bytes that were freed.
  package func trim(to limit: Int64, keeping: Set<SHA256Digest>) throws(ContentStoreError) -> Int64 {
    try trim(to: limit, keeping: keeping, at: Double(time(nil)))
  }

  /// - Parameter now: Seconds since 1970.
  func trim(to limit: Int64, keeping: Set<SHA256Digest>, at now: Double) throws(ContentStoreError) -> Int64 {
    removeLeftovers(at: now)
    let objects = files(of: "objects")
    var total = objects.reduce(0) { $0 + $1.file.allocatedSize }
    var freed: Int64 = 0
    for object in objects.sorted(by: { $0.lastUse < $1.lastUse }) where total > limit {
      guard now - object.lastUse > Self.trimAge else { break }
      guard !keeping.contains(object.digest), try removeUnused(object.digest, at: now) else { continue }
      total -= object.file.allocatedSize
      freed += object.file.allocatedSize
    }
    let isDue = entriesRemoved.withLock { last in
      guard freed > 0 || now - last > Self.entryInterval else { return false }
      last = now
      return true
    }
    if isDue { removeEntries(keeping: keeping, at: now) }
    return freed
  }

  /// Removes an object unless it was used meanwhile. It is moved away first: whoever looks for it afterwards does not
  /// find it, and whoever has found it before has recorded its use.
  private func removeUnused(_ digest: SHA256Digest, at now: Double) throws(ContentStoreError) -> Bool {
    let (path, aside) = (path(of: digest), "\(directory)/temporary/trimmed-\(digest.hex)")
    guard rename(path, aside) == 0 else {
      // Another coordinator has removed it.
      if errno == ENOENT { return false }
      throw ContentStoreError(SystemError(errno, "removing \(path)"))
    }
    var status = stat()
    if stat(aside, &status) == 0, now - Double(max(status.st_atim.tv_sec, status.st_mtim.tv_sec)) <= Self.trimAge {
      // Fails only if the content was uploaded again meanwhile.
      _ = link(aside, path)
      unlink(aside)
      return false
    }
    unlink(aside)
    blocks.remove(digest)
    return true
  }

  /// What the content takes of the disk, as `du` counts it. Takes as long as reading the attributes of every object.
  package func contentBytes() -> Int64 { files(of: "objects").reduce(0) { $0 + $1.file.allocatedSize } }

  /// Removes temporary files that no upload writes any more: what interrupted uploads left after a day, others after an
  /// hour.
  package func removeLeftovers() {
    removeLeftovers(at: Double(time(nil)))
  }

  /// - Parameter age: In seconds. Of interrupted uploads, which are kept for longer, only the oldest go.
  func removeLeftovers(olderThan age: Double = 3600, at now: Double) {
    for file in Directories.files(in: directory + "/temporary") {
      let isPartial = file.path.hasPrefix(partialPrefix)
      if now - file.modified > (isPartial ? max(age, Self.partialAge) : age) { unlink(file.path) }
    }
  }

  // MARK: Entries

  /// Removes entries of results that the store does not have, and of places at which there is no file any more. Entries
  /// of the last minutes stay, and places of content in `keeping`: a media root may be away for a while.
  private func removeEntries(keeping: Set<SHA256Digest>, at now: Double) {
    var known: [SHA256Digest: Bool] = [:]
    removeEntries("fingerprints", at: now) { entry in
      let entry = text(of: entry.file.path, limit: ResultCache.longestEntry)
      guard let result = ResultCache.decode(entry)?.content else { return false }
      if let exists = known[result.digest] { return exists }
      let exists = size(of: result.digest) != nil
      known[result.digest] = exists
      return exists
    }
    removeEntries("blocks", at: now) { entry in
      keeping.contains(entry.digest) || size(of: entry.digest) != nil
        || access(self.entry("places", entry.digest), F_OK) == 0
    }
    removeEntries("notes", at: now) { entry in
      keeping.contains(entry.digest) || size(of: entry.digest) != nil || now - entry.file.modified < Self.noteAge
    }
    removeEntries("places", at: now) { entry in
      if keeping.contains(entry.digest) { return true }
      guard let path = text(of: entry.file.path, limit: 8192) else { return false }
      return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }
  }

  private func removeEntries(_ kind: String, at now: Double, isOfUse: (StoredFile) -> Bool) {
    var entries = files(of: kind).filter { entry in
      if now - entry.file.modified <= Self.trimAge || isOfUse(entry) { return true }
      unlink(entry.file.path)
      return false
    }
    guard entries.count > Self.maximumEntries else { return }
    entries.sort { $0.file.modified < $1.file.modified }
    for entry in entries.prefix(entries.count - Self.maximumEntries) { unlink(entry.file.path) }
  }

  // MARK: Listing

  /// A file whose name is a digest.
  private struct StoredFile {
    let digest: SHA256Digest
    let file: Directories.File

    var lastUse: Double { max(file.accessed, file.modified) }
  }

  private func files(of kind: String) -> [StoredFile] {
    DigestFolder(directory: "\(directory)/\(kind)").files.compactMap { file in
      SHA256Digest(hex: file.path.suffix(64)).map { StoredFile(digest: $0, file: file) }
    }
  }
}

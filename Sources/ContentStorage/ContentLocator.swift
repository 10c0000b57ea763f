package import Digest
package import FoundationEssentials
import Glibc
import Synchronization
package import SystemSupport

/// Finds content in the content store, or in a file under the media root that coordinator and workers share. Every method
/// blocks.
///
/// The path at which a file was found is recorded in `places/` of the store's folder, as a hint for the next time.
package final class ContentLocator: Sendable {
  package let store: ContentStore
  private let contents: FileContentCache
  /// Symbolic links are resolved. Without a slash at the end, so `/` is empty. Nil: there is no media root.
  private let root: String?

  /// - Parameter mediaRoot: Nil: content is in the store only.
  package init(
    store: ContentStore, mediaRoot: String?, contents: FileContentCache
  ) throws(ContentStoreError) {
    self.store = store
    self.contents = contents
    guard let mediaRoot else {
      root = nil
      return
    }
    let path = try mapErrors { () throws(SystemError) in try Directories.resolve(mediaRoot) }
    root = path == "/" ? "" : path
  }

  /// Whether the content is available.
  /// - Parameter hint: The path of the file at the client. A file at that path, or at an end of that path under the media
  ///   root, is the content if it is under the media root and has its size and digest.
  package func has(_ content: Content, hint: String = "") -> Bool {
    store.contains(content) || rootedPath(of: content.digest, size: content.size, hint: hint) != nil
  }

  /// The content's path relative to the media root; nil if it is not there and a worker has to read it from the
  /// coordinator.
  package func sharedPath(of content: Content) -> String? {
    guard let root else { return nil }
    if let path = rootedPath(of: content.digest, size: content.size, hint: "") {
      return String(path.dropFirst(root.count + 1))
    }
    let path = store.path(of: content.digest)
    guard path.hasPrefix(root + "/"), store.contains(content) else { return nil }
    return String(path.dropFirst(root.count + 1))
  }

  /// Reads up to `length` bytes of content from `offset`; fewer only at its end. Throws `.missing` if the content is not
  /// available.
  package func read(_ digest: SHA256Digest, offset: UInt64, length: Int) throws(ContentStoreError) -> Data {
    let path: String
    if store.size(of: digest) != nil {
      path = store.path(of: digest)
    } else if let found = rootedPath(of: digest, size: nil, hint: "") {
      path = found
    } else {
      throw ContentStoreError(.missing, "the coordinator does not have the content \(digest)")
    }
    return try mapErrors { () throws(SystemError) in
      let file = try OpenFile.open(path)
      let size = try UInt64(file.status().st_size)
      guard offset < size else { return Data() }
      var data = Data(count: Int(min(UInt64(length), size - offset)))
      let read = data.withUnsafeMutableBytes { buffer in
        Result { () throws(SystemError) in try file.read(into: buffer, at: Int64(offset)) }
      }
      // Fewer bytes would tell the reader that the content ends here.
      guard try read.get() == data.count else { throw SystemError(EIO, "reading \(path), which has become shorter,") }
      return data
    }
  }

  private func rootedPath(of digest: SHA256Digest, size: Int64?, hint: String) -> String? {
    guard let root else { return nil }
    let entry = store.entry("places", digest)
    let known = store.text(of: entry, limit: 8192)
    for path in candidates(known, hint, root) where has(path, digest, size: size, root: root) {
      if known != path {
        // It is a hint for the next time and for other coordinators. Without it the file is searched for again.
        try? store.write(path, to: entry)
      }
      return path
    }
    return nil
  }

  private func candidates(_ known: String?, _ hint: String, _ root: String) -> [String] {
    var candidates = known.map { [$0] } ?? []
    guard !hint.isEmpty, hint.utf8.count < 4096 else { return candidates }
    if hint.hasPrefix("/") { candidates.append(hint) }
    let parts = hint.split(separator: "/")
    guard !parts.contains("..") else { return candidates }
    for start in parts.indices { candidates.append(root + "/" + parts[start...].joined(separator: "/")) }
    return candidates
  }

  /// Whether the file at this path is under the media root and has this size and digest.
  private func has(_ path: String, _ digest: SHA256Digest, size: Int64?, root: String) -> Bool {
    // A file that cannot be resolved, opened or read is not the content.
    guard let resolved = try? Directories.resolve(path), resolved.hasPrefix(root + "/"),
      let file = try? OpenFile.open(resolved, O_RDONLY | O_NONBLOCK), let identity = try? FileIdentity(of: file)
    else { return false }
    // The size first: otherwise a client could make the coordinator hash every file that has a given name.
    if let size, identity.size != size { return false }
    return (try? contents.content(of: file))?.digest == digest
  }
}

/// The contents of files that were read before and have not changed since: each file is read for its digest once.
package final class FileContentCache: Sendable {
  private static let maximumCount = 100_000

  private let contents = Mutex<[FileIdentity: Content]>([:])

  package init() {}

  /// The digest and the size of an open file. Reads the file unless it was read before and has not changed. Blocks.
  /// Throws `.system` if the file is not a regular one, `.mismatch` if it changes while it is read.
  package func content(of file: OpenFile) throws(ContentStoreError) -> Content {
    let (before, found, after) = try mapErrors { () throws(SystemError) in
      let before = try FileIdentity(of: file)
      if let known = contents.withLock({ $0[before] }) { return (before, known, before) }
      return (before, try file.content(), try FileIdentity(of: file))
    }
    guard after == before, found.size == before.size else {
      throw ContentStoreError(.mismatch, "\(file.name) changed while it was read")
    }
    contents.withLock { contents in
      if contents.count >= Self.maximumCount { contents = [:] }
      contents[before] = found
    }
    return found
  }
}

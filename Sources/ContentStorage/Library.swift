import Digest
import FoundationEssentials
import Glibc
import Jobs
import Wire

/// Content, wherever it stands: in the vault or under the media root that this farm's machines share. Blocks.
final class Library: Sendable {
  let vault: Vault
  private let digests: DigestCache
  /// Symbolic links resolved; without a slash at the end, so the root of all is empty. Nil: there is none.
  private let root: String?

  init(vault: Vault, mediaRoot: String?, digests: DigestCache) throws(VaultError) {
    self.vault = vault
    self.digests = digests
    guard let mediaRoot else {
      root = nil
      return
    }
    guard let resolved = realpath(mediaRoot, nil) else {
      throw .system("opening the media root \(mediaRoot)", errno: errno)
    }
    defer { free(resolved) }
    let path = String(cString: resolved)
    root = path == "/" ? "" : path
  }

  /// Whether the content is to be had. A file that a client names by its own path is looked for at that path and at
  /// each of its tails under the media root; it counts when it lies there, has the size, and has the digest.
  func has(_ digest: SHA256Digest, size: Int64, hint: String = "") -> Bool {
    if vault.size(of: digest) == size { return true }
    return rootedPath(of: digest, size: size, hint: hint) != nil
  }

  /// Where the content stands relative to the media root; nil where a worker has to ask for its bytes.
  func sharedPath(of digest: SHA256Digest, size: Int64) -> String? {
    guard let root else { return nil }
    if let path = rootedPath(of: digest, size: size, hint: "") { return String(path.dropFirst(root.count + 1)) }
    let path = vault.path(of: digest)
    guard path.hasPrefix(root + "/"), vault.size(of: digest) == size else { return nil }
    return String(path.dropFirst(root.count + 1))
  }

  /// Bytes of content; fewer than asked only at its end. Throws `.missing` where it is not to be had any more.
  func read(_ digest: SHA256Digest, offset: UInt64, length: Int) throws -> Data {
    let path: String
    if vault.size(of: digest) != nil {
      path = vault.path(of: digest)
    } else if let found = rootedPath(of: digest, size: nil, hint: "") {
      path = found
    } else {
      throw VaultError(.missing, "the coordinator does not have the content \(digest)")
    }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw VaultError.system("opening \(path)", errno: errno) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw VaultError.system("reading \(path)", errno: errno) }
    let size = UInt64(status.st_size)
    guard offset < size else { return Data() }
    return try FileChunk.readNow(file, offset: offset, length: Int(min(UInt64(length), size - offset)))
  }

  private func rootedPath(of digest: SHA256Digest, size: Int64?, hint: String) -> String? {
    guard let root else { return nil }
    for path in candidates(vault.place(of: digest), hint, root) where isThis(path, digest, size: size, root: root) {
      if vault.place(of: digest) != path {
        // Only a hint for the next time, and for other coordinators.
        try? vault.note(place: path, of: digest)
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

  private func isThis(_ path: String, _ digest: SHA256Digest, size: Int64?, root: String) -> Bool {
    guard let resolved = realpath(path, nil) else { return false }
    defer { free(resolved) }
    guard String(cString: resolved).hasPrefix(root + "/") else { return false }
    let file = open(resolved, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    // The size first: hashing every file that shares a name would be a way to keep a coordinator busy.
    if let size, Int64(status.st_size) != size { return false }
    guard let found = try? digests.digest(of: file, name: path) else { return false }
    return found.digest == digest
  }
}

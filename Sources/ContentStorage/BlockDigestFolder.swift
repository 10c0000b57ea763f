package import Digest
import Glibc
import Synchronization
import SystemSupport

/// Lists of block digests in a folder, a file `ab/<sha256>` for each content of more than one block. Every method
/// blocks.
///
/// A list is made in the pass over the content that finds the content's own digest, and only those of such passes are
/// saved here. A file ends with the SHA-256 of all before it, so a list that a disk fault changed is not used. What is
/// missing is made again by reading the content, so nothing that goes wrong is reported.
package final class BlockDigestFolder: Sendable {
  private static let magic = Array("SHEAFBLK".utf8)
  private static let version: UInt32 = 1
  /// Magic, version, the block size as a power of two, the content's digest and size.
  private static let headSize = 8 + 4 + 4 + 32 + 8
  /// How many lists are saved before the oldest of those beyond the limit are removed.
  private static let pruneInterval = 1000

  private let folder: DigestFolder
  private let maximumCount: Int?
  private let saved = Mutex(0)
  /// The list that was read last: content is mostly read from its beginning to its end, a part at a time.
  private let recent = Mutex<BlockDigests?>(nil)

  /// - Parameter maximumCount: How many lists are kept: those that were made last. Nil: as many as there are.
  package init(directory: String, maximumCount: Int? = nil) {
    folder = DigestFolder(directory: directory)
    self.maximumCount = maximumCount
  }

  /// The list of content; nil if there is none, or only a damaged one.
  package func list(of content: Content) -> BlockDigests? {
    if let single = BlockDigests(ofSingleBlock: content) { return single }
    if let recent = recent.withLock({ $0 }), recent.content == content { return recent }
    let count = BlockDigests.byteCount(of: content.size)
    let limit = Self.headSize + count + BlockDigests.digestSize
    let path = folder.path(of: content.digest)
    guard let bytes = try? OpenFile.contents(of: path, limit: limit), bytes.count == limit else { return nil }
    let root = SHA256Digest.of(bytes.dropLast(BlockDigests.digestSize)).bytes
    guard bytes.suffix(BlockDigests.digestSize).elementsEqual(root), bytes.starts(with: Self.head(content)) else {
      return nil
    }
    let list = BlockDigests(content, bytes: Array(bytes[Self.headSize..<(Self.headSize + count)]))
    recent.withLock { $0 = list }
    return list
  }

  /// Saves a list. It is not synced: a file that a crash damaged is ignored.
  package func save(_ list: BlockDigests) {
    guard list.content.size > ContentBlock.size else { return }
    var bytes = Self.head(list.content) + list.bytes
    bytes += SHA256Digest.of(bytes).bytes
    let path = folder.path(of: list.content.digest)
    // What this folder is in is not made: it may be a disk that is away.
    mkdir(folder.directory, 0o755)
    mkdir(Directories.parent(of: path), 0o755)
    // Whoever reads it before it is whole sees that. Who writes it at the same time writes the same bytes.
    guard let file = try? OpenFile.open(path, O_WRONLY | O_CREAT) else { return }
    try? file.write(bytes)
    try? file.truncate(to: Int64(bytes.count))
    let isDue = saved.withLock { saved in
      defer { saved += 1 }
      return saved % Self.pruneInterval == 0
    }
    if isDue { prune() }
  }

  /// Removes the list of content. Does nothing if there is none.
  package func remove(_ digest: SHA256Digest) {
    unlink(folder.path(of: digest))
    recent.withLock { if $0?.content.digest == digest { $0 = nil } }
  }

  /// Removes the oldest lists beyond the limit.
  private func prune() {
    guard let maximumCount else { return }
    var files = folder.files
    guard files.count > maximumCount else { return }
    files.sort { $0.modified < $1.modified }
    for file in files.prefix(files.count - maximumCount) { unlink(file.path) }
  }

  private static func head(_ content: Content) -> [UInt8] {
    magic + bytes(version) + bytes(UInt32(ContentBlock.size.trailingZeroBitCount)) + content.digest.bytes
      + bytes(UInt64(content.size))
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}

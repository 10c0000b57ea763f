package import Digest
import Synchronization
package import SystemSupport

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

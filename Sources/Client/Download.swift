import Digest
import FoundationEssentials
import Glibc
import Wire

/// Fetches a film from the coordinator into an output file.
struct Download: Sendable {
  let client: CoordinatorClient
  let digest: SHA256Digest
  let size: UInt64

  /// Reads in ranges, several at once, and gives the file its name when it is complete.
  func write(to output: OutputFile) async throws {
    do {
      let file = try await BlockingWork.run { try output.open() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        var offset: UInt64 = 0
        var underWay = 0
        while offset < size {
          if underWay == WireProtocol.readWindow / 2 {
            try await group.next()
            underWay -= 1
          }
          let start = offset
          let length = Int(min(UInt64(WireProtocol.maximumChunk), size - start))
          group.addTask { try await copy(start, length, to: file, name: output.path) }
          underWay += 1
          offset += UInt64(length)
        }
        try await group.waitForAll()
      }
      try await BlockingWork.run { try output.commit(digest) }
    } catch {
      output.discard()
      throw error
    }
  }

  private func copy(_ offset: UInt64, _ length: Int, to file: Int32, name: String) async throws {
    let data = try await client.content.read(digest, offset: offset, length: length)
    guard data.count == length else { throw WireError(.content, "the film is shorter than it was said to be") }
    try await BlockingWork.run {
      try data.withUnsafeBytes { bytes in
        var done = 0
        while done < bytes.count {
          let count = pwrite(file, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
          if count < 0 {
            if errno == EINTR { continue }
            throw VaultError.system("writing \(name)", errno: errno)
          }
          done += count
        }
      }
    }
  }
}

import Digest
import Foundation

@testable import Worker

extension BlockDigests {
  /// The list of bytes in memory, made block by block.
  static func list(of data: Data) -> BlockDigests {
    let size = Int(ContentBlock.size)
    let digests = stride(from: 0, to: data.count, by: size).flatMap { start in
      SHA256Digest.of([UInt8](data)[start..<min(start + size, data.count)]).bytes
    }
    guard let list = BlockDigests(Content(digest: .of(data), size: Int64(data.count)), bytes: digests) else {
      preconditionFailure("a digest for each block")
    }
    return list
  }
}

extension ContentReader {
  static func failing(_ error: any Error & Sendable) -> ContentReader {
    ContentReader(read: { _, _, _ in throw error }, readBlocks: { _, _, _ in throw error })
  }
}

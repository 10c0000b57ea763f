import Foundation
import Media

/// A temporary folder that is gone when its owner is.
final class Scratch {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("sheaf-media-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// An empty file, opened for reading and writing.
  func create(_ name: String) throws -> FileHandle {
    try Data().write(to: URL(fileURLWithPath: path(name)))
    return try FileHandle(forUpdating: URL(fileURLWithPath: path(name)))
  }
}

func opened(_ path: String) throws -> FileByteSource {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be opened") }
  return FileByteSource(descriptor: descriptor)
}

/// Bytes in memory.
final class MemorySource: ByteSource {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var byteCount: Int64 { Int64(bytes.count) }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    guard offset < byteCount else { return 0 }
    let count = min(buffer.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(count)))
    }
    return count
  }
}

import Glibc
import Media
import Synchronization

/// An input whose file the agent fills while the task reads: asks for what is not there yet, then reads the file.
final class RangedByteSource: ByteSource {
  let byteCount: Int64
  private let file: OpenFile
  private let input: Int
  private let name: String
  private let link: AgentLink
  /// Whether each block is known to be in the file.
  private let present: Mutex<[Bool]>

  init(file: OpenFile, input: Int, size: Int64, name: String, link: AgentLink) {
    byteCount = size
    self.file = file
    self.input = input
    self.name = name
    self.link = link
    present = Mutex(Array(repeating: false, count: ContentBlock.count(of: size)))
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    let end = min(byteCount, offset + Int64(buffer.count))
    guard offset < end else { return 0 }
    try fetch(ContentBlock.covering(offset..<end))
    while true {
      let count = pread(file.descriptor, buffer.baseAddress, Int(end - offset), off_t(offset))
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      let reason = count == 0 ? "the cache file is shorter than its content" : String(cString: strerror(errno))
      throw MediaError(.io, operation: "reading", subject: name, message: reason)
    }
  }

  private func fetch(_ blocks: Range<Int>) throws(MediaError) {
    let missing = present.withLock { present in blocks.filter { !present[$0] } }
    guard let first = missing.first, let last = missing.last else { return }
    let range = ContentBlock.bytes(of: first..<(last + 1), size: byteCount)
    if let loss = link.need(input: input, range: range) {
      throw MediaError(.io, operation: "fetching", subject: name, message: loss)
    }
    present.withLock { present in
      for block in first...last { present[block] = true }
    }
  }
}

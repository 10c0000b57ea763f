/// Reads a byte source from its first byte to its last, through a buffer.
struct ByteCursor: ~Copyable {
  let source: any ByteSource
  private let buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// Of the next byte to be taken.
  private(set) var offset: Int64 = 0

  init(_ source: any ByteSource, capacity: Int = 256 * 1024) {
    self.source = source
    buffer = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit {
    buffer.deallocate()
  }

  /// Bytes not taken yet.
  var remaining: Int64 { max(0, source.byteCount - offset) }

  /// Fills all of `target` with the next bytes; false where the source ends before.
  mutating func take(into target: UnsafeMutableRawBufferPointer) throws(MediaError) -> Bool {
    var done = 0
    while done < target.count {
      if start == end {
        start = 0
        end = 0
        let wanted = target.count - done
        if wanted >= buffer.count {
          let count = try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: target[done...]))
          if count == 0 { return false }
          done += count
          offset += Int64(count)
          continue
        }
        end = try source.read(at: offset, into: buffer)
        if end == 0 { return false }
      }
      let count = min(end - start, target.count - done)
      let part = UnsafeRawBufferPointer(rebasing: buffer[start..<(start + count)])
      UnsafeMutableRawBufferPointer(rebasing: target[done...]).copyMemory(from: part)
      start += count
      done += count
      offset += Int64(count)
    }
    return true
  }

  /// Fills all of `target` with the next bytes; false where the source ends before.
  mutating func take(into target: inout [UInt8]) throws(MediaError) -> Bool {
    try target.withUnsafeMutableBufferPointer { bytes throws(MediaError) in
      try take(into: UnsafeMutableRawBufferPointer(bytes))
    }
  }

  /// The next little-endian integer; nil where the source ends before.
  mutating func take<T: FixedWidthInteger>(_: T.Type) throws(MediaError) -> T? {
    var value: T = 0
    let isWhole = try withUnsafeMutableBytes(of: &value) { bytes throws(MediaError) in try take(into: bytes) }
    return isWhole ? T(littleEndian: value) : nil
  }
}

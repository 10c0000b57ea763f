/// Whether a file of the mov family is in fragments (`moof` boxes).
enum MovieFragments {
  /// Walks the boxes of the file's top level.
  static func areIn(_ source: any ByteSource) throws(MediaError) -> Bool {
    var offset: Int64 = 0
    var boxes = 0
    while offset <= source.byteCount - 8, boxes < 100_000 {
      var head = [UInt8](repeating: 0, count: 16)
      let count = try head.withUnsafeMutableBufferPointer { buffer throws(MediaError) in
        try source.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
      guard count >= 8 else { return false }
      if head[4..<8].elementsEqual("moof".utf8) { return true }
      var size = head[0..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      if size == 1, count == 16 { size = head[8..<16].reduce(Int64(0)) { $0 << 8 | Int64($1) } }
      guard size >= 8, size <= source.byteCount - offset else { return false }
      offset += size
      boxes += 1
    }
    return false
  }
}

internal import CMedia

/// Encoded data with its timestamps.
package final class Packet {
  let pointer: UnsafeMutablePointer<AVPacket>

  /// An empty packet for a demuxer or encoder to fill.
  init() throws(MediaError) {
    pointer = try allocated(av_packet_alloc(), "making a packet")
  }

  /// A packet of `byteCount` bytes, their contents undefined.
  init(byteCount: Int) throws(MediaError) {
    pointer = try allocated(av_packet_alloc(), "making a packet")
    guard let size = Int32(exactly: byteCount), av_new_packet(pointer, size) >= 0 else {
      throw MediaError(
        .outOfMemory, operation: "making", subject: "a packet", message: "there is no room for \(byteCount) bytes")
    }
  }

  /// Another packet on the same bytes.
  convenience init(referencing other: Packet) throws(MediaError) {
    try self.init()
    try check(av_packet_ref(pointer, other.pointer), "sharing", "a packet")
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = pointer
    av_packet_free(&packet)
  }

  /// Presentation time in ticks of the track's timebase.
  package var pts: Int64 {
    get { pointer.pointee.pts }
    set { pointer.pointee.pts = newValue }
  }

  /// Decoding time in ticks of the track's timebase.
  package var dts: Int64 {
    get { pointer.pointee.dts }
    set { pointer.pointee.dts = newValue }
  }

  /// Whether a presentation time is stored.
  package var hasPresentationTime: Bool { pts != sheaf_no_pts }
  /// The decoding time, or the presentation time of a packet that has none.
  package var decodingTime: Int64 { dts == sheaf_no_pts ? pts : dts }

  /// In ticks of the track's timebase; 0 if unknown.
  package var duration: Int64 {
    get { pointer.pointee.duration }
    set { pointer.pointee.duration = newValue }
  }

  /// Whether decoding can start here.
  package var isKeyframe: Bool {
    get { pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    set {
      if newValue { pointer.pointee.flags |= AV_PKT_FLAG_KEY } else { pointer.pointee.flags &= ~AV_PKT_FLAG_KEY }
    }
  }

  /// Whether the packet is decoded for the packets that depend on it, and not presented itself.
  var isDiscarded: Bool {
    get { pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }
    set {
      let others = pointer.pointee.flags & ~AV_PKT_FLAG_DISCARD
      pointer.pointee.flags = newValue ? others | AV_PKT_FLAG_DISCARD : others
    }
  }

  package var byteCount: Int { Int(pointer.pointee.size) }

  /// The encoded bytes. The buffer is valid inside `body` only.
  package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: pointer.pointee.data, count: byteCount))
  }

  func withMutableBytes<R>(
    _ body: (UnsafeMutableRawBufferPointer) throws(MediaError) -> R
  ) throws(MediaError) -> R {
    try body(UnsafeMutableRawBufferPointer(start: pointer.pointee.data, count: byteCount))
  }

  /// Samples to remove from the beginning and the end of the decoded packet.
  var skippedSamples: (start: UInt32, end: UInt32) {
    var size = 0
    guard let data = av_packet_get_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 8 else { return (0, 0) }
    let bytes = UnsafeRawPointer(data)
    return (
      UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)),
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    )
  }

  /// Decoded samples at the end that are not presented, as the packet states.
  package var samplesSkippedAtEnd: Int { Int(skippedSamples.end) }

  /// Leaves bytes at both ends out of the encoded data.
  func removeBytes(atStart: Int, atEnd: Int) {
    pointer.pointee.data += atStart
    pointer.pointee.size -= Int32(clamping: atStart + atEnd)
  }

  /// Marks samples at the start and at the end of the decoded packet for removal.
  package func skipSamples(atStart: Int = 0, atEnd: Int) throws(MediaError) {
    let data = try allocated(av_packet_new_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, 10), "marking padding")
    for index in 0..<10 { data[index] = 0 }
    for (place, samples) in [(0, atStart), (4, atEnd)] {
      withUnsafeBytes(of: UInt32(clamping: samples).littleEndian) { bytes in
        for index in 0..<4 { data[place + index] = bytes[index] }
      }
    }
  }
}

internal import CMedia

/// Encoded data with its timestamps.
package final class Packet {
  let pointer: UnsafeMutablePointer<AVPacket>

  /// An empty shell for a demuxer or encoder to fill.
  init() throws(MediaError) {
    pointer = try allocated(av_packet_alloc(), "making a packet")
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

  /// In ticks of the track's timebase; 0 where not known.
  package var duration: Int64 {
    get { pointer.pointee.duration }
    set { pointer.pointee.duration = newValue }
  }

  /// Whether decoding can start here.
  package var isKeyframe: Bool { pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
  package var byteCount: Int { Int(pointer.pointee.size) }

  /// The encoded bytes; good inside `body` only.
  package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    body(UnsafeRawBufferPointer(start: pointer.pointee.data, count: byteCount))
  }
}

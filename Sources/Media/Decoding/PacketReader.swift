internal import CMedia
package import CompositionModel

/// The stored packets of one track, in order of decoding, as they are.
package final class PacketReader {
  private let demuxer: Demuxer
  private let track: Int
  private let packet: Packet
  private var hasPacket = false

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index in the file.
  ///   - timebase: The described track's. Another is refused.
  ///   - discontinuities: The described track's.
  ///   - keyframe: Of a video track: where reading starts. Nil is the head of the file.
  package init(
    source: any ByteSource, name: String, track: Int, timebase: MediaTime, discontinuities: [Discontinuity]? = nil,
    from keyframe: Keyframe? = nil
  ) throws(MediaError) {
    self.track = track
    packet = try Packet()
    let places = discontinuities.map { [track: $0] } ?? [:]
    var demuxer = try Demuxer(source, name: name, discontinuities: places, movement: nil)
    var stream = try demuxer.stream(track)
    guard MediaTime(stream.pointee.time_base) == timebase else {
      throw MediaError(
        .noTrack, operation: "opening", subject: name,
        message: "track \(track) does not have ticks of \(timebase) s, so the file is not the one that was described")
    }
    demuxer.select { $0 == stream }
    if let keyframe, try demuxer.seek(track, to: keyframe.dts, position: keyframe.position) {
      hasPacket = try demuxer.read(into: packet, ofTrack: track)
      if !hasPacket || packet.dts == sheaf_no_pts || packet.dts > keyframe.dts {
        // The container's index leads past the keyframe, so the file is read from its head.
        demuxer = try Demuxer(source, name: name, discontinuities: places, movement: nil)
        stream = try demuxer.stream(track)
        demuxer.select { $0 == stream }
        hasPacket = false
      }
    }
    self.demuxer = demuxer
  }

  /// The next packet; nil after the last. It is valid until the next call.
  package func next() throws(MediaError) -> Packet? {
    if hasPacket {
      hasPacket = false
      return packet
    }
    return try demuxer.read(into: packet, ofTrack: track) ? packet : nil
  }
}

extension Packet {
  /// The presentation time in ticks, or else the decoding time; nil if the file states neither.
  package var statedTime: Int64? {
    if pts != sheaf_no_pts { return pts }
    return dts != sheaf_no_pts ? dts : nil
  }

  /// The decoding time in ticks, or else the presentation time.
  package var statedDecodingTime: Int64? {
    if dts != sheaf_no_pts { return dts }
    return pts != sheaf_no_pts ? pts : nil
  }
}

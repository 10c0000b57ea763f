internal import CMedia
package import CompositionModel

/// The stored packets of one track of a file, from a keyframe or from the head of the file on, in the file's order.
package final class StoredPackets {
  let demuxer: Demuxer
  let stream: UnsafeMutablePointer<AVStream>
  private let track: Int
  private var first: Packet?

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - codec: The described track's, and so is the timebase. Others are refused.
  ///   - start: Nil: the head of the file.
  package init(
    _ source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime,
    discontinuities: [Discontinuity]?, from start: Keyframe?, movement: Movement?
  ) throws(MediaError) {
    self.track = track
    let places = discontinuities.map { [track: $0] } ?? [:]
    func open() throws(MediaError) -> (Demuxer, UnsafeMutablePointer<AVStream>) {
      let demuxer = try Demuxer(source, name: name, discontinuities: places, movement: movement)
      let stream = try demuxer.stream(track)
      let found = Decoder.codecName(stream.pointee.codecpar)
      guard found == codec, MediaTime(stream.pointee.time_base) == timebase else {
        throw MediaError(
          .noTrack, operation: "opening", subject: name,
          message: "track \(track) is \(found); \(codec) was expected, so the file is not the one that was described")
      }
      demuxer.select { $0 == stream }
      return (demuxer, stream)
    }
    var (demuxer, stream) = try open()
    if let start {
      var packet = Packet?.none
      if try demuxer.seek(track, to: start.dts, position: start.position) {
        packet = try Self.packet(at: start, demuxer, track, stopsWhenPast: true)
      }
      if packet == nil {
        (demuxer, stream) = try open()
        packet = try Self.packet(at: start, demuxer, track, stopsWhenPast: false)
      }
      guard let packet else {
        throw MediaError(
          .noTrack, operation: "opening", subject: name,
          message: "there is no packet with pts \(start.pts) in track \(track), so the file is not the one described")
      }
      first = packet
    }
    (self.demuxer, self.stream) = (demuxer, stream)
  }

  private static func packet(
    at keyframe: Keyframe, _ demuxer: Demuxer, _ track: Int, stopsWhenPast: Bool
  ) throws(MediaError) -> Packet? {
    let packet = try Packet()
    while try demuxer.read(into: packet, ofTrack: track) {
      if keyframe.isPacket(packet) { return packet }
      if stopsWhenPast, packet.dts != sheaf_no_pts, packet.dts > keyframe.dts { return nil }
    }
    return nil
  }

  /// The next packet; nil after the last.
  package func next() throws(MediaError) -> Packet? {
    if let packet = first {
      first = nil
      return packet
    }
    let packet = try Packet()
    return try demuxer.read(into: packet, ofTrack: track) ? packet : nil
  }

  /// The codec's parameter sets; empty if it has none.
  package var parameterSets: [UInt8] { stream.parameterSets }

  /// How many packets before the first that is heard a decoder needs, so that it is whole.
  package var prerollPackets: Int {
    switch stream.pointee.codecpar.pointee.codec_id {
    case AV_CODEC_ID_AAC, AV_CODEC_ID_MP3, AV_CODEC_ID_VORBIS, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3: 1
    case AV_CODEC_ID_OPUS: 4
    default: 0
    }
  }
}

extension UnsafeMutablePointer<AVStream> {
  var parameterSets: [UInt8] {
    let parameters = pointee.codecpar.pointee
    return Array(UnsafeBufferPointer(start: parameters.extradata, count: max(0, Int(parameters.extradata_size))))
  }
}

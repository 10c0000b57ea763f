internal import CMedia
package import CompositionModel

/// The frames of one video track, decoded in one thread, in order of presentation, as the ffmpeg tool decodes them.
package final class VideoReader {
  private let name: String
  private let decodeFrom: Keyframe?
  private let shownAt: Int64?
  private let decoder: TrackDecoder
  private var clock: FrameClock
  /// A frame decoded while looking for the first one to return.
  private var ahead: Frame?
  private var hasStarted = false

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index in the file.
  ///   - codec: The described track's. Another is refused.
  ///   - timebase: The described track's. Another is refused.
  ///   - discontinuities: The described track's.
  ///   - decodeFrom: Where decoding starts; nil is the head of the file.
  ///   - state: What the decoder is given before it starts at `decodeFrom`.
  ///   - shownAt: A stored timestamp. The first frame returned is the last one at or before it, or the first of the track
  ///     (or from the keyframe on) if all are later. Nil returns every frame from `decodeFrom` on.
  ///   - movement: Advanced with every packet that is read and every picture that is decoded, shown or not.
  package init(
    source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime,
    discontinuities: [Discontinuity]? = nil, decodeFrom: Keyframe?, state: DecoderState? = nil, shownAt: Int64?,
    movement: Movement? = nil
  ) throws(MediaError) {
    self.name = name
    self.decodeFrom = decodeFrom
    self.shownAt = shownAt
    let packet = try Packet()
    let places = discontinuities.map { [track: $0] } ?? [:]
    var demuxer = try Demuxer(source, name: name, discontinuities: places, movement: movement)
    let stream = try VideoReader.stream(track, of: demuxer, codec: codec, timebase: timebase)
    let codecDecoder = try Decoder(stream, name: name)
    clock = FrameClock(stream)
    if let decodeFrom {
      demuxer = try VideoReader.demuxer(
        source, demuxer, track: track, at: decodeFrom, packet, discontinuities: places, movement: movement)
      if let state { try packet.prepend(state) }
    }
    decoder = TrackDecoder(
      codecDecoder, demuxer, track: track, packet: packet, hasPacket: decodeFrom != nil, movement: movement)
  }

  /// The first error that the codec reported for the data.
  var firstFailure: MediaError? { decoder.firstFailure }

  /// Whether every picture so far had the presentation time of its own packet.
  var followsPackets: Bool { clock.followsPackets }

  private static func stream(
    _ track: Int, of demuxer: Demuxer, codec: String, timebase: MediaTime
  ) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    let stream = try demuxer.stream(track)
    let parameters = stream.pointee.codecpar!
    let found = Decoder.codecName(parameters)
    guard parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO, found == codec,
      MediaTime(stream.pointee.time_base) == timebase
    else {
      throw MediaError(
        .noTrack, operation: "opening", subject: demuxer.name,
        message: "track \(track) is \(found) in ticks of \(MediaTime(stream.pointee.time_base)) s; "
          + "\(codec) in ticks of \(timebase) s was expected, so the file is not the one that was described")
    }
    demuxer.select { $0 == stream }
    return stream
  }

  /// Reads the keyframe's packet into `packet` and returns the demuxer at that position. If the container's index does not
  /// lead to it, the file is opened again and read from its head without decoding, which finds every packet that the probe
  /// found.
  private static func demuxer(
    _ source: any ByteSource, _ opened: Demuxer, track: Int, at keyframe: Keyframe, _ packet: Packet,
    discontinuities: [Int: [Discontinuity]], movement: Movement?
  ) throws(MediaError) -> Demuxer {
    if try opened.seek(track, to: keyframe.dts, position: keyframe.position),
      try opened.read(keyframe, ofTrack: track, into: packet, stopsWhenPast: true)
    {
      return opened
    }
    let demuxer = try Demuxer(source, name: opened.name, discontinuities: discontinuities, movement: movement)
    let stream = try demuxer.stream(track)
    demuxer.select { $0 == stream }
    if try demuxer.read(keyframe, ofTrack: track, into: packet, stopsWhenPast: false) { return demuxer }
    throw MediaError(
      .noTrack, operation: "opening", subject: opened.name,
      message: "there is no packet with pts \(keyframe.pts) and dts \(keyframe.dts) in track \(track), "
        + "so the file is not the one that was described")
  }

  /// The next frame; nil after the last. Its `pts` is the stored timestamp that `FrameTimes` lists, and rises from frame to
  /// frame. The frame may share its planes with the decoder, so they must not be changed.
  package func next() throws(MediaError) -> Frame? {
    if !hasStarted {
      hasStarted = true
      return try first()
    }
    if let frame = ahead {
      ahead = nil
      return frame
    }
    return try decode()
  }

  private func first() throws(MediaError) -> Frame? {
    guard var best = try decode() else { return nil }
    guard let shownAt else { return best }
    while best.pts <= shownAt, let frame = try decode() {
      if frame.pts > shownAt {
        ahead = frame
        break
      }
      best = frame
    }
    return best
  }

  private func decode() throws(MediaError) -> Frame? {
    let frame = try Frame()
    while try decoder.decode(into: frame.pointer) {
      if let time = clock.time(of: frame.pointer), decodeFrom.map({ time >= $0.pts }) ?? true {
        frame.pts = time
        return try frame.topDown(name)
      }
      av_frame_unref(frame.pointer)
    }
    return nil
  }
}

extension Demuxer {
  /// Reads packets of a track up to the one at a keyframe. False if the track ends before, or, if `stopsWhenPast`, if
  /// decoding times are past it.
  fileprivate func read(
    _ keyframe: Keyframe, ofTrack track: Int, into packet: Packet, stopsWhenPast: Bool
  ) throws(MediaError) -> Bool {
    while try read(into: packet, ofTrack: track) {
      if keyframe.isPacket(packet) { return true }
      if stopsWhenPast, packet.dts != sheaf_no_pts, packet.dts > keyframe.dts { return false }
    }
    return false
  }
}

extension Keyframe {
  init(_ packet: Packet) {
    self.init(pts: packet.pts, dts: packet.dts, position: packet.pointer.pointee.pos)
  }

  /// Whether this is the packet that was described. After a seek into the middle of a picture, a demuxer returns the rest
  /// of that picture with the next one's times; such a packet is not flagged as a keyframe.
  func isPacket(_ packet: Packet) -> Bool {
    packet.pts == pts && packet.dts == dts && packet.isKeyframe && packet.pointer.pointee.pos == position
  }
}

extension MediaTime {
  /// Seconds a tick.
  init(_ timebase: AVRational) {
    self.init(value: Int64(timebase.num), timescale: timebase.den)
  }
}

/// The time of each decoded picture.
///
/// It is libavcodec's best effort: the stored presentation time if the file has a plausible one, else the decoding time.
/// A picture without either is one frame's duration after the one before. A picture whose time is before that of the one
/// before is not shown. The probe uses this clock too, so its frame times are those that reading gives.
struct FrameClock {
  private let defaultStep: Int64
  private var last: Int64?
  /// Whether every picture so far had the presentation time of its own packet. If not, its time depends on the pictures
  /// before it.
  private(set) var followsPackets = true

  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let rates = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate, AVRational(num: 25, den: 1)]
    let rate = rates.first { $0.num > 0 && $0.den > 0 }!
    defaultStep = max(1, av_rescale_q(1, AVRational(num: rate.den, den: rate.num), stream.pointee.time_base))
  }

  /// The picture's presentation time in ticks of the track's timebase; nil if it is not shown.
  mutating func time(of frame: UnsafePointer<AVFrame>) -> Int64? {
    var time = frame.pointee.best_effort_timestamp
    if time != frame.pointee.pts || time == sheaf_no_pts { followsPackets = false }
    if time == sheaf_no_pts {
      let step = frame.pointee.pkt_duration > 0 ? frame.pointee.pkt_duration : defaultStep
      time = last.map { $0 &+ step } ?? 0
    }
    if let last, time < last { return nil }
    last = time
    return time
  }
}

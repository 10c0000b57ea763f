internal import CMedia
internal import CompositionModel

/// One decoder that has begun at the head of a file or at a start, and the frames that it gives.
final class DecodingSession {
  /// What every session of a reader opens.
  struct Opening {
    var source: any ByteSource
    /// The file's name, for messages.
    var name: String
    var track: Int
    var codec: String
    var timebase: MediaTime
    var discontinuities: [Discontinuity]?
    var liveness: Liveness?
  }

  /// The index of the session's start among those of the reader; -1 for the head of the file, and where the reader has
  /// none.
  let index: Int
  private let name: String
  /// Earlier frames are left out: a decoder that begins at the start cannot give them.
  private let first: Int64?
  private let decoder: TrackDecoder
  private var clock: FrameClock
  /// The packets of which the decoder has reported something, and whose frames have not come yet.
  private(set) var suspects: [PacketReport] = []

  /// - Parameters:
  ///   - start: Nil is the head of the file.
  ///   - state: What the decoder is given before it begins at `start`.
  ///   - conceals: Whether it may give damaged frames. Only then are these always the same.
  ///   - shownAt: Frames before the last one at or before this time may be left out. Nil: none is.
  init(
    _ opening: Opening, at start: Keyframe?, state: DecoderState?, index: Int, conceals: Bool, shownAt: Int64? = nil
  ) throws(MediaError) {
    self.index = index
    name = opening.name
    first = start?.pts
    let packet = try Packet()
    let places = opening.discontinuities.map { [opening.track: $0] } ?? [:]
    var demuxer = try Demuxer(
      opening.source, name: opening.name, discontinuities: places, liveness: opening.liveness)
    let stream = try opening.stream(of: demuxer)
    let codecDecoder = try Decoder(stream, name: opening.name, fillsBuffers: conceals)
    let clock = FrameClock(stream)
    self.clock = clock
    let unneeded = shownAt.flatMap { UnneededPictures(stream, shownAt: $0, step: clock.defaultStep) }
    if let start {
      demuxer = try opening.demuxer(demuxer, at: start, packet, discontinuities: places)
      if let state { try packet.prepend(state) }
    }
    decoder = TrackDecoder(
      codecDecoder, demuxer, track: opening.track, packet: packet, hasPacket: start != nil,
      leavingOut: unneeded, liveness: opening.liveness)
  }

  /// The first error that the codec reported for the data.
  var firstFailure: MediaError? { decoder.firstFailure }

  /// Whether every picture so far had the presentation time of its own packet.
  var followsPackets: Bool { clock.followsPackets }

  /// Frames before the last one at or before a time may be left out from now on, if others were before.
  func show(at time: Int64) { decoder.show(at: time) }

  /// The next frame, with its stored timestamp; nil after the last.
  func next() throws(MediaError) -> Frame? {
    let frame = try Frame()
    while try decoder.decode(into: frame.pointer) {
      takeReports()
      if let time = clock.time(of: frame.pointer, after: decoder.end), first.map({ time >= $0 }) ?? true {
        frame.pts = time
        if let own = suspects.firstIndex(where: { $0.time == time }) {
          let report = suspects.remove(at: own)
          if report.isError, report.isAfterLoss || !decoder.flagsConcealment { frame.markAsDamaged() }
        }
        return try frame.topDown(name)
      }
      av_frame_unref(frame.pointer)
    }
    takeReports()
    return nil
  }

  /// Removes the suspects before a time, whose frames do not come any more.
  func takeSuspects(before time: Int64) -> [PacketReport] {
    let lost = suspects.filter { $0.time < time }
    suspects.removeAll { $0.time < time }
    return lost
  }

  private func takeReports() {
    for report in decoder.takeReports() where report.time != sheaf_no_pts {
      if let first, report.time < first { continue }
      suspects.append(report)
    }
  }
}

extension DecodingSession.Opening {
  fileprivate func stream(of demuxer: Demuxer) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    let stream = try demuxer.stream(track)
    let parameters = stream.pointee.codecpar!
    let found = StoredCodec.name(parameters)
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

  /// Reads the keyframe's packet into `packet` and returns the demuxer at that position. If the container's index does
  /// not lead to it, the file is opened again and read from its head without decoding, which finds every packet that
  /// the probe found.
  fileprivate func demuxer(
    _ opened: Demuxer, at keyframe: Keyframe, _ packet: Packet, discontinuities: [Int: [Discontinuity]]
  ) throws(MediaError) -> Demuxer {
    if try opened.seek(track, to: keyframe.dts, position: keyframe.position),
      try opened.read(keyframe, ofTrack: track, into: packet, stopsWhenPast: true)
    {
      return opened
    }
    let demuxer = try Demuxer(source, name: opened.name, discontinuities: discontinuities, liveness: liveness)
    let stream = try demuxer.stream(track)
    demuxer.select { $0 == stream }
    if try demuxer.read(keyframe, ofTrack: track, into: packet, stopsWhenPast: false) { return demuxer }
    throw MediaError(
      .noTrack, operation: "opening", subject: opened.name,
      message: "there is no packet with pts \(keyframe.pts) and dts \(keyframe.dts) in track \(track), "
        + "so the file is not the one that was described")
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

  /// Whether this is the packet that was described. After a seek into the middle of a picture, a demuxer returns the
  /// rest of that picture with the next one's times; such a packet is not flagged as a keyframe.
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
/// It is libavcodec's best effort: the stored presentation time if the file has a plausible one, else the decoding
/// time. Pictures without either that a decoder gives after the last packet have the decoding times that would follow
/// that packet's, as the ffmpeg tool has it; others are one frame's duration after the one before. A picture whose time
/// is before that of the one before is not shown. The probe uses this clock too, so its frame times are those that
/// reading gives.
struct FrameClock {
  /// The duration of a frame by the stream's rate.
  let defaultStep: Int64
  private var last: Int64?
  /// How many pictures without a time have come after the last packet.
  private var untimedAtEnd: Int64 = 0
  /// Whether every picture so far had the presentation time of its own packet. If not, its time depends on the pictures
  /// before it.
  private(set) var followsPackets = true

  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let rates = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate, AVRational(num: 25, den: 1)]
    let rate = rates.first { $0.num > 0 && $0.den > 0 }!
    defaultStep = max(1, av_rescale_q(1, AVRational(num: rate.den, den: rate.num), stream.pointee.time_base))
  }

  /// The picture's presentation time in ticks of the track's timebase; nil if it is not shown.
  /// - Parameter end: What follows the packets, if the decoder has had all.
  mutating func time(of frame: UnsafePointer<AVFrame>, after end: PacketsEnd? = nil) -> Int64? {
    var time = frame.pointee.best_effort_timestamp
    if time != frame.pointee.pts || time == sheaf_no_pts { followsPackets = false }
    if time == sheaf_no_pts {
      let step = frame.pointee.pkt_duration > 0 ? frame.pointee.pkt_duration : defaultStep
      time = last.map { $0 &+ step } ?? 0
      if let end, end.time != sheaf_no_pts {
        let following = end.time &+ untimedAtEnd &* (end.step > 0 ? end.step : defaultStep)
        untimedAtEnd += 1
        if last.map({ following > $0 }) ?? true { time = following }
      }
    }
    if let last, time < last { return nil }
    last = time
    return time
  }
}

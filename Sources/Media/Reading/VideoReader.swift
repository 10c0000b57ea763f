internal import CMedia
package import CompositionModel

/// The frames of one video track, decoded in one thread, in order of presentation, as `ffmpeg` decodes them.
package final class VideoReader {
  private let source: any ByteSource
  private let name: String
  private let track: Int
  private let decodeFrom: Keyframe?
  private let wanted: Int64?

  private var demuxer: Demuxer
  private var decoder: Decoder
  private var clock: FrameClock
  private let packet: Packet
  private var isAtEnd = false
  /// The keyframe's packet, found but not sent yet.
  private var hasPacket = false
  /// Decoded ahead while looking for the first frame wanted.
  private var ahead: Frame?
  private var hasStarted = false

  /// - Parameters:
  ///   - name: What messages call the file.
  ///   - track: The stream's index in the file.
  ///   - codec: What the track was described as; another is refused.
  ///   - timebase: The described track's.
  ///   - decodeFrom: Where decoding starts; nil is the head of the file.
  ///   - wanted: A stored timestamp: the first frame given is the last at or before it, or the track's (or keyframe's)
  ///     first where all are later. Nil gives every frame from `decodeFrom` on.
  package init(
    source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime, decodeFrom: Keyframe?,
    wanted: Int64?
  ) throws(MediaError) {
    self.source = source
    self.name = name
    self.track = track
    self.decodeFrom = decodeFrom
    self.wanted = wanted
    packet = try Packet()
    demuxer = try Demuxer(source, name: name)
    let stream = try VideoReader.stream(track, of: demuxer, codec: codec, timebase: timebase)
    decoder = try Decoder(stream, name: name)
    clock = FrameClock(stream)
    if let decodeFrom { try start(at: decodeFrom) }
  }

  /// What the codec first said against the data.
  var firstFailure: MediaError? { decoder.firstFailure }

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

  /// Leaves the keyframe's packet in `packet`. Where the container's index does not lead there, the file is read from
  /// its head without decoding, which finds every packet that describing found.
  private func start(at keyframe: Keyframe) throws(MediaError) {
    if try demuxer.seek(track, to: keyframe.dts), try find(keyframe, stopsWhenPast: true) { return }
    demuxer = try Demuxer(source, name: name)
    let stream = try demuxer.stream(track)
    demuxer.select { $0 == stream }
    if try find(keyframe, stopsWhenPast: false) { return }
    throw MediaError(
      .noTrack, operation: "opening", subject: name,
      message: "there is no packet with pts \(keyframe.pts) and dts \(keyframe.dts) in track \(track), "
        + "so the file is not the one that was described")
  }

  private func find(_ keyframe: Keyframe, stopsWhenPast: Bool) throws(MediaError) -> Bool {
    while try demuxer.read(into: packet) {
      guard Int(packet.pointer.pointee.stream_index) == track else { continue }
      if keyframe.isPacket(packet) {
        hasPacket = true
        return true
      }
      if stopsWhenPast, packet.dts != sheaf_no_pts, packet.dts > keyframe.dts { return false }
    }
    return false
  }

  /// The next frame; its `pts` is the stored one that `FrameTimes` lists, rising from frame to frame. Nil after the last.
  /// The frame may share its planes with the decoder: call `makeWritable` before changing it.
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
    guard let wanted else { return best }
    while best.pts <= wanted, let frame = try decode() {
      if frame.pts > wanted {
        ahead = frame
        break
      }
      best = frame
    }
    return best
  }

  private func decode() throws(MediaError) -> Frame? {
    let frame = try Frame()
    while true {
      while try decoder.receive(frame.pointer) {
        if let time = clock.time(of: frame.pointer), decodeFrom.map({ time >= $0.pts }) ?? true {
          frame.pts = time
          return try frame.upright(name)
        }
        av_frame_unref(frame.pointer)
      }
      if isAtEnd { return nil }
      try sendNextPacket()
    }
  }

  private func sendNextPacket() throws(MediaError) {
    if hasPacket {
      hasPacket = false
      return try decoder.send(packet)
    }
    while try demuxer.read(into: packet) {
      if Int(packet.pointer.pointee.stream_index) == track { return try decoder.send(packet) }
    }
    isAtEnd = true
    try decoder.send(nil)
  }
}

extension Keyframe {
  /// Whether this is the packet that was described. After a seek into the middle of a picture, a demuxer gives that
  /// picture's end the next one's times; it is no keyframe then.
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

extension Frame {
  /// This frame, or a copy of one that is stored from its last row to its first. Checks its size.
  func upright(_ name: String) throws(MediaError) -> Frame {
    try PictureLimits.check(size, subject: name)
    let isUpsideDown = (0..<format.planeCount).contains { stride(ofPlane: $0) < 0 }
    guard isUpsideDown else { return self }
    let copy = try Frame(size: size, format: format)
    try check(av_frame_copy(copy.pointer, pointer), "turning a frame of", name)
    try check(av_frame_copy_props(copy.pointer, pointer), "turning a frame of", name)
    return copy
  }
}

internal import CMedia
package import CompositionModel

/// The samples of one audio track, decoded in one thread to 32-bit float at the track's rate and layout: the samples that
/// the ffmpeg tool gives for that range, at exact positions on the asset's timeline.
package final class AudioReader {
  private let first: Int64
  private let decoder: TrackDecoder
  private var clock: SampleClock
  private let frame: Frame
  private var converter: DecodedAudioConverter

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index in the file.
  ///   - timebase: The described track's.
  ///   - origin: The described track's stored timestamp of the asset's time zero.
  ///   - format: The described track's.
  ///   - position: The number of the first sample to return, counted from time zero of the asset's timeline.
  ///   - movement: Advanced with every packet that is read and every block of samples that is decoded, returned or not.
  package init(
    source: any ByteSource, name: String, track: Int, timebase: MediaTime, origin: Int64, format: AudioFormat,
    from position: Int64, movement: Movement? = nil
  ) throws(MediaError) {
    first = position
    frame = try Frame()
    converter = DecodedAudioConverter(format: format, name: name)
    let packet = try Packet()
    var hasPacket = false
    var demuxer = try Demuxer(source, name: name, movement: movement)
    var stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
    let target = SampleClock.timestamp(of: position, origin: origin, timebase: stream.pointee.time_base, format)
    if let target, AudioReader.canStartAnywhere(stream, format: format), try demuxer.seek(track, to: target) {
      hasPacket = try demuxer.read(into: packet, ofTrack: track)
      if !hasPacket || packet.pts == sheaf_no_pts || packet.pts > target {
        // The container's index leads past the position, so the file is read from its head.
        demuxer = try Demuxer(source, name: name, movement: movement)
        stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
        hasPacket = false
      }
    }
    decoder = TrackDecoder(
      try Decoder(stream, name: name), demuxer, track: track, packet: packet, hasPacket: hasPacket, movement: movement)
    clock = SampleClock(stream, container: demuxer.formatName, origin: origin, sampleRate: format.sampleRate)
  }

  private static func stream(
    _ track: Int, of demuxer: Demuxer, timebase: MediaTime
  ) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    let stream = try demuxer.stream(track)
    guard stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO,
      MediaTime(stream.pointee.time_base) == timebase
    else {
      throw MediaError(
        .noTrack, operation: "opening", subject: demuxer.name,
        message: "track \(track) is not audio in ticks of \(timebase) s, so the file is not the one that was described")
    }
    demuxer.select { $0 == stream }
    return stream
  }

  /// Whether each packet decodes to the same samples whatever came before it, and its timestamp is a sample's number. For
  /// other codecs (the noise of AAC and AC-3 continues from packet to packet) only decoding from the head gives the
  /// samples of a whole decode.
  private static func canStartAnywhere(_ stream: UnsafeMutablePointer<AVStream>, format: AudioFormat) -> Bool {
    let timebase = stream.pointee.time_base
    guard timebase.num == 1, Int(timebase.den) == format.sampleRate else { return false }
    let codec = Decoder.codecName(stream.pointee.codecpar)
    return codec == "flac" || codec == "alac" || (codec.hasPrefix("pcm_") && codec != "pcm_dvd")
  }

  /// The next samples, none before the requested position; nil after the last. Positions rise. If a block does not
  /// start at the end of the one before, the track has a gap, which is silence.
  package func next() throws(MediaError) -> AudioBlock? {
    while try decoder.decode(into: frame.pointer) {
      defer { av_frame_unref(frame.pointer) }
      let count = Int(frame.pointer.pointee.nb_samples)
      guard count > 0, var place = clock.place(frame.pointer) else { continue }
      let early = max(0, first - place.position)
      place.skipped += Int(clamping: early)
      place.position += early
      guard place.skipped < count else { continue }
      return try converter.block(frame.pointer, at: place.position, skipping: place.skipped)
    }
    return nil
  }
}

/// The position of each block of decoded samples on the asset's timeline.
///
/// Samples follow one another without a break as long as the stored timestamps agree with their count within rounding. A
/// stored timestamp that is later makes a gap. One that is earlier drops the samples that overlap earlier ones.
private struct SampleClock {
  struct Place {
    var position: Int64
    /// Samples at the block's beginning to leave out.
    var skipped: Int
  }

  private let origin: Int64
  private let timebase: AVRational
  private let sample: AVRational
  /// In samples.
  private let tolerance: Int64
  private var next: Int64?

  init(_ stream: UnsafeMutablePointer<AVStream>, container: String, origin: Int64, sampleRate: Int) {
    self.origin = origin
    timebase = stream.pointee.time_base
    sample = AVRational(num: 1, den: Int32(clamping: max(1, sampleRate)))
    tolerance = SampleClock.tolerance(
      codec: stream.pointee.codecpar.pointee.codec_id, container: container, timebase: timebase, sample: sample)
  }

  /// The difference, in samples, up to which a stored timestamp agrees with the count of samples.
  private static func tolerance(
    codec: AVCodecID, container: String, timebase: AVRational, sample: AVRational
  ) -> Int64 {
    // These files have no timestamps: libavformat computes them from the bit rate.
    if timeless.contains(container) { return .max / 4 }
    // Half of its longest block: libavformat's times are off by that where block sizes change.
    if codec == AV_CODEC_ID_VORBIS { return 4096 }
    let ticks = av_rescale_q_rnd(2, timebase, sample, AV_ROUND_UP)
    // Timestamps of a millisecond often come from a clock that jitters.
    let isCoarse = Int64(timebase.den) < 2000 * Int64(max(1, timebase.num))
    return max(ticks, Int64(sample.den) / (isCoarse ? 100 : 1000))
  }

  private static let timeless: Set<String> = ["ac3", "eac3", "aac", "loas", "dts", "dtshd", "truehd", "mlp", "mp3"]

  /// The next block's place; nil if all of it overlaps earlier samples.
  mutating func place(_ frame: UnsafePointer<AVFrame>) -> Place? {
    let count = Int64(frame.pointee.nb_samples)
    let stored = frame.pointee.best_effort_timestamp
    let position = stored == sheaf_no_pts ? Int64.min : av_rescale_q(stored &- origin, timebase, sample)
    // No timestamp, or an impossible one.
    guard position.magnitude < 1 << 56 else { return start(at: next ?? 0, count) }
    guard let expected = next else { return start(at: position, count) }
    if position > expected + tolerance { return start(at: position, count) }
    if position >= expected - tolerance { return start(at: expected, count) }
    let overlap = expected - position
    guard overlap < count else { return nil }
    next = position + count
    return Place(position: expected, skipped: Int(overlap))
  }

  private mutating func start(at position: Int64, _ count: Int64) -> Place {
    next = position + count
    return Place(position: position, skipped: 0)
  }

  /// The stored timestamp of a sample; nil for the samples up to time zero and if it does not fit.
  static func timestamp(of position: Int64, origin: Int64, timebase: AVRational, _ format: AudioFormat) -> Int64? {
    guard position > 0 else { return nil }
    let sample = AVRational(num: 1, den: Int32(clamping: max(1, format.sampleRate)))
    let (timestamp, overflow) = av_rescale_q_rnd(position, sample, timebase, AV_ROUND_DOWN)
      .addingReportingOverflow(origin)
    return overflow ? nil : timestamp
  }
}

internal import CMedia
package import CompositionModel

/// The samples of one audio track, decoded in one thread to 32-bit float at the track's rate and layout: the samples
/// that the ffmpeg tool gives for that range, at exact positions on the asset's timeline. Where the stored format
/// changes, they are converted to the track's.
package final class AudioReader {
  private let first: Int64
  private let decoder: TrackDecoder
  private let frame: Frame
  private var converter: DecodedAudioConverter
  /// Whether `frame` has what follows the block that was returned last.
  private var hasFrame = false
  /// The positions of packets that could not be decoded, since they were last taken.
  private var damaged: [Int64] = []

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The stream's index in the file.
  ///   - timebase: The described track's.
  ///   - origin: The described track's stored timestamp of the asset's time zero.
  ///   - discontinuities: The described track's.
  ///   - format: The described track's.
  ///   - position: The number of the first sample to return, counted from time zero of the asset's timeline.
  ///   - liveness: Advanced with every packet that is read and every block of samples that is decoded, returned or not.
  package init(
    source: any ByteSource, name: String, track: Int, timebase: MediaTime, origin: Int64,
    discontinuities: [Discontinuity]? = nil, format: AudioFormat, from position: Int64, liveness: Liveness? = nil
  ) throws(MediaError) {
    first = position
    frame = try Frame()
    let packet = try Packet()
    var hasPacket = false
    let places = discontinuities.map { [track: $0] } ?? [:]
    var demuxer = try Demuxer(source, name: name, discontinuities: places, liveness: liveness)
    var stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
    try Demuxer.completeFormat(of: stream, in: source, name: name, liveness: liveness)
    let target = SampleClock.timestamp(of: position, origin: origin, timebase: stream.pointee.time_base, format)
    if let target, AudioReader.canStartAnywhere(stream, of: demuxer.formatName, format: format),
      try demuxer.seek(track, to: target)
    {
      hasPacket = try demuxer.read(into: packet, ofTrack: track)
      if !hasPacket || packet.pts == sheaf_no_pts || packet.pts > target {
        // The container's index leads past the position, so the file is read from its head.
        demuxer = try Demuxer(source, name: name, discontinuities: places, liveness: liveness)
        stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
        try Demuxer.completeFormat(of: stream, in: source, name: name, liveness: liveness)
        hasPacket = false
      }
    }
    decoder = TrackDecoder(
      try Decoder(stream, name: name), demuxer, track: track, packet: packet, hasPacket: hasPacket, liveness: liveness)
    converter = DecodedAudioConverter(
      format: format,
      clock: SampleClock(stream, container: demuxer.formatName, origin: origin, sampleRate: format.sampleRate),
      name: name)
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

  /// Whether each packet decodes to the same samples whatever came before it, and its timestamp is a sample's number.
  /// For other codecs (the noise of AAC and AC-3 continues from packet to packet) only decoding from the head gives the
  /// samples of a whole decode.
  private static func canStartAnywhere(
    _ stream: UnsafeMutablePointer<AVStream>, of container: String, format: AudioFormat
  ) -> Bool {
    let timebase = stream.pointee.time_base
    guard format.changes == nil, timebase.num == 1, Int(timebase.den) == format.sampleRate else { return false }
    let codec = StoredCodec.name(stream.pointee.codecpar)
    if codec.hasPrefix("pcm_") { return codec != "pcm_dvd" }
    return (codec == "flac" || codec == "alac") && !SampleClock.timeless.contains(container)
  }

  /// The next samples, none before the requested position; nil after the last. Positions rise. If a block does not
  /// start at the end of the one before, the track has a gap, which is silence.
  package func next() throws(MediaError) -> AudioBlock? {
    while true {
      if !hasFrame {
        hasFrame = try decoder.decode(into: frame.pointer)
        takeReports()
      }
      if let block = try converter.rest(before: hasFrame ? frame.pointer : nil, from: first) { return block }
      guard hasFrame else { return nil }
      hasFrame = false
      defer { av_frame_unref(frame.pointer) }
      if let block = try converter.block(frame.pointer, from: first) { return block }
    }
  }

  /// Where the stored rate or layout changes, as far as was decoded. The numbers of samples count from time zero of the
  /// asset's timeline.
  var changes: [AudioFormat.Change] { converter.changes }

  /// The positions of packets that could not be decoded, since the last call. None is before the requested position.
  package func takeDamage() -> [Int64] {
    defer { damaged = [] }
    return damaged
  }

  private func takeReports() {
    for report in decoder.takeReports() where report.isError {
      if let position = converter.position(ofPacketAt: report.time), position >= first { damaged.append(position) }
      if hasFrame, report.isLost(before: frame.pointer) { converter.leaveOutPacket() }
    }
  }
}

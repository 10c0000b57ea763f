internal import CMedia
package import CompositionModel

/// The sound of one audio track, decoded in one thread to 32-bit float at its own rate and layout: the samples that
/// `ffmpeg` gives for that range, at exact positions on the asset's timeline.
package final class AudioReader {
  /// Samples a second of each channel.
  package let sampleRate: Int
  package let channels: Int
  /// libavutil's description of the layout.
  package let layout: String

  private let name: String
  private let track: Int
  private let first: Int64
  private var demuxer: Demuxer
  private var decoder: Decoder
  private var clock: SampleClock
  private let packet: Packet
  private let frame: Frame
  private var converter: SoundConversion
  private var hasPacket = false
  private var isAtEnd = false

  /// - Parameters:
  ///   - name: What messages call the file.
  ///   - track: The stream's index in the file.
  ///   - timebase: The described track's, and `origin` its stored timestamp of the asset's time zero.
  ///   - format: What the track was described as.
  ///   - position: The first sample wanted, counted from time zero of the asset's timeline.
  package init(
    source: any ByteSource, name: String, track: Int, timebase: MediaTime, origin: Int64, format: AudioFormat,
    from position: Int64
  ) throws(MediaError) {
    self.name = name
    self.track = track
    first = position
    sampleRate = format.sampleRate
    channels = format.channels
    layout = format.layout
    packet = try Packet()
    frame = try Frame()
    converter = SoundConversion(format: format, name: name)
    demuxer = try Demuxer(source, name: name)
    var stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
    let target = SampleClock.timestamp(of: position, origin: origin, timebase: stream.pointee.time_base, format)
    if let target, AudioReader.canStartAnywhere(stream, format: format), try demuxer.seek(track, to: target) {
      hasPacket = try AudioReader.readPacket(of: demuxer, into: packet, track)
      if !hasPacket || packet.pts == sheaf_no_pts || packet.pts > target {
        // The container led past the place: from the head, then.
        demuxer = try Demuxer(source, name: name)
        stream = try AudioReader.stream(track, of: demuxer, timebase: timebase)
        hasPacket = false
      }
    }
    decoder = try Decoder(stream, name: name)
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
        message: "track \(track) is no sound in ticks of \(timebase) s, so the file is not the one that was described")
    }
    demuxer.select { $0 == stream }
    return stream
  }

  /// Whether each packet decodes alike whatever came before it, and its timestamp is a sample's number. Elsewhere (AAC's
  /// and AC-3's noise goes on from packet to packet) only decoding from the head gives what a whole decode gives.
  private static func canStartAnywhere(_ stream: UnsafeMutablePointer<AVStream>, format: AudioFormat) -> Bool {
    let timebase = stream.pointee.time_base
    guard timebase.num == 1, Int(timebase.den) == format.sampleRate else { return false }
    let codec = Decoder.codecName(stream.pointee.codecpar)
    return codec == "flac" || codec == "alac" || (codec.hasPrefix("pcm_") && codec != "pcm_dvd")
  }

  private static func readPacket(of demuxer: Demuxer, into packet: Packet, _ track: Int) throws(MediaError) -> Bool {
    while try demuxer.read(into: packet) {
      if Int(packet.pointer.pointee.stream_index) == track { return true }
    }
    return false
  }

  /// The next samples, none before the position asked for; positions rise, and where one does not follow the last
  /// sample of the block before, there is a gap (silence) in the track. Nil after the last.
  package func next() throws(MediaError) -> SoundBlock? {
    while true {
      while try decoder.receive(frame.pointer) {
        defer { av_frame_unref(frame.pointer) }
        let count = Int(frame.pointer.pointee.nb_samples)
        guard count > 0, var place = clock.place(frame.pointer) else { continue }
        let early = max(0, first - place.position)
        place.skipped += Int(clamping: early)
        place.position += early
        guard place.skipped < count else { continue }
        return try converter.block(frame.pointer, at: place.position, skipping: place.skipped)
      }
      if isAtEnd { return nil }
      try sendNextPacket()
    }
  }

  private func sendNextPacket() throws(MediaError) {
    if !hasPacket { hasPacket = try AudioReader.readPacket(of: demuxer, into: packet, track) }
    isAtEnd = !hasPacket
    try decoder.send(hasPacket ? packet : nil)
    hasPacket = false
  }
}

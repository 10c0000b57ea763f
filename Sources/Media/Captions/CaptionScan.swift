internal import CMedia
import CompositionModel

/// Decodes the captions of a text track, packet by packet.
final class CaptionScan {
  /// libavcodec's names of the codecs whose captions are text. Of others they are pictures.
  private static let codecs: Set<String> = ["subrip", "srt", "webvtt", "ass", "ssa", "mov_text", "text", "eia_608"]
  private static let codecsWithStyles: Set<String> = ["ass", "ssa"]

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let timebase: AVRational
  private let name: String
  private let codec: String
  /// Whether a caption that ends at its start, or before, is shown at no time: the end is written in the file. In
  /// others it is one without an end.
  private let hasEnds: Bool
  /// Whether a packet has commands to a decoder, and no caption: closed captions.
  private let isClosed: Bool
  private let timecode: ScenaristTimecode?
  /// Whether cues may have times of words, on the file's own timeline.
  private let hasWords: Bool
  private var format: ScriptEventFormat
  /// The captions that have been decoded.
  private(set) var found: TimedCaptions

  /// Nil for a track whose captions are no text, or that cannot be decoded.
  /// - Parameter timecode: That of a file whose times are timecodes.
  init?(
    _ stream: UnsafeMutablePointer<AVStream>, _ demuxer: Demuxer, _ timecode: ScenaristTimecode?
  ) throws(MediaError) {
    let (container, name) = (demuxer.formatName, demuxer.name)
    let parameters = stream.pointee.codecpar!
    codec = StoredCodec.name(parameters)
    guard Self.codecs.contains(codec), let decoder = avcodec_find_decoder(parameters.pointee.codec_id) else {
      return nil
    }
    self.name = name
    self.timecode = timecode
    // All properties are set before the first error, so that the decoder is freed.
    format = ScriptEventFormat(name: name)
    isClosed = codec == "eia_608"
    hasWords = container == "webvtt"
    hasEnds = ["srt", "webvtt", "ass"].contains(container)
    timebase = stream.pointee.time_base
    found = TimedCaptions(
      timebase, name: name, header: CaptionsFormat.plainHeader, hasStyles: Self.codecsWithStyles.contains(codec))
    context = try allocated(avcodec_alloc_context3(decoder), "opening the captions of \(name)")
    guard avcodec_parameters_to_context(context, parameters) >= 0 else { return nil }
    context.pointee.pkt_timebase = timebase
    guard avcodec_open2(context, decoder, nil) >= 0 else { return nil }
    let header = UnsafeBufferPointer(
      start: context.pointee.subtitle_header, count: Int(context.pointee.subtitle_header_size))
    format = try ScriptEventFormat(String(decoding: header, as: UTF8.self), container: container, name: name)
    if !isClosed { found.header = format.header }
  }

  /// A decoder of closed captions of CEA-608 that are in packets of their own in no track. Nil: libavcodec has none.
  /// - Parameters:
  ///   - timebase: Seconds a tick of the packets that are added.
  ///   - name: The file's, for messages.
  init?(closedCaptions timebase: AVRational, name: String) throws(MediaError) {
    guard let decoder = avcodec_find_decoder(AV_CODEC_ID_EIA_608) else { return nil }
    (codec, self.name, self.timebase, timecode) = ("eia_608", name, timebase, nil)
    (isClosed, hasWords, hasEnds) = (true, false, false)
    format = ScriptEventFormat(name: name)
    found = TimedCaptions(timebase, name: name, header: CaptionsFormat.plainHeader, hasStyles: false)
    context = try allocated(avcodec_alloc_context3(decoder), "opening the captions of \(name)")
    context.pointee.pkt_timebase = timebase
    guard avcodec_open2(context, decoder, nil) >= 0 else { return nil }
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// Throws `.damaged` for a caption that cannot be decoded, such as text that is not UTF-8, and `.tooLarge`.
  func add(_ packet: Packet) throws(MediaError) {
    guard packet.pts != sheaf_no_pts else { return }
    var length = 0
    if av_packet_get_side_data(packet.pointer, AV_PKT_DATA_WEBVTT_SETTINGS, &length) != nil, length > 0 {
      found.hasCueSettings = true
    }
    // A place on a screen of unknown size, which SRT may have, is not used.
    av_packet_free_side_data(packet.pointer)
    var subtitle = AVSubtitle()
    var isComplete: Int32 = 0
    let marked = try marked(packet)
    let result = avcodec_decode_subtitle2(context, &subtitle, &isComplete, (marked ?? packet).pointer)
    guard result >= 0 else { throw refusal(of: packet, result) }
    guard isComplete != 0 else { return }
    defer { avsubtitle_free(&subtitle) }
    let end = packet.duration > 0 || hasEnds ? packet.pts &+ packet.duration : nil
    try add(subtitle, isClosed ? closedTimes(of: subtitle) : (packet.pts, end), hasMarks: marked != nil)
  }

  /// Adds what the decoder still has after the last packet: the last closed caption, if nothing has removed it.
  func end() throws(MediaError) {
    guard isClosed else { return }
    let flush = try Packet()
    var subtitle = AVSubtitle()
    var isComplete: Int32 = 0
    guard avcodec_decode_subtitle2(context, &subtitle, &isComplete, flush.pointer) >= 0, isComplete != 0 else { return }
    defer { avsubtitle_free(&subtitle) }
    // Nothing says when it ends.
    try add(subtitle, (closedTimes(of: subtitle).start, nil), hasMarks: false)
  }

  /// When closed captions were shown and removed, which the decoder knows.
  private func closedTimes(of subtitle: AVSubtitle) -> (start: Int64, end: Int64?) {
    let milliseconds = AVRational(num: 1, den: 1000)
    let start = av_rescale_q(subtitle.pts, AVRational(num: 1, den: AV_TIME_BASE), milliseconds)
    let end = subtitle.end_display_time == .max ? nil : start + Int64(subtitle.end_display_time)
    func ticks(_ time: Int64) -> Int64 {
      av_rescale_q(timecode?.milliseconds(ofTime: time) ?? time, milliseconds, timebase)
    }
    return (ticks(start), end.map(ticks))
  }

  private func add(
    _ subtitle: AVSubtitle, _ times: (start: Int64, end: Int64?), hasMarks: Bool
  ) throws(MediaError) {
    for index in 0..<Int(subtitle.num_rects) {
      guard let text = subtitle.rects[index]?.pointee.ass else { continue }
      let decoded = String(cString: text)
      var fields = try format.usual(hasMarks ? CueWords.tagged(decoded) : decoded.replacing("\u{1}", with: ""))
      if isClosed { fields = ClosedCaptions.placed(fields) }
      try found.add(start: times.start, end: times.end, fields: fields)
    }
  }

  /// The packet of a cue with times of words, or with voices, which have marks. Nil: it has none.
  private func marked(_ packet: Packet) throws(MediaError) -> Packet? {
    let text = packet.withBytes { bytes in
      // The times of a file of WebVTT are in milliseconds.
      hasWords || codec == "webvtt"
        ? CueWords.marked(webVTT: bytes, start: packet.pts, end: packet.pts &+ packet.duration, hasTimes: hasWords)
        : ["subrip", "srt"].contains(codec) ? CueWords.marked(srt: bytes) : nil
    }
    guard let text else { return nil }
    let bytes = Array(text.utf8)
    let marked = try Packet(byteCount: bytes.count)
    (marked.pts, marked.dts, marked.duration) = (packet.pts, packet.dts, packet.duration)
    try marked.withMutableBytes { $0.copyBytes(from: bytes) }
    return marked
  }

  /// Why a packet cannot be decoded.
  private func refusal(of packet: Packet, _ result: Int32) -> MediaError {
    let time = (Double(packet.pts) * av_q2d(timebase) * 1000).rounded() / 1000
    let error = MediaError(averror: result, operation: "reading captions", subject: name)
    let bytes = UnsafeBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
    // In an MP4 file the text's length is in front of it, and its styles follow.
    let length = bytes.count < 2 ? 0 : Int(bytes[0]) << 8 | Int(bytes[1])
    let text = codec == "mov_text" ? bytes.dropFirst(2).prefix(length) : bytes[...]
    let isText = String(validating: text, as: UTF8.self) != nil
    return MediaError(
      error.code, operation: error.operation, subject: error.subject,
      message: "the caption at \(time) s "
        + (error.code == .damaged && !isText ? "is not text in UTF-8" : "cannot be decoded: \(error.message)"))
  }
}

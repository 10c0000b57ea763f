internal import CMedia
internal import CompositionModel

/// A media file opened for reading its packets. It opens nothing but the source that it is given, and chooses one of
/// `allowedFormats` by the file's content; the file's name is for messages only.
final class Demuxer {
  let name: String
  let context: UnsafeMutablePointer<AVFormatContext>
  private let io: LibavIO
  private let liveness: Liveness?
  /// By stream. Packets' times are returned with their offsets.
  private let discontinuities: [Int: [Discontinuity]]
  /// By stream, how many discontinuities are before the last packet that was read.
  private var passed: [Int: Int] = [:]
  /// By stream, the seconds a tick when it was found. A chained Ogg file's later parts may have others.
  private var timebases: [AVRational] = []
  /// A packet that was read while a stream was looked for, and is to be returned next.
  private var pending: Packet?

  /// - Parameters:
  ///   - format: One of `allowedFormats`, of a file that was recognized. Nil: it is recognized here.
  ///   - discontinuities: By stream, as the file was described.
  ///   - liveness: Advanced with every read of the source and every packet.
  init(
    _ source: any ByteSource, name: String, format: String? = nil, discontinuities: [Int: [Discontinuity]] = [:],
    liveness: Liveness?
  ) throws(MediaError) {
    sheaf_log_capture()
    self.discontinuities = discontinuities
    self.name = name
    self.liveness = liveness
    io = try LibavIO(reading: WebVTTFile(source, name: name) ?? source, liveness: liveness)
    let opening = try allocated(avformat_alloc_context(), "opening a file")
    opening.pointee.pb = io.context
    opening.pointee.format_whitelist = av_strdup(allowedFormats.joined(separator: ","))
    opening.pointee.protocol_whitelist = av_strdup("none")
    sheaf_refuse_other_files(opening)
    var context: UnsafeMutablePointer<AVFormatContext>? = opening
    var options: OpaquePointer?
    // The ffmpeg tool sets it too: without it a transport stream's later programs are not found.
    av_dict_set(&options, "scan_all_pmts", "1", AV_DICT_DONT_OVERWRITE)
    // A frame of an animated PNG that is shown for less than 1/50 s is shown for 1/10 s, like one of a GIF.
    av_dict_set(&options, "max_fps", "50", AV_DICT_DONT_OVERWRITE)
    av_dict_set(&options, "default_fps", "10", AV_DICT_DONT_OVERWRITE)
    let result = avformat_open_input(&context, nil, format.flatMap { av_find_input_format($0) }, &options)
    av_dict_free(&options)
    guard result >= 0, let opened = context else {
      try io.rethrow()
      throw try Demuxer.refusal(result, source: source, name: name)
    }
    self.context = opened
    // It may decode a picture of each track, with a decoder of its own.
    var decoders: [OpaquePointer?] = []
    for _ in 0..<opened.pointee.nb_streams {
      var options: OpaquePointer?
      av_dict_set_int(&options, "max_pixels", Int64(PixelSize.largestArea), 0)
      decoders.append(options)
    }
    let found = avformat_find_stream_info(opened, &decoders)
    for index in decoders.indices { av_dict_free(&decoders[index]) }
    try io.rethrow()
    if found < 0 { throw MediaError(demuxing: found, operation: "looking for the tracks of", subject: name) }
    addTimebases()
  }

  deinit {
    var context: UnsafeMutablePointer<AVFormatContext>? = context
    avformat_close_input(&context)
  }

  private static func refusal(_ result: Int32, source: any ByteSource, name: String) throws(MediaError) -> MediaError {
    guard source.byteCount > 0 else {
      return MediaError(.unrecognized, operation: "opening", subject: name, message: "the file is empty")
    }
    let error = MediaError(demuxing: result, operation: "opening", subject: name)
    // libavformat's own message lists every format that it may open.
    if error.message.contains("not on whitelist") {
      return MediaError(
        .unrecognized, operation: "opening", subject: name,
        message: "it is a playlist or a file of another kind that Sheaf does not open")
    }
    guard result == sheaf_averror(EINVAL) || result == sheaf_error_invalid else { return error }
    if [[0xFF, 0xFE], [0xFE, 0xFF]].contains(try source.bytes(count: 2)) {
      return MediaError(
        .unrecognized, operation: "opening", subject: name, message: "it is text in UTF-16; store the file as UTF-8")
    }
    return MediaError(
      .unrecognized, operation: "opening", subject: name,
      message: "it is not \(kind(of: name)) of a kind that can be opened, or its beginning is damaged: \(error.message)"
    )
  }

  /// What a file should be, by the end of its name.
  private static func kind(of name: String) -> String {
    switch name.split(separator: ".").last?.lowercased() {
    case "ttf", "otf", "ttc", "otc": "a font"
    case "srt", "vtt", "ass", "ssa": "a file of captions"
    default: "a media file"
    }
  }

  /// libavformat's name of the demuxer: all formats that it reads, separated by commas.
  var formatName: String { String(cString: context.pointee.iformat.pointee.name) }

  var streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>?> {
    UnsafeMutableBufferPointer(start: context.pointee.streams, count: Int(context.pointee.nb_streams))
  }

  /// The stream with this index. Throws `.noTrack` if there is none. Where a container lists its tracks nowhere, a
  /// track that begins late is found at its first packet; then the file is read up to that, and the next packet of the
  /// track is the first.
  func stream(_ index: Int) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    if index >= streams.count, context.pointee.ctx_flags & AVFMTCTX_NOHEADER != 0 {
      let packet = try Packet()
      while index >= streams.count, try read(into: packet) {}
      if index < streams.count, Int(packet.pointer.pointee.stream_index) == index { pending = packet }
    }
    guard index >= 0, index < streams.count, let stream = streams[index] else {
      throw MediaError(
        .noTrack, operation: "opening", subject: name,
        message: "there is no track \(index) among its \(streams.count)")
    }
    return stream
  }

  /// From now on `read` returns packets of these streams only.
  func select(where isSelected: (UnsafeMutablePointer<AVStream>) -> Bool) {
    for case let stream? in streams { stream.pointee.discard = isSelected(stream) ? AVDISCARD_DEFAULT : AVDISCARD_ALL }
  }

  /// Reads the next packet; false at the end. A file that is cut off ends there, as it does for the ffmpeg tool.
  /// Headers that a chained Ogg file repeats as packets are left out: they are no pictures.
  func read(into packet: Packet) throws(MediaError) -> Bool {
    if let next = pending {
      pending = nil
      av_packet_unref(packet.pointer)
      av_packet_move_ref(packet.pointer, next.pointer)
      return true
    }
    while try readAny(into: packet) {
      let index = Int(packet.pointer.pointee.stream_index)
      guard let stream = streams[index], packet.repeatsTheoraHeader(of: stream.pointee.codecpar) else { return true }
    }
    return false
  }

  private func readAny(into packet: Packet) throws(MediaError) -> Bool {
    av_packet_unref(packet.pointer)
    var result = av_read_frame(context, packet.pointer)
    var attempts = 1000
    while result == sheaf_error_again, attempts > 0 {
      result = av_read_frame(context, packet.pointer)
      attempts -= 1
    }
    try io.rethrow()
    if result == sheaf_averror(ENOMEM) { throw MediaError(demuxing: result, operation: "reading", subject: name) }
    packet.removeImpossibleTimes()
    keepTimebase(of: packet)
    if !discontinuities.isEmpty { correctTimes(of: packet) }
    liveness?.advance()
    return result >= 0
  }

  /// Reads the next packet of one stream; false at the end.
  func read(into packet: Packet, ofTrack track: Int) throws(MediaError) -> Bool {
    while try read(into: packet) {
      if Int(packet.pointer.pointee.stream_index) == track { return true }
    }
    return false
  }

  private func addTimebases() {
    for index in timebases.count..<max(timebases.count, streams.count) {
      timebases.append(streams[index]?.pointee.time_base ?? AVRational(num: 1, den: 1))
    }
  }

  /// States a packet's times in ticks of the timebase that the stream had when it was found.
  private func keepTimebase(of packet: Packet) {
    if timebases.count < streams.count { addTimebases() }
    let index = Int(packet.pointer.pointee.stream_index)
    guard index < timebases.count, let timebase = streams[index]?.pointee.time_base,
      av_cmp_q(timebase, timebases[index]) != 0
    else { return }
    av_packet_rescale_ts(packet.pointer, timebase, timebases[index])
  }

  private func correctTimes(of packet: Packet) {
    let stream = Int(packet.pointer.pointee.stream_index)
    guard let places = discontinuities[stream] else { return }
    var count = passed[stream] ?? 0
    // A packet without a position begins inside the same bytes as the one before it.
    let position = packet.pointer.pointee.pos
    if position >= 0 {
      while count < places.count, places[count].position <= position { count += 1 }
      while count > 0, places[count - 1].position > position { count -= 1 }
      passed[stream] = count
    }
    let offset = count > 0 ? places[count - 1].offset : 0
    if packet.pts != sheaf_no_pts { packet.pts += offset }
    if packet.dts != sheaf_no_pts { packet.dts += offset }
  }

  /// Seeks to a keyframe at or before a decoding time of a stream. False if the container cannot. The caller must
  /// check which packet follows.
  /// - Parameter position: The keyframe's byte position. It is used in place of the time in a file whose timestamps are
  ///   discontinuous, where a search by time finds nothing.
  func seek(_ index: Int, to timestamp: Int64, position: Int64 = -1) throws(MediaError) -> Bool {
    passed = [:]
    pending = nil
    if !discontinuities.isEmpty {
      // Other demuxers do not find the next packet after a jump to its first byte.
      guard position >= 0, formatName == "mpegts" || formatName == "mpeg" else { return false }
      let result = av_seek_frame(context, Int32(index), position, AVSEEK_FLAG_BYTE)
      try io.rethrow()
      return result >= 0
    }
    let result = av_seek_frame(context, Int32(index), timestamp, AVSEEK_FLAG_BACKWARD)
    try io.rethrow()
    return result >= 0
  }
}

extension Packet {
  /// Whether this is a comment, or a header of Theora that the decoder has been opened with.
  fileprivate func repeatsTheoraHeader(of parameters: UnsafePointer<AVCodecParameters>) -> Bool {
    guard parameters.pointee.codec_id == AV_CODEC_ID_THEORA else { return false }
    return withBytes { bytes in
      guard let first = bytes.first, first & 0x80 != 0 else { return false }
      if first == 0x81 { return true }
      let own = UnsafeRawBufferPointer(
        start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
      return own.count >= bytes.count
        && (0...(own.count - bytes.count)).contains { own[$0..<($0 + bytes.count)].elementsEqual(bytes) }
    }
  }

  /// Treats times beyond 2^56 ticks as missing, so that sums and differences of times cannot overflow.
  fileprivate func removeImpossibleTimes() {
    let possible = -(Int64(1) << 56)...(Int64(1) << 56)
    if !possible.contains(pts) { pts = sheaf_no_pts }
    if !possible.contains(dts) { dts = sheaf_no_pts }
    if !possible.contains(duration) { duration = 0 }
  }
}

/// libavformat's names of the file formats that are opened: those that hold their media themselves. Formats that refer
/// to other files (playlists, concatenations, image sequences) are left out.
private let allowedFormats = [
  // Movies.
  "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "mpegts", "mpeg", "avi", "ogg", "flv", "live_flv", "asf", "dv", "mxf",
  "gxf", "nut", "rm", "swf", "ivf", "wtv", "dvr_ms", "yuv4mpegpipe",
  // Bare video streams.
  "mpegvideo", "h264", "hevc", "m4v", "h263", "h261", "vc1", "vc1test", "obu", "av1", "mjpeg", "dirac", "cavsvideo",
  // Audio.
  "wav", "w64", "aiff", "au", "caf", "mp3", "flac", "aac", "loas", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp",
  "tta", "wv", "ape", "amr", "amrnb", "amrwb", "voc", "tak", "aptx", "gsm",
  // Captions.
  "srt", "webvtt", "ass", "scc",
  // Still images and animations.
  "gif", "apng", "png_pipe", "jpeg_pipe", "jpegls_pipe", "webp_pipe", "bmp_pipe", "tiff_pipe", "j2k_pipe",
  "jpegxl_pipe", "dpx_pipe", "exr_pipe", "psd_pipe", "ppm_pipe", "pgm_pipe", "pgmyuv_pipe", "pbm_pipe", "pam_pipe",
  "qoi_pipe", "sgi_pipe", "sunrast_pipe", "hdr_pipe", "xbm_pipe", "xpm_pipe", "gif_pipe",
]

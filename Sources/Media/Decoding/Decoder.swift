internal import CMedia
import CompositionModel

/// A packet of which a decoder has logged something, or that it could not use.
struct PacketReport {
  /// The packet's presentation time; `sheaf_no_pts` if it has none.
  var time: Int64
  /// Whether the packet is damaged, or what it needs is. If not, the message may mean nothing.
  var isError: Bool
  /// Whether what it needs is missing from the stream, of which the codec reports nothing.
  var isAfterLoss = false

  /// Whether the packet is damaged and has no samples, if `frame` has the first ones that were decoded since.
  func isLost(before frame: UnsafePointer<AVFrame>) -> Bool {
    isError && time != frame.pointee.best_effort_timestamp
  }
}

/// What follows the last packet of a track, in ticks of the track's timebase.
struct PacketsEnd {
  /// The decoding time that would follow that of the last packet; `sheaf_no_pts` if the packets do not show it.
  var time: Int64
  /// The duration of a frame by the rate that the codec states; 0 if it states none.
  var step: Int64
}

/// One codec, decoding in the calling thread as the ffmpeg tool does by default.
final class Decoder {
  let context: UnsafeMutablePointer<AVCodecContext>
  private let name: String
  /// Whether libavcodec flags each picture of which the decoder has concealed a part.
  let flagsConcealment: Bool
  private var isDraining = false
  private var failures = 0
  /// What the codec has logged in this thread before the last call.
  private var messages = sheaf_codec_messages_now()
  /// The time of the last packet that was sent.
  private var packetTime = sheaf_no_pts
  /// That of the last packet that was sent, and its duration later.
  private var nextDecodingTime = sheaf_no_pts
  /// The packets of which the decoder has reported something, in order, since they were last taken.
  private var reports: [PacketReport] = []
  /// The first error that the codec reported for the data.
  private(set) var firstFailure: MediaError?

  /// Throws `.unsupported` if this build has no decoder for the stream.
  /// - Parameter fillsBuffers: Whether what the decoder leaves out of a picture is always the same. If not, it may be
  ///   of any earlier picture, and depends on which ones the caller has kept.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, name: String, fillsBuffers: Bool = false
  ) throws(MediaError) {
    self.name = name
    let parameters = stream.pointee.codecpar!
    guard let codec = Decoder.codec(of: stream) else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name,
        message: "track \(stream.pointee.index) is \(StoredCodec.name(parameters)), which this build cannot decode")
    }
    let greatestArea = try Decoder.greatestArea(parameters, name)
    context = try allocated(avcodec_alloc_context3(codec), "making a decoder")
    flagsConcealment = Decoder.flagsConcealment(codec.pointee.id)
    // From here on a throw runs deinit, which frees the context.
    try check(avcodec_parameters_to_context(context, parameters), "setting up the decoder of", name)
    try context.correctHead()
    context.pointee.pkt_timebase = stream.pointee.time_base
    context.pointee.thread_count = 1
    context.pointee.max_pixels = greatestArea
    if fillsBuffers || Decoder.leavesPartsOut(codec.pointee.id) { sheaf_fill_buffers(context) }
    try check(
      avcodec_open2(context, codec, nil), "opening the \(String(cString: codec.pointee.name)) decoder for", name)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// The most pixels that a picture of a track may have. Throws `.tooLarge` if the file's first one has more.
  private static func greatestArea(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ name: String
  ) throws(MediaError) -> Int64 {
    let format = FrameFormat(rawValue: parameters.pointee.format)
    let isDeep = parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO && format.isRGB && format.bitDepth > 8
    let greatest = isDeep ? PixelSize.largestDeepArea : PixelSize.largestArea
    let (width, height) = (Int(parameters.pointee.width), Int(parameters.pointee.height))
    if width * height > greatest {
      let depth = isDeep ? " of more than 8 bits" : ""
      throw MediaError(
        .tooLarge, operation: "opening", subject: name,
        message: "\(width)x\(height) pixels\(depth); at most \(greatest) in all are allowed")
    }
    return Int64(greatest)
  }

  /// The decoder of a stream. That of VP8 or VP9 with alpha, which is coded as a picture of its own beside each
  /// picture, is libvpx's: libavcodec's own ignores the alpha.
  private static func codec(of stream: UnsafeMutablePointer<AVStream>) -> UnsafePointer<AVCodec>? {
    let id = stream.pointee.codecpar.pointee.codec_id
    if StoredCodec.hasAlphaBeside(stream),
      let codec = avcodec_find_decoder_by_name(id == AV_CODEC_ID_VP8 ? "libvpx" : "libvpx-vp9")
    {
      return codec
    }
    return avcodec_find_decoder(id)
  }

  /// Whether the decoder leaves what it cannot decode of a picture as it finds it in the buffer. Decoders of other
  /// codecs conceal it, or give no picture.
  private static func leavesPartsOut(_ codec: AVCodecID) -> Bool {
    switch codec {
    case AV_CODEC_ID_HEVC, AV_CODEC_ID_VP7, AV_CODEC_ID_VP8, AV_CODEC_ID_FFV1: return true
    default:
      guard let descriptor = avcodec_descriptor_get(codec) else { return false }
      return descriptor.pointee.type == AVMEDIA_TYPE_VIDEO && descriptor.pointee.props & AV_CODEC_PROP_INTRA_ONLY != 0
    }
  }

  /// Whether libavcodec flags each picture of which the decoder has concealed a part.
  private static func flagsConcealment(_ codec: AVCodecID) -> Bool {
    switch codec {
    case AV_CODEC_ID_H264, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H263,
      AV_CODEC_ID_H263I, AV_CODEC_ID_H263P, AV_CODEC_ID_FLV1, AV_CODEC_ID_MSMPEG4V1, AV_CODEC_ID_MSMPEG4V2,
      AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_WMV1, AV_CODEC_ID_WMV2, AV_CODEC_ID_WMV3, AV_CODEC_ID_VC1, AV_CODEC_ID_RV10,
      AV_CODEC_ID_RV20, AV_CODEC_ID_RV30, AV_CODEC_ID_RV40:
      true
    default: false
    }
  }

  /// Nil before the end.
  var end: PacketsEnd? {
    guard isDraining else { return nil }
    let rate = context.pointee.framerate
    let isKnown = rate.num > 0 && rate.den > 0
    let step = isKnown ? av_rescale_q(1, AVRational(num: rate.den, den: rate.num), context.pointee.pkt_timebase) : 0
    return PacketsEnd(time: nextDecodingTime, step: step)
  }

  /// The reports since the last call.
  func takeReports() -> [PacketReport] {
    defer { reports = [] }
    return reports
  }

  /// Adds a report of a packet that is sent next.
  func reportLoss(before packet: Packet) {
    reports.append(PacketReport(time: packet.pts, isError: true, isAfterLoss: true))
  }

  /// Records what the last call has reported of the packet.
  private func record(_ result: Int32) {
    let now = sheaf_codec_messages_now()
    let isFailure = result < 0 && result != sheaf_error_again && result != sheaf_error_end
    guard isFailure || now.all != messages.all else { return }
    let isError = isFailure || now.errors != messages.errors
    messages = now
    if let last = reports.last, last.time == packetTime {
      reports[reports.count - 1].isError = last.isError || isError
    } else {
      reports.append(PacketReport(time: packetTime, isError: isError))
    }
  }

  /// Sends a packet, or nil for the end. A packet that the codec cannot use is skipped, as the ffmpeg tool does.
  /// `receive` must have returned false before.
  func send(_ packet: Packet?) throws(MediaError) {
    if packet == nil { isDraining = true }
    if let packet {
      packetTime = packet.pts
      let isTimed = packet.dts != sheaf_no_pts && packet.duration > 0
      nextDecodingTime = isTimed ? packet.dts &+ packet.duration : sheaf_no_pts
      // libavcodec's decoders of MPEG audio state the rate only of the frames after a header.
      if MPEGAudioHeader.begins(context.pointee.codec_id), let header = packet.withBytes(MPEGAudioHeader.init) {
        context.pointee.sample_rate = header.sampleRate
      }
    }
    messages = sheaf_codec_messages_now()
    let corrected = try packet?.corrected(for: context.pointee.codec_id)
    let result = avcodec_send_packet(context, corrected?.pointer)
    record(result)
    try tolerate(result)
  }

  /// Fills `frame` with the next picture or samples; false if another packet is needed, and after the last.
  func receive(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> Bool {
    while true {
      messages = sheaf_codec_messages_now()
      let result = avcodec_receive_frame(context, frame)
      record(result)
      if result >= 0 { return true }
      if result == sheaf_error_again || result == sheaf_error_end { return false }
      try tolerate(result)
      if !isDraining { return false }
      // Without a limit, a decoder that fails each time while it is drained would be called endlessly.
      failures += 1
      if failures > 1000 { return false }
    }
  }

  private func tolerate(_ result: Int32) throws(MediaError) {
    guard result < 0, result != sheaf_error_end else { return }
    var error = MediaError(averror: result, operation: "decoding", subject: name)
    if error.code == .outOfMemory { throw error }
    if let end = error.message.firstRange(of: " exceeds specified max pixel count")?.lowerBound {
      error = MediaError(
        .tooLarge, operation: "decoding", subject: name,
        message: "\(error.message[..<end]): a picture has at most \(context.pointee.max_pixels) pixels")
    }
    firstFailure = firstFailure ?? error
  }
}

/// Decodes the packets of one track, from the demuxer's position to the end of the file.
final class TrackDecoder {
  private let decoder: Decoder
  private let demuxer: Demuxer
  private let track: Int
  private let packet: Packet
  private let liveness: Liveness?
  private var unneeded: UnneededPictures?
  private var lost: LostPictures?
  private var hasPacket: Bool
  private var isAtEnd = false

  /// - Parameters:
  ///   - packet: Used for reading.
  ///   - hasPacket: Whether `packet` holds the track's first packet to decode.
  ///   - unneeded: What is not decoded. Nil: everything is.
  ///   - liveness: Advanced with every picture or block of samples.
  init(
    _ decoder: Decoder, _ demuxer: Demuxer, track: Int, packet: Packet, hasPacket: Bool,
    leavingOut unneeded: UnneededPictures? = nil, liveness: Liveness?
  ) {
    self.unneeded = unneeded
    lost = (try? demuxer.stream(track)).flatMap { LostPictures($0.pointee.codecpar) }
    self.liveness = liveness
    self.decoder = decoder
    self.demuxer = demuxer
    self.track = track
    self.packet = packet
    self.hasPacket = hasPacket
  }

  /// The first error that the codec reported for the data.
  var firstFailure: MediaError? { decoder.firstFailure }

  /// Nil before the end.
  var end: PacketsEnd? { decoder.end }

  /// Frames before the last one at or before a time may be left out from now on, if others were before.
  func show(at time: Int64) { unneeded?.show(at: time) }

  /// The packets of which the decoder has reported something since the last call, in decoding order.
  func takeReports() -> [PacketReport] { decoder.takeReports() }

  /// Whether libavcodec flags each picture of which the decoder has concealed a part. If not, a report that is an error
  /// is what shows that a picture is damaged.
  var flagsConcealment: Bool { decoder.flagsConcealment }

  /// Fills `frame` with the next picture or samples; false after the last.
  func decode(into frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> Bool {
    while true {
      if try decoder.receive(frame) {
        liveness?.advance()
        return true
      }
      if isAtEnd { return false }
      if !hasPacket { hasPacket = try demuxer.read(into: packet, ofTrack: track) }
      if hasPacket, lost?.areMissing(before: packet) ?? false { decoder.reportLoss(before: packet) }
      if hasPacket, unneeded?.leavesOut(packet) ?? false {
        hasPacket = false
        continue
      }
      isAtEnd = !hasPacket
      try decoder.send(hasPacket ? packet : nil)
      hasPacket = false
    }
  }
}

extension Packet {
  /// Gives the decoder what packets before this one would have left in it.
  func prepend(_ state: DecoderState) throws(MediaError) {
    if !state.headers.isEmpty {
      let joined = try Packet(byteCount: state.headers.count + byteCount)
      try joined.withMutableBytes { target throws(MediaError) in
        target.copyBytes(from: state.headers)
        withBytes { UnsafeMutableRawBufferPointer(rebasing: target[state.headers.count...]).copyMemory(from: $0) }
      }
      try check(av_packet_copy_props(joined.pointer, pointer), "copying", "a packet")
      av_packet_unref(pointer)
      av_packet_move_ref(pointer, joined.pointer)
    }
    if let record = state.record { try add(record, as: AV_PKT_DATA_NEW_EXTRADATA) }
    if let palette = state.palette { try add(palette, as: AV_PKT_DATA_PALETTE) }
  }

  private func add(_ bytes: [UInt8], as type: AVPacketSideDataType) throws(MediaError) {
    let data = try allocated(av_packet_new_side_data(pointer, type, bytes.count), "adding data to a packet")
    UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyBytes(from: bytes)
  }
}

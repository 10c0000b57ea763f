internal import CMedia
package import CompositionModel

/// Encodes one segment's pictures in one thread: closed groups, an IDR first, parameter sets that depend on the settings
/// alone, so that pieces of one film fit behind one another.
package final class VideoEncoder {
  /// What the piece's packets need; known before the first frame. Its timebase is the frame duration.
  package let header: PieceHeader
  private let encoder: Encoder
  private let size: PixelSize
  private let format: FrameFormat

  /// - Throws: `.unsupported` where the settings do not go together (profile and pixel format, an odd size in 4:2:0).
  package init(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, pixelAspect: AspectRatio = .square
  ) throws(MediaError) {
    self.size = size
    format = FrameFormat(settings.pixelFormat)
    try PictureLimits.check(size, subject: "the \(settings.codec.rawValue) encoder")
    encoder = try Encoder(settings.codec == .h264 ? "libx264" : "ffv1")
    try VideoEncoder.configure(encoder.context, settings, size, frameDuration, pixelAspect)
    try encoder.open(VideoEncoder.options(settings, size))
    let context = encoder.context.pointee
    header = PieceHeader(
      codec: settings.codec.rawValue, timebase: frameDuration, extradata: encoder.extradata,
      profile: Int(context.profile), level: Int(context.level), bitRate: Int(context.bit_rate),
      media: .video(
        EncodedVideo(
          size: size, pixelFormat: format.name, pixelAspect: pixelAspect, colour: settings.colour,
          reorderDepth: Int(context.has_b_frames))))
  }

  private static func configure(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ settings: VideoSettings, _ size: PixelSize,
    _ frameDuration: MediaTime, _ pixelAspect: AspectRatio
  ) throws(MediaError) {
    guard let ticks = Int32(exactly: frameDuration.value), ticks > 0, frameDuration.timescale > 0,
      let interval = Int32(exactly: settings.keyframeInterval), interval > 0
    else {
      throw MediaError(
        .invalidRequest, operation: "encoding", subject: settings.codec.rawValue,
        message: "a frame duration of \(frameDuration) s and a keyframe interval of \(settings.keyframeInterval) "
          + "frames; both must be positive")
    }
    let colour = ColourNumbers(settings.colour)
    context.pointee.width = Int32(size.width)
    context.pointee.height = Int32(size.height)
    context.pointee.pix_fmt = FrameFormat(settings.pixelFormat).avFormat
    context.pointee.time_base = AVRational(num: ticks, den: frameDuration.timescale)
    context.pointee.framerate = AVRational(num: frameDuration.timescale, den: ticks)
    context.pointee.sample_aspect_ratio = AVRational(
      num: Int32(clamping: pixelAspect.horizontal), den: Int32(clamping: pixelAspect.vertical))
    context.pointee.color_primaries = colour.primaries
    context.pointee.color_trc = colour.transfer
    context.pointee.colorspace = colour.matrix
    context.pointee.color_range = colour.range
    context.pointee.chroma_sample_location = colour.location
    context.pointee.flags |= sheaf_flag_closed_gop
    context.pointee.gop_size = settings.codec == .ffv1 ? 1 : interval
    if case .averageBitRate(let rate) = settings.rateControl { context.pointee.bit_rate = Int64(rate) }
    if settings.codec == .ffv1 {
      context.pointee.level = 3
      // Fixed, or libavcodec would choose by the number of threads. It wants at least four above this size.
      context.pointee.slices = size.width > 352 || size.height > 288 ? 4 : 1
    }
  }

  private static func options(_ settings: VideoSettings, _ size: PixelSize) -> [(key: String, value: String)] {
    guard settings.codec == .h264 else { return [("slicecrc", "1"), ("context", "0"), ("coder", "range_def")] }
    let preset = settings.preset ?? "medium"
    var options = [(key: "preset", value: preset)]
    if case .quality(let factor) = settings.rateControl { options.append(("crf", "\(factor)")) }
    if let profile = settings.profile { options.append(("profile", profile)) }
    // `stitchable` keeps the pictures' contents out of the parameter sets. Without `cpu-independent` bytes differ between
    // processor types, and with AVX-512 even from run to run: x264 164 reads memory there that it has not written.
    var parameters = "stitchable=1:cpu-independent=1:open-gop=0:threads=1:lookahead-threads=1:sliced-threads=0"
    if let frames = lookahead(preset, size) { parameters += ":rc-lookahead=\(frames)" }
    options.append(("x264-params", parameters))
    options.append(("a53cc", "0"))
    return options
  }

  /// How many frames x264 may look ahead where its preset's own number would take too much memory: a frame of 1080p
  /// takes 6.6 MB there. Nil is the preset's.
  private static func lookahead(_ preset: String, _ size: PixelSize) -> Int? {
    let presets = [
      "ultrafast": 0, "superfast": 0, "veryfast": 10, "faster": 20, "fast": 30, "medium": 40, "slow": 50, "slower": 60,
      "veryslow": 60, "placebo": 60,
    ]
    let bound = max(10, 42_000_000 / (size.width * size.height))
    return (presets[preset] ?? 0) > bound ? bound : nil
  }

  /// Takes the next picture, which must have the settings' size and pixel format. The frame is shared, not copied, and
  /// not changed: the encoder may look at it until `receive` has given its packet. `pts` counts frames from 0.
  package func send(_ frame: Frame, pts: Int64) throws(MediaError) {
    guard frame.size == size, frame.format == format else {
      throw MediaError(
        .invalidRequest, operation: "encoding with", subject: encoder.name,
        message: "a frame of \(frame.size.width)x\(frame.size.height) \(frame.format) where "
          + "\(size.width)x\(size.height) \(format) is encoded")
    }
    let sent = try frame.reference()
    sent.forgetOrigin()
    sent.pts = pts
    try encoder.send(sent)
  }

  /// No more pictures come; `receive` gives what is left.
  package func finish() throws(MediaError) {
    try encoder.send(nil)
  }

  /// The next packet, pts and dts in ticks of the frame duration; nil when it wants another frame, or after the last.
  package func receive() throws(MediaError) -> Packet? {
    guard let packet = try encoder.receive() else { return nil }
    packet.duration = 1
    return packet
  }
}

extension Frame {
  /// Removes what an encoder would take over from the frame's source: its picture type, its captions and other side data.
  fileprivate func forgetOrigin() {
    pointer.pointee.pict_type = AV_PICTURE_TYPE_NONE
    pointer.pointee.key_frame = 0
    pointer.pointee.quality = 0
    pointer.pointee.interlaced_frame = 0
    pointer.pointee.repeat_pict = 0
    pointer.pointee.pkt_duration = 0
    while pointer.pointee.nb_side_data > 0, let first = pointer.pointee.side_data[0] {
      av_frame_remove_side_data(pointer, first.pointee.type)
    }
  }
}

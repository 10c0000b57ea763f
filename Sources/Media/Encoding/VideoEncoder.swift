internal import CMedia
package import CompositionModel
package import PieceFiles

/// Encodes the frames of one segment. Groups of pictures are closed and the first frame is a keyframe.
/// The parameter sets depend on the settings alone, so that pieces of one film can follow one another.
package final class VideoEncoder {
  /// What a reader of the piece's packets needs. It is complete before the first frame. Its timebase is the frame
  /// duration.
  package let header: PieceHeader
  let encoder: Encoder
  let size: PixelSize
  let format: FrameFormat
  /// Makes the pictures that the encoder takes. Nil: it takes frames as they are.
  private let pictures: ScreenPictures?
  /// What of its packets is stored.
  private let packets: EncoderPackets
  /// What the set-up states; nil if the encoder's own decoding times are used.
  private let reorderDepth: Int?
  private var frameCount: Int64 = 0
  private var packetCount: Int64 = 0
  private var last: Frame?
  /// Where the settings fix keyframes. Nil: nowhere.
  private let keyframes: FixedKeyframes?
  private var isFinished = false
  /// What is still to be sent after the last frame, and what is sent at all.
  private var framesAfterEnd: (left: Int, all: Int)
  /// Makes packets refer to the parameter sets of copied pictures. Nil: they have the encoder's own.
  private var retargeting: AVCRetargeting?

  /// - Parameters:
  ///   - keyframes: The frames that are keyframes if the settings have a grid. Nil: those of the grid, counted from the
  ///     first frame.
  ///   - limit: What the encoder is held to, with a buffer that is full at first. Nil: there is no limit.
  ///   - isMeasuring: whether the encoder is the codec's fast one, whose packets are counted and not kept.
  ///   - parameterSets: Those of the copied pictures of a film of H.264, as a container stores them, to which the
  ///     encoded ones refer too. Nil: they have the encoder's own.
  /// - Throws: `.unsupported` if the settings contradict one another (profile and pixel format, an odd size in 4:2:0).
  package init(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, keyframes: [Int]? = nil,
    limit: RateLimit? = nil,
    isMeasuring: Bool = false, parameterSets: [UInt8]? = nil
  ) throws(MediaError) {
    let codec = settings.codec.definition
    let pixelAspect = settings.pixelAspect ?? .square
    self.size = size
    self.keyframes = settings.keyframeGrid.map { FixedKeyframes(grid: $0, listed: keyframes.map { Set($0) }) }
    format = FrameFormat(settings.pixelFormat)
    try size.check("the \(codec.name) encoder")
    let setup = isMeasuring ? codec.measuringSetup(settings, size: size) : codec.encoderSetup(settings, size: size)
    reorderDepth = setup.reorderDepth
    framesAfterEnd = (setup.framesAfterEnd, setup.framesAfterEnd)
    packets = setup.packets
    pictures = try setup.pictures.map { [format] pictures throws(MediaError) in
      try ScreenPictures(pictures, size: size, film: format, colour: settings.colour)
    }
    let screen = pictures
    func opened(_ options: [(key: String, value: String)]) throws(MediaError) -> Encoder {
      let encoder = try Encoder(setup.encoder, isAlone: setup.isAlone)
      try VideoEncoder.configure(encoder.context, setup, settings, size, frameDuration, pixelAspect)
      if let screen { VideoEncoder.configure(encoder.context, for: screen) }
      if let limit {
        encoder.context.pointee.rc_max_rate = Int64(limit.bitRate)
        encoder.context.pointee.rc_buffer_size = Int32(clamping: limit.bufferSize)
        encoder.context.pointee.rc_initial_buffer_occupancy = encoder.context.pointee.rc_buffer_size
      }
      try encoder.open(options)
      return encoder
    }
    if let parameterSets {
      let target = try AVCTarget(parameterSets, subject: codec.name)
      (encoder, retargeting) = try VideoEncoder.fitted(to: target, setup.options, opened)
    } else {
      encoder = try opened(setup.options)
    }
    let context = encoder.context.pointee
    let own = PieceHeader(
      codec: codec.name, timebase: frameDuration, extradata: encoder.extradata,
      profile: Int(context.profile), level: Int(context.level), bitRate: Int(context.bit_rate),
      quickTimeTag: codec.quickTimeTag(settings),
      media: .video(
        EncodedVideo(
          size: size, pixelFormat: format.name, pixelAspect: pixelAspect, colour: settings.colour,
          hdr: settings.hdr, reorderDepth: setup.reorderDepth ?? Int(context.has_b_frames))))
    header = parameterSets.map { AVCTarget.stated(own, $0) } ?? own
  }

  /// An encoder whose pictures can refer to other parameter sets. Some of what x264 has is known only once it is open.
  private static func fitted(
    to target: AVCTarget, _ options: [(key: String, value: String)],
    _ open: ([(key: String, value: String)]) throws(MediaError) -> Encoder
  ) throws(MediaError) -> (Encoder, AVCRetargeting) {
    var request = target.firstRequest
    while true {
      var own = options
      for index in own.indices where own[index].key == "x264-params" {
        own[index].value += target.parameters(request)
      }
      let encoder = try open(own)
      guard let sets = AVCParameterSets(encoder.extradata) else {
        throw MediaError(
          .unsupported, operation: "setting up", subject: encoder.name, message: "its parameter sets cannot be read")
      }
      let next = try target.nextRequest(
        after: request, own: sets, reorderDepth: Int(encoder.context.pointee.has_b_frames))
      guard let next else { return (encoder, AVCRetargeting(sets, to: target.sets)) }
      request = next
    }
  }

  private static func configure(
    _ context: UnsafeMutablePointer<AVCodecContext>, _ setup: VideoEncoderSetup, _ settings: VideoSettings,
    _ size: PixelSize, _ frameDuration: MediaTime, _ pixelAspect: AspectRatio
  ) throws(MediaError) {
    guard let ticks = Int32(exactly: frameDuration.value), ticks > 0, frameDuration.timescale > 0,
      let interval = Int32(exactly: setup.keyframeInterval), interval > 0
    else {
      throw MediaError(
        .invalidRequest, operation: "encoding", subject: settings.codec.rawValue,
        message: "a frame duration of \(frameDuration) s and a keyframe interval of \(setup.keyframeInterval) "
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
    context.pointee.gop_size = interval
    if let bitRate = setup.bitRate { context.pointee.bit_rate = Int64(bitRate) }
    if let level = setup.level { context.pointee.level = Int32(clamping: level) }
    if let profile = setup.profile { context.pointee.profile = Int32(clamping: profile) }
    if let slices = setup.slices { context.pointee.slices = Int32(clamping: slices) }
  }

  /// Of pictures for screens nothing is stated of their colours.
  private static func configure(_ context: UnsafeMutablePointer<AVCodecContext>, for pictures: ScreenPictures) {
    context.pointee.pix_fmt = pictures.format.avFormat
    context.pointee.color_primaries = AVCOL_PRI_UNSPECIFIED
    context.pointee.color_trc = AVCOL_TRC_UNSPECIFIED
    context.pointee.colorspace = AVCOL_SPC_UNSPECIFIED
    context.pointee.color_range = AVCOL_RANGE_UNSPECIFIED
    context.pointee.chroma_sample_location = AVCHROMA_LOC_UNSPECIFIED
  }

  /// Encodes the next frame, which must have the settings' size and pixel format. `pts` counts frames from 0. The frame
  /// is shared and not copied: the encoder may read it as long as it exists, and does not change it.
  package func send(_ frame: Frame, pts: Int64) throws(MediaError) {
    guard frame.size == size, frame.format == format else {
      throw MediaError(
        .invalidRequest, operation: "encoding with", subject: encoder.name,
        message: "a frame of \(frame.size.width)x\(frame.size.height) \(frame.format) where "
          + "\(size.width)x\(size.height) \(format) is encoded")
    }
    let sent = if let pictures { try pictures.picture(of: frame, pts: pts) } else { try frame.reference() }
    sent.forgetOrigin()
    sent.pts = pts
    if keyframes?.contains(frame: pts) == true { sent.pointer.pointee.pict_type = AV_PICTURE_TYPE_I }
    try encoder.send(sent)
    frameCount += 1
    if framesAfterEnd.all > 0 { last = sent }
  }

  /// Sets the rate factor of the frames whose encoding begins from the next `send` on. The encoder must have been set
  /// up with a quality. The frames that it looks ahead at have been sent already, and are encoded with it too. After
  /// `finish` the last one stays.
  package func setRateFactor(_ factor: Double) throws(MediaError) {
    try check(
      av_opt_set_double(encoder.context.pointee.priv_data, "crf", factor, 0), "setting the rate factor of", encoder.name
    )
  }

  /// Ends the stream. `receive` then returns the remaining packets.
  package func finish() {
    isFinished = true
  }

  /// The next packet, with pts and dts in ticks of the frame duration. Nil if the encoder needs another frame first, or
  /// after the last packet.
  package func receive() throws(MediaError) -> Packet? {
    // What follows belongs to the frames after the end.
    if framesAfterEnd.all > 0, isFinished, packetCount == frameCount { return nil }
    var received = try encoder.receive()
    while received == nil, isFinished, try sendAfterEnd() { received = try encoder.receive() }
    guard let encoded = received else { return nil }
    var packet = try StoredPictures.stored(encoded, as: packets, isFirst: packetCount == 0, name: encoder.name)
    if let bytes = try retargeting?.retargeted(packet.withBytes { [UInt8]($0) }) {
      packet = try Packet(copying: bytes, timesOf: packet)
    }
    packet.duration = 1
    // x265 has no decoding times for a stream that is shorter than its delay.
    if let reorderDepth { packet.dts = packetCount - Int64(reorderDepth) }
    packetCount += 1
    return packet
  }

  /// Sends the next frame after the end, or that nothing follows. Returns false if that has been sent.
  private func sendAfterEnd() throws(MediaError) -> Bool {
    guard framesAfterEnd.left > 0, let last else { return try encoder.end() }
    let sent = try last.reference()
    sent.pts = last.pts + Int64(framesAfterEnd.all - framesAfterEnd.left + 1)
    // No frame before the keyframe refers to what follows it.
    sent.pointer.pointee.pict_type =
      framesAfterEnd.left == framesAfterEnd.all ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
    framesAfterEnd.left -= 1
    try encoder.send(sent)
    return true
  }
}

/// The frames that an encoder is told to make keyframes.
private struct FixedKeyframes {
  let grid: KeyframeGrid
  /// Nil: those of the grid.
  let listed: Set<Int>?

  func contains(frame pts: Int64) -> Bool {
    guard let frame = Int(exactly: pts), frame >= 0 else { return false }
    return listed?.contains(frame) ?? (grid.nearest(to: frame) == frame)
  }
}

extension Frame {
  /// Removes what an encoder would copy from the frame's source: its picture type, its captions and other side data.
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

internal import CMedia
package import CompositionModel

/// The properties of a piece's packets that a decoder or a container needs. They are equal in all pieces of one output
/// track.
package struct PieceHeader: Sendable, Hashable, Codable {
  package enum Media: Sendable, Hashable, Codable {
    case video(EncodedVideo)
    case audio(EncodedAudio)
  }

  /// libavcodec's name of the codec, such as `h264`, `aac` or `pcm_s24le`.
  package var codec: String
  /// Seconds a tick of the packets' timestamps: the frame duration for video, the duration of a sample for audio.
  package var timebase: MediaTime
  /// The codec's parameter sets in the form that containers store; may be empty.
  package var extradata: [UInt8]
  /// libavcodec's number; negative if the codec has none.
  package var profile: Int
  /// libavcodec's number; negative if the codec has none.
  package var level: Int
  /// Bits a second that the encoder was set to; 0 if it has no target.
  package var bitRate: Int
  /// The four characters by which QuickTime files name the codec; nil: the muxer's own choice.
  package var quickTimeTag: String?
  package var media: Media

  package init(
    codec: String, timebase: MediaTime, extradata: [UInt8], profile: Int, level: Int, bitRate: Int,
    quickTimeTag: String? = nil, media: Media
  ) {
    self.codec = codec
    self.timebase = timebase
    self.extradata = extradata
    self.profile = profile
    self.level = level
    self.bitRate = bitRate
    self.quickTimeTag = quickTimeTag
    self.media = media
  }
}

/// The video in a piece.
package struct EncodedVideo: Sendable, Hashable, Codable {
  package var size: PixelSize
  /// libavutil's name of the decoded pixel format.
  package var pixelFormat: String
  package var pixelAspect: AspectRatio
  package var colour: ColourTags
  package var hdr: HDRMetadata?
  /// In frames: minus the first packet's dts, where the first frame shown has pts 0. Packet i in decoding order is
  /// decoded at i - reorderDepth, so that no packet is shown before it is decoded. 0 if packets are in order of
  /// presentation.
  package var reorderDepth: Int

  package init(
    size: PixelSize, pixelFormat: String, pixelAspect: AspectRatio, colour: ColourTags, hdr: HDRMetadata? = nil,
    reorderDepth: Int
  ) {
    self.hdr = hdr
    self.size = size
    self.pixelFormat = pixelFormat
    self.pixelAspect = pixelAspect
    self.colour = colour
    self.reorderDepth = reorderDepth
  }
}

/// The audio in a piece.
package struct EncodedAudio: Sendable, Hashable, Codable {
  /// Samples a second of each channel.
  package var sampleRate: Int
  package var channels: Int
  /// libavutil's description of the layout, such as `stereo` or `5.1`.
  package var layout: String
  /// Samples a packet; 0 if packets may hold any number.
  package var frameSize: Int
  /// Samples that a decoder returns before the first encoded one, and that are not presented. The first packet's pts is
  /// minus this.
  package var initialPadding: Int
  /// Bits a coded sample; 0 if the codec has no bit depth.
  package var bitDepth: Int

  package init(
    sampleRate: Int, channels: Int, layout: String, frameSize: Int, initialPadding: Int, bitDepth: Int
  ) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.layout = layout
    self.frameSize = frameSize
    self.initialPadding = initialPadding
    self.bitDepth = bitDepth
  }
}

extension PieceHeader {
  var isVideo: Bool {
    if case .video = media { true } else { false }
  }

  var avTimebase: AVRational { AVRational(num: Int32(clamping: timebase.value), den: max(1, timebase.timescale)) }

  /// Sets a stream's parameters to those of the piece's packets.
  func fill(_ stream: UnsafeMutablePointer<AVStream>, _ subject: String) throws(MediaError) {
    guard let descriptor = avcodec_descriptor_get_by_name(codec), timebase.value > 0, timebase.isNumeric,
      timebase.value <= Int64(Int32.max)
    else {
      throw MediaError(
        .invalidPiece, operation: "writing", subject: subject,
        message: "a piece of codec '\(codec)' with ticks of \(timebase) s")
    }
    let parameters = stream.pointee.codecpar!
    parameters.pointee.codec_type = descriptor.pointee.type
    parameters.pointee.codec_id = descriptor.pointee.id
    parameters.pointee.profile = Int32(clamping: profile)
    parameters.pointee.level = Int32(clamping: level)
    parameters.pointee.bit_rate = Int64(bitRate)
    if !extradata.isEmpty {
      let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
      let copy = try allocated(av_mallocz(extradata.count + padding), "opening the output")
      copy.copyMemory(from: extradata, byteCount: extradata.count)
      parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
      parameters.pointee.extradata_size = Int32(extradata.count)
    }
    switch media {
    case .video(let video):
      try video.size.check(subject)
      video.fill(parameters)
      try video.hdr?.fill(stream, subject)
    case .audio(let audio): try audio.fill(parameters, subject)
    }
  }
}

extension EncodedVideo {
  fileprivate func fill(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let colour = ColourNumbers(colour)
    parameters.pointee.width = Int32(size.width)
    parameters.pointee.height = Int32(size.height)
    parameters.pointee.format = FrameFormat(name: pixelFormat)?.rawValue ?? sheaf_pixel_format_none
    parameters.pointee.sample_aspect_ratio = pixelAspect.avRational
    parameters.pointee.color_primaries = colour.primaries
    parameters.pointee.color_trc = colour.transfer
    parameters.pointee.color_space = colour.matrix
    parameters.pointee.color_range = colour.range
    parameters.pointee.chroma_location = colour.location
    parameters.pointee.field_order = AV_FIELD_PROGRESSIVE
    parameters.pointee.video_delay = Int32(clamping: reorderDepth)
  }
}

extension EncodedAudio {
  fileprivate func fill(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ subject: String
  ) throws(MediaError) {
    try check(av_channel_layout_from_string(&parameters.pointee.ch_layout, layout), "writing", subject)
    parameters.pointee.sample_rate = Int32(clamping: sampleRate)
    parameters.pointee.frame_size = Int32(clamping: frameSize)
    parameters.pointee.initial_padding = Int32(clamping: initialPadding)
    parameters.pointee.bits_per_raw_sample = Int32(clamping: bitDepth)
    parameters.pointee.bits_per_coded_sample = Int32(clamping: bitDepth)
    parameters.pointee.block_align = Int32(clamping: bitDepth / 8 * channels)
  }
}

extension AspectRatio {
  var avRational: AVRational {
    AVRational(num: Int32(clamping: horizontal), den: Int32(clamping: max(1, vertical)))
  }
}

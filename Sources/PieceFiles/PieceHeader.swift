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
  package var isVideo: Bool {
    if case .video = media { true } else { false }
  }
}

package import CompositionModel

/// What a decoder or a container must know of a piece's packets: equal for all pieces of one output track.
package struct PieceHeader: Sendable, Hashable, Codable {
  package enum Media: Sendable, Hashable, Codable {
    case video(EncodedVideo)
    case audio(EncodedAudio)
  }

  /// libavcodec's name of the codec, such as `h264`, `aac` or `pcm_s24le`.
  package var codec: String
  /// Seconds a tick of the packets' timestamps: the frame duration of pictures, one sample of sound.
  package var timebase: MediaTime
  /// The codec's parameter sets in the form that containers hold them; may be empty.
  package var extradata: [UInt8]
  /// libavcodec's number; negative where the codec has none.
  package var profile: Int
  /// libavcodec's number; negative where the codec has none.
  package var level: Int
  /// Bits a second as the encoder was asked, 0 where it was not.
  package var bitRate: Int
  package var media: Media

  package init(
    codec: String, timebase: MediaTime, extradata: [UInt8], profile: Int, level: Int, bitRate: Int, media: Media
  ) {
    self.codec = codec
    self.timebase = timebase
    self.extradata = extradata
    self.profile = profile
    self.level = level
    self.bitRate = bitRate
    self.media = media
  }
}

package struct EncodedVideo: Sendable, Hashable, Codable {
  package var size: PixelSize
  /// libavutil's name of the decoded pixel format.
  package var pixelFormat: String
  package var pixelAspect: AspectRatio
  package var colour: ColourTags
  /// How many frames a decoder may hold back before it gives the first; the greatest pts - dts in frames.
  package var reorderDepth: Int

  package init(
    size: PixelSize, pixelFormat: String, pixelAspect: AspectRatio, colour: ColourTags, reorderDepth: Int
  ) {
    self.size = size
    self.pixelFormat = pixelFormat
    self.pixelAspect = pixelAspect
    self.colour = colour
    self.reorderDepth = reorderDepth
  }
}

package struct EncodedAudio: Sendable, Hashable, Codable {
  /// Samples a second of each channel.
  package var sampleRate: Int
  package var channels: Int
  /// libavutil's description of the layout, such as `stereo` or `5.1`.
  package var layout: String
  /// Samples a packet; 0 where packets may hold any number.
  package var frameSize: Int
  /// Samples that a decoder gives before the first that was encoded: they must not be heard. The first packet's pts is
  /// minus this.
  package var initialPadding: Int
  /// Bits a sample as coded; 0 where the codec has no such number.
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

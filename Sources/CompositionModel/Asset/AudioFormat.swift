/// The sound of an audio track.
public struct AudioFormat: Sendable, Hashable, Codable {
  /// Samples a second of each channel.
  public var sampleRate: Int
  public var channels: Int
  /// libavutil's description of the layout, such as `stereo` or `5.1(side)`.
  public var layout: String
  /// Bits a sample as stored, where the codec has such a number; else nil.
  public var bitDepth: Int?

  public init(sampleRate: Int, channels: Int, layout: String, bitDepth: Int? = nil) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.layout = layout
    self.bitDepth = bitDepth
  }
}

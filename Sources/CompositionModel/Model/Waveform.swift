/// A picture of sound that moves with it: bars or a line for the loudness around each frame's time, or bars for its
/// frequencies.
public struct Waveform: Sendable, Hashable, Codable {
  public enum Sound: Sendable, Hashable, Codable {
    /// An audio track of the composition, before its filters, its pan and its ducking.
    case track(TrackID)
    /// An audio track of an asset, whose time zero is the overlay's start.
    case asset(AssetID, sourceTrack: Int)
  }

  /// The raw value is the name in documents.
  public enum Style: String, Sendable, Hashable, Codable, CaseIterable {
    /// Each bar is as high as the greatest sample of its time. They move to the left.
    case bars
    /// From the least to the greatest sample of each column of pixels.
    case line
    /// Each bar is as high as the greatest level of its frequencies.
    case spectrum
  }

  public var sound: Sound
  public var style: Style
  /// How many bars are in the width.
  public var bars: Int
  /// How long a sound is in the width, of which a frame's time is in the middle. Not of a spectrum.
  public var window: MediaTime
  /// The part of a bar's width that is left free beside it, 0 to 0.95.
  public var gap: Double
  /// Of the corners of bars, in pixels.
  public var cornerRadius: Double
  /// Of a line, in pixels.
  public var lineWidth: Double
  /// Decibels that are added before it is drawn. What is beyond full scale is as high as the picture.
  public var gain: Double
  public var color: Color
  /// In pixels of the frame.
  public var size: PixelSize

  public init(
    _ sound: Sound, style: Style = .bars, bars: Int = 48, window: MediaTime = MediaTime(seconds: 2), gap: Double = 0.4,
    cornerRadius: Double = 0, lineWidth: Double = 3, gain: Double = 0, color: Color = .white, size: PixelSize
  ) {
    self.sound = sound
    self.style = style
    self.bars = bars
    self.window = window
    self.gap = gap
    self.cornerRadius = cornerRadius
    self.lineWidth = lineWidth
    self.gain = gain
    self.color = color
    self.size = size
  }
}

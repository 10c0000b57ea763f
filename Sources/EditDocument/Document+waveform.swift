public import CompositionModel

extension Document {
  /// A picture of sound that moves with it, as an overlay. It is that of a track or of an asset. What is nil has its
  /// default.
  public struct Waveform: Hashable, Sendable {
    public typealias Style = CompositionModel.Waveform.Style

    /// An audio track, such as `voice` or, for the sound of a video track, `A.sound`.
    public var track: TrackID?
    /// In place of `track`: an asset with sound, whose time 0 is the overlay's start.
    public var asset: AssetID?
    /// Nil: bars.
    public var style: Style?
    /// How many bars are in the width. Nil: 48.
    public var bars: Int?
    /// How long a sound is in the width; a frame's time is in the middle. Nil: 2 s.
    public var window: Time?
    /// The part of a bar's width that is free, 0 to 0.95. Nil: 0.4.
    public var gap: Double?
    /// Of the corners of bars, in pixels. Nil: 0.
    public var cornerRadius: Double?
    /// Of a line, in pixels. Nil: 3.
    public var lineWidth: Double?
    /// Decibels. Nil: 0.
    public var gain: Double?

    public init(track: TrackID, style: Style? = nil) { (self.track, self.style) = (track, style) }
    public init(asset: AssetID, style: Style? = nil) { (self.asset, self.style) = (asset, style) }

    init() {}
  }
}

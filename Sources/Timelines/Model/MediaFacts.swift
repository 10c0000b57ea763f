package import CompositionModel

/// What a file of media states of itself.
package struct MediaFacts: Sendable, Hashable {
  /// The timecode of its first picture, in seconds.
  package var timecode: Rational?
  package var duration: Rational?
  package var isStill: Bool
  package var hasSound: Bool
  package var hasPicture = true
  /// Frames a second.
  package var rate: Rational?
  /// Of its picture.
  package var size: PixelSize?
  /// Whether the timecode leaves out numbers: drop-frame.
  package var dropsFrames = false

  package init(
    timecode: Rational? = nil, duration: Rational? = nil, isStill: Bool = false, hasSound: Bool = true,
    rate: Rational? = nil
  ) {
    (self.timecode, self.duration, self.isStill) = (timecode, duration, isStill)
    (self.hasSound, self.rate) = (hasSound, rate)
  }
}

extension MediaFacts {
  package init(_ description: AssetDescription) throws(TimeError) {
    let video = description.tracks.first { $0.type == .video }
    self.init(
      isStill: video?.video?.isStill ?? false, hasSound: description.tracks.contains { $0.type == .audio })
    hasPicture = video != nil
    size = video?.video?.size
    guard !isStill else { return }
    duration = try description.duration.exact
    rate = try video?.video?.nominalFrameRate.exact
    if let text = video?.timecode, let rate, .zero < rate, let code = Timecode(text, rate: rate) {
      timecode = try Rational(code.frame) / rate
      dropsFrames = code.dropsFrames
    }
  }
}

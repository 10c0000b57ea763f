/// What an encoder takes for a pixel where its settings state no bit rate: a guess from encodings of filmed and drawn
/// pictures, whose truth depends on the pictures.
package struct ExpectedBits: Sendable, Hashable {
  /// Bits for a pixel of a moving picture of `referencePixels`.
  package var likely: Double
  /// Most films take at least `likely / spread` and at most `likely * spread`; what hardly moves takes as little as
  /// `likely / spread / spread`. At least 1.
  package var spread: Double
  /// `likely` relative to that of the codec's usual quality.
  package var relative: Double

  package init(likely: Double, spread: Double, relative: Double = 1) {
    (self.likely, self.spread, self.relative) = (likely, spread, relative)
  }

  /// The pixels of a frame of 1920x1080. A smaller picture of the same has more detail in each pixel.
  private static let referencePixels = 2_073_600.0

  /// The bits that a pixel of a frame with so many pixels takes, relative to `likely`.
  package static func share(framePixels: Double) -> Double {
    (referencePixels / max(1, framePixels)).squareRoot().squareRoot()
  }

  /// A codec whose bits are halved when its quality rises by some units.
  static func halving(each units: Double, from likely: Double, at reference: Double, _ settings: VideoSettings)
    -> ExpectedBits?
  {
    guard case .quality(let quality) = settings.rateControl else { return nil }
    var fall = (quality - reference) / units
    var factor = 1.0
    // Whole powers of two, and a line between them.
    while fall >= 1 { (factor, fall) = (factor / 2, fall - 1) }
    while fall < 0 { (factor, fall) = (factor * 2, fall + 1) }
    let relative = factor * (1 - fall / 2)
    return ExpectedBits(likely: likely * relative, spread: 4, relative: relative)
  }

  /// A codec that keeps every pixel.
  static func lossless(_ format: PixelFormat, share: Double) -> ExpectedBits {
    let shift = format.chromaShift
    let samples = 1 + 2 / Double((1 << shift.horizontal) * (1 << shift.vertical))
    return ExpectedBits(likely: Double(format.bitDepth) * samples * share, spread: 2.5)
  }
}

/// FFV1 version 3: lossless, every frame a keyframe, encoded by libavcodec's own encoder.
struct FFV1: VideoCodecDefinition {
  let name = "ffv1"
  let containers = [Container.mov, .mkv]
  let pixelFormats = PixelFormat.allCases
  let qualities: ClosedRange<Double>? = nil
  let bitRates: ClosedRange<Int>? = nil
  let presets: [String] = []
  let defaultPreset: String? = nil
  let profiles: [String] = []
  let isIntraOnly = true

  /// The source's own format, so that nothing is lost. High dynamic range has too few steps in 8 bits.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? source.deep : source }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl { .lossless }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? { nil }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? { .lossless(settings.pixelFormat, share: 0.4) }

  func costPerPixel(_ settings: VideoSettings) -> Double { 0.5 }

  func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String? {
    slices(size, pixelFormat) == nil ? "ffv1 stores frames that are higher than 288 pixels only if they are wider" : nil
  }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    VideoEncoderSetup(
      encoder: "ffv1", keyframeInterval: 1, level: 3, slices: slices(size, settings.pixelFormat),
      // A checksum in each slice, the small context model, and the range coder with its default table.
      options: [("slicecrc", "1"), ("context", "0"), ("coder", "range_def")])
  }

  /// The smallest number of slices with which libavcodec's encoder stores frames of a size. Nil if there is none.
  ///
  /// It is fixed because libavcodec would choose it by the number of its threads. The rule is the encoder's own: slices
  /// are the cells of a grid of `down` rows, and of at least as many and less than twice as many columns. Above CIF
  /// there are two rows at least, a cell has one chroma sample at least, and it must not have too many bits.
  private func slices(_ size: PixelSize, _ pixelFormat: PixelFormat) -> Int? {
    let shift = pixelFormat.chromaShift
    let mostAcross = size.width.dividedUp(by: 1 << shift.horizontal)
    let mostDown = size.height.dividedUp(by: 1 << shift.vertical)
    let bits = 3 * (pixelFormat.bitDepth + 1)
    for down in min(size.width > 352 || size.height > 288 ? 2 : 1, mostDown)..<32 where down <= mostDown {
      for across in down..<2 * down where across <= mostAcross {
        let area = size.width.dividedUp(by: across) * size.height.dividedUp(by: down)
        if area * bits <= 8 << 24 { return across * down }
      }
    }
    return nil
  }
}

extension Int {
  /// The quotient of two positive numbers, rounded up.
  fileprivate func dividedUp(by divisor: Int) -> Int { (self + divisor - 1) / divisor }
}

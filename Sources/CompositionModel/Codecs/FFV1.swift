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

  /// The source's own format, so that nothing is lost. High dynamic range has too few steps in 8 bits.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? source.deep : source }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl { .lossless }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? { nil }

  func costPerPixel(_ settings: VideoSettings) -> Double { 0.5 }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    VideoEncoderSetup(
      encoder: "ffv1", keyframeInterval: 1, level: 3, slices: slices(size),
      // A checksum in each slice, the small context model, and the range coder with its default table.
      options: [("slicecrc", "1"), ("context", "0"), ("coder", "range_def")])
  }

  /// Fixed, because libavcodec would choose the number by that of its threads. It requires four or more above CIF.
  private func slices(_ size: PixelSize) -> Int { size.width > 352 || size.height > 288 ? 4 : 1 }
}

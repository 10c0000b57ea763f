/// AV1, encoded by SVT-AV1.
struct AV1: VideoCodecDefinition {
  let name = "av1"
  let containers = [Container.mp4, .mkv, .webm, .m3u8, .mpd]
  let pixelFormats = [PixelFormat.yuv420p, .yuv420p10]
  /// SVT-AV1's constant rate factor. Lower is better and larger.
  let qualities: ClosedRange<Double>? = 1...63
  let bitRates: ClosedRange<Int>? = nil
  let defaultPreset: String? = "8"
  let qualityModel: QualityModel? = QualityModel(usual: 53, slope: 0.03, qualities: 2...63, stepsPerUnit: 1)
  let profiles: [String] = []

  private static let defaultQuality = 35.0

  /// The work to encode a pixel: rounded from timings in one thread at 720p.
  private static let presetTable: [(name: String, cost: Double)] = [
    ("12", 0.32), ("11", 0.45), ("10", 0.65), ("9", 1), ("8", 1.5), ("7", 2.5), ("6", 4), ("5", 10), ("4", 16),
    ("3", 30), ("2", 60), ("1", 100), ("0", 160),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    .halving(each: 10, from: 0.045, at: 35, settings)
  }

  func costPerPixel(_ settings: VideoSettings) -> Double {
    let name = settings.preset ?? defaultPreset
    return Self.presetTable.first { $0.name == name }?.cost ?? 1.5
  }

  // High dynamic range has too few steps in 8 bits: they are seen as bands.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? .yuv420p10 : .yuv420p }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    .quality(quality ?? Self.defaultQuality)
  }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? {
    wholeQualityProblem(settings)
  }

  func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String? {
    if min(size.width, size.height) < 64 { return "SVT-AV1 encodes frames of at least 64x64" }
    return size.height > 8704 ? "SVT-AV1 encodes frames of at most 8704 rows" : nil
  }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(
      encoder: "libsvtav1", keyframeInterval: settings.keyframeInterval, bitRate: 0,
      // Version 1.4 has tables for the whole process, which each encoder writes anew.
      isAlone: true, options: [("preset", settings.preset ?? "8")])
    if case .quality(let factor) = settings.rateControl { setup.options.append(("crf", "\(Int(factor))")) }
    // The bytes do not depend on the number of threads, but memory does.
    // Keyframes that it is asked for need the other parameter.
    let parameters = settings.keyframeGrid == nil ? "lp=2" : "lp=2:enable-force-key-frames=1"
    setup.options.append(("svtav1-params", parameters))
    return setup
  }
}

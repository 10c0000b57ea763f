/// HEVC (H.265), encoded by x265.
struct HEVC: VideoCodecDefinition {
  let name = "hevc"
  let containers = [Container.mp4, .mov, .m4v, .mkv]
  let pixelFormats = PixelFormat.allCases
  /// x265's constant rate factor. Lower is better and larger.
  let qualities: ClosedRange<Double>? = 0...51
  let bitRates: ClosedRange<Int>? = nil
  let defaultPreset: String? = "medium"

  private static let defaultQuality = 28.0

  // MARK: Presets

  /// The work to encode a pixel, rounded from timings in one thread at 720p.
  private static let presetTable: [(name: String, cost: Double)] = [
    ("ultrafast", 0.5), ("superfast", 0.8), ("veryfast", 1.25), ("faster", 1.3), ("fast", 1.8), ("medium", 2),
    ("slow", 5), ("slower", 12), ("veryslow", 20), ("placebo", 50),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  func costPerPixel(_ settings: VideoSettings) -> Double {
    let name = settings.preset ?? defaultPreset
    return Self.presetTable.first { $0.name == name }?.cost ?? 2
  }

  // MARK: Profiles

  private static let profileTable: [(name: String, formats: [PixelFormat])] = [
    ("main", [.yuv420p]), ("main10", [.yuv420p, .yuv420p10]),
    ("main422-10", [.yuv420p, .yuv422p, .yuv420p10, .yuv422p10]), ("main444-8", [.yuv420p, .yuv422p, .yuv444p]),
    ("main444-10", PixelFormat.allCases),
  ]

  var profiles: [String] { Self.profileTable.map(\.name) }

  // MARK: Settings

  // High dynamic range has too few steps in 8 bits: they are seen as bands.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? .yuv420p10 : .yuv420p }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    .quality(quality ?? Self.defaultQuality)
  }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? {
    if let name = settings.profile, let profile = Self.profileTable.first(where: { $0.name == name }),
      !profile.formats.contains(settings.pixelFormat)
    {
      let able = Self.profileTable.filter { $0.formats.contains(settings.pixelFormat) }.map(\.name)
      return ("profile", "the profile '\(name)' cannot store \(settings.pixelFormat); \(list(able)) can")
    }
    return nil
  }

  func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String? {
    min(size.width, size.height) < 16 ? "x265 encodes frames of at least 16x16" : nil
  }

  // MARK: Encoder

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(
      encoder: "libx265", keyframeInterval: settings.keyframeInterval,
      // Every preset has B-frames that B-frames refer to.
      reorderDepth: settings.keyframeInterval == 1 ? 0 : 2, options: [])
    if let preset = settings.preset ?? defaultPreset { setup.options.append(("preset", preset)) }
    if case .quality(let factor) = settings.rateControl { setup.options.append(("crf", "\(factor)")) }
    if let profile = settings.profile { setup.options.append(("profile", profile)) }
    // x265's instruction sets compute alike, but whether it codes rows of a frame side by side changes the bytes, and it
    // does not if it has no pool of threads. So the pool and the number of frames at once are always the same.
    setup.options.append(("x265-params", "log-level=error:info=0:open-gop=0:wpp=1:pools=4:frame-threads=2"))
    return setup
  }

  /// `hvc1`: the parameter sets are in the file's index alone, which Apple's players require.
  func quickTimeTag(_ settings: VideoSettings) -> String? { "hvc1" }
}

/// HEVC (H.265), encoded by x265.
struct HEVC: LeveledVideoCodecDefinition {
  let name = "hevc"
  let containers = [Container.mp4, .mov, .m4v, .mkv, .m3u8, .mpd]
  let pixelFormats = PixelFormat.allCases
  /// x265's constant rate factor. Lower is better and larger.
  let qualities: ClosedRange<Double>? = 0...51
  let bitRates: ClosedRange<Int>? = 1000...1_000_000_000
  let maxBitRates: ClosedRange<Int>? = RateLimit.bitRates
  let defaultPreset: String? = "medium"
  let qualityModel: QualityModel? = QualityModel(usual: 31, slope: 0.09, qualities: 5...51, stepsPerUnit: 10)

  private static let defaultQuality = 28.0

  // MARK: Presets

  /// The work to encode a pixel, rounded from timings in one thread at 720p.
  private static let presetTable: [(name: String, cost: Double)] = [
    ("ultrafast", 0.5), ("superfast", 0.8), ("veryfast", 1.25), ("faster", 1.3), ("fast", 1.8), ("medium", 2),
    ("slow", 5), ("slower", 12), ("veryslow", 20), ("placebo", 50),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    .halving(each: 6, from: 0.04, at: 28, settings)
  }

  func costPerPixel(_ settings: VideoSettings) -> Double {
    let name = settings.preset ?? defaultPreset
    return Self.presetTable.first { $0.name == name }?.cost ?? 2
  }

  func heldFrames(_ settings: VideoSettings) -> Int { 40 }

  // MARK: Profiles

  private static let profileTable: [(name: String, formats: [PixelFormat])] = [
    ("main", [.yuv420p]), ("main10", [.yuv420p, .yuv420p10]),
    ("main422-10", [.yuv420p, .yuv422p, .yuv420p10, .yuv422p10]), ("main444-8", [.yuv420p, .yuv422p, .yuv444p]),
    ("main444-10", PixelFormat.allCases),
  ]

  var profiles: [String] { Self.profileTable.map(\.name) }

  // MARK: Levels

  /// ISO/IEC 23008-2, tables A.8 and A.9, of the main tier.
  let levelTable = LevelTable(
    unit: "luma samples",
    [
      ("1", 36864, 552_960, 128_000, 350_000), ("2", 122_880, 3_686_400, 1_500_000, 1_500_000),
      ("2.1", 245_760, 7_372_800, 3_000_000, 3_000_000),
      ("3", 552_960, 16_588_800, 6_000_000, 6_000_000),
      ("3.1", 983_040, 33_177_600, 10_000_000, 10_000_000),
      ("4", 2_228_224, 66_846_720, 12_000_000, 12_000_000),
      ("4.1", 2_228_224, 133_693_440, 20_000_000, 20_000_000),
      ("5", 8_912_896, 267_386_880, 25_000_000, 25_000_000),
      ("5.1", 8_912_896, 534_773_760, 40_000_000, 40_000_000),
      ("5.2", 8_912_896, 1_069_547_520, 60_000_000, 60_000_000),
      ("6", 35_651_584, 1_069_547_520, 60_000_000, 60_000_000),
      ("6.1", 35_651_584, 2_139_095_040, 120_000_000, 120_000_000),
      ("6.2", 35_651_584, 4_278_190_080, 240_000_000, 240_000_000),
    ])

  /// Table A.10: the factor of `main` and `main10` is 1000.
  func bitAllowance(_ settings: VideoSettings) -> (thousandths: Int, profile: String) {
    let format = settings.pixelFormat
    let own =
      format.chromaShift == (0, 0)
      ? (format.bitDepth > 8 ? "main444-10" : "main444-8")
      : format.chromaShift == (1, 0) ? "main422-10" : format.bitDepth > 8 ? "main10" : "main"
    let profile = settings.profile ?? own
    switch profile {
    case "main422-10": return (1667, profile)
    case "main444-8": return (2000, profile)
    case "main444-10": return (2500, profile)
    default: return (1000, profile)
    }
  }

  /// x265 codes whole blocks of 8x8 luma samples.
  func pictures(_ size: PixelSize, _ frameDuration: MediaTime) -> CodecLevel.Pictures {
    CodecLevel.Pictures(
      width: (size.width + 7) / 8 * 8, height: (size.height + 7) / 8 * 8,
      frameDuration: frameDuration)
  }

  // MARK: Settings

  // High dynamic range has too few steps in 8 bits: they are seen as bands.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? .yuv420p10 : .yuv420p }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    bitRate.map { .averageBitRate($0) } ?? .quality(quality ?? Self.defaultQuality)
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
    let (shorter, longer) = (min(size.width, size.height), max(size.width, size.height))
    if shorter < 16 { return "x265 encodes frames of at least 16x16" }
    // Longer sides, in whole blocks of 8, require level 5 (ITU-T H.265, A.4.1), whose coding tree blocks are 32x32 at
    // least.
    let longest = 4216
    if longer > longest, shorter < 32 {
      return "x265 encodes frames with a side of more than \(longest) pixels only if the other is at least 32"
    }
    return nil
  }

  // MARK: Encoder

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    encoderSetup(settings, size: size, parameters: "")
  }

  /// - Parameter more: x265's parameters besides those that every encoder has, after a colon.
  private func encoderSetup(_ settings: VideoSettings, size: PixelSize, parameters more: String) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(
      encoder: "libx265", keyframeInterval: settings.keyframeInterval,
      // Every preset has B-frames that B-frames refer to.
      reorderDepth: settings.keyframeInterval == 1 ? 0 : 2, options: [])
    if let preset = settings.preset ?? defaultPreset { setup.options.append(("preset", preset)) }
    switch settings.rateControl {
    case .quality(let factor): setup.options.append(("crf", "\(factor)"))
    case .averageBitRate(let rate): setup.bitRate = rate
    case .lossless, .profile: break
    }
    if let profile = settings.profile { setup.options.append(("profile", profile)) }
    // x265's instruction sets compute alike, but whether it codes rows of a frame side by side changes the bytes, and
    // it does not if it has no pool of threads. So the pool and the number of frames at once are always the same.
    var parameters = "log-level=error:info=0:open-gop=0:wpp=1:pools=4:"
    // With a limit of bits, frames that are encoded at once, and rows of one, get bits by each other's progress unless
    // they are kept from it.
    parameters += settings.rateLimit == nil ? "frame-threads=2" : "frame-threads=1:const-vbv=1"
    if settings.sceneCuts == false { parameters += ":scenecut=0" }
    if let level = settings.level { parameters += ":level-idc=\(level):high-tier=0" }
    if let display = settings.hdr?.display { parameters += ":master-display=\(display.encoderParameter)" }
    if let light = settings.hdr?.light { parameters += ":max-cll=\(light.maximum),\(light.maximumAverage)" }
    setup.options.append(("x265-params", parameters + more))
    // Without it, x265 codes a frame that is to be a keyframe without references, and lets later ones refer beyond it.
    if settings.keyframeGrid != nil { setup.options.append(("forced-idr", "1")) }
    return setup
  }

  // MARK: Average bit rate

  func bitRateModel(_ settings: VideoSettings) -> BitRateModel? {
    BitRateModel(
      rateFactors: 0...51, measuringFactors: [22, 34], corrections: Self.corrections,
      control: .again(fall: 0.11, range: 12))
  }

  /// Fitted to encodings with the preset `medium`. The bits of other presets differ by a factor, which each segment
  /// finds.
  private static let corrections = [
    BitRateModel.Correction(factor: 8, constant: 0.96, slope: 15.8), .init(factor: 12, constant: 0.6, slope: 15.1),
    .init(factor: 16, constant: 0.3, slope: 13.6), .init(factor: 20, constant: 0.1, slope: 11.3),
    .init(factor: 24, constant: -0.04, slope: 8.8), .init(factor: 28, constant: -0.05, slope: 5),
    .init(factor: 32, constant: 0.01, slope: 0.8), .init(factor: 36, constant: 0.1, slope: -3.3),
    .init(factor: 44, constant: 0.3, slope: -9.9),
  ]

  /// The fastest preset, with the lookahead and the adaptive quantisation of `medium`, on which the frame types and the
  /// distribution of the bits depend.
  func measuringSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    var fast = settings
    fast.preset = "ultrafast"
    return encoderSetup(
      fast, size: size, parameters: ":aq-mode=2:cutree=1:rc-lookahead=20:b-adapt=2:bframes=4")
  }

  /// `hvc1`: the parameter sets are in the file's index alone, which Apple's players require.
  func quickTimeTag(_ settings: VideoSettings) -> String? { "hvc1" }
}

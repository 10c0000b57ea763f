/// H.264, encoded by x264.
struct H264: LeveledVideoCodecDefinition {
  let name = "h264"
  let containers = [Container.mp4, .mov, .m4v, .mkv, .m3u8, .mpd]
  let pixelFormats = PixelFormat.allCases
  /// x264's constant rate factor. Lower is better and larger.
  let qualities: ClosedRange<Double>? = 0...51
  let bitRates: ClosedRange<Int>? = 1000...1_000_000_000
  let maxBitRates: ClosedRange<Int>? = RateLimit.bitRates
  let defaultPreset: String? = "medium"
  let qualityModel: QualityModel? = QualityModel(usual: 29, slope: 0.1, qualities: 5...51, stepsPerUnit: 10)
  let smartRendering: SmartRendering? = .sharedParameterSets

  private static let defaultQuality = 23.0

  /// The frames that x264 encodes at once. A segment that is rendered alone then uses several cores. Compared with one
  /// thread, a segment of 720p differs by less than 0.1 % in size and 0.01 dB in quality.
  private static let threadCount = 4

  // MARK: Presets

  private struct Preset {
    var name: String
    /// The work to encode a pixel, relative to `medium`: rounded from timings in one thread at 720p.
    var cost: Double
    /// The frames that x264 looks ahead.
    var lookahead: Int
  }

  private static let presetTable = [
    Preset(name: "ultrafast", cost: 0.15, lookahead: 0),
    Preset(name: "superfast", cost: 0.25, lookahead: 0),
    Preset(name: "veryfast", cost: 0.4, lookahead: 10),
    Preset(name: "faster", cost: 0.65, lookahead: 20),
    Preset(name: "fast", cost: 0.85, lookahead: 30),
    Preset(name: "medium", cost: 1, lookahead: 40),
    Preset(name: "slow", cost: 1.8, lookahead: 50),
    Preset(name: "slower", cost: 4, lookahead: 60),
    Preset(name: "veryslow", cost: 8, lookahead: 60),
    Preset(name: "placebo", cost: 20, lookahead: 60),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  /// The preset's row. Nil for a name that x264 does not have.
  private func preset(_ settings: VideoSettings) -> Preset? {
    let name = settings.preset ?? defaultPreset
    return Self.presetTable.first { $0.name == name }
  }

  func costPerPixel(_ settings: VideoSettings) -> Double { preset(settings)?.cost ?? 1 }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    .halving(each: 6, from: 0.08, at: 23, settings)
  }

  func heldFrames(_ settings: VideoSettings) -> Int { (preset(settings)?.lookahead ?? 40) + 8 }

  // MARK: Profiles

  private struct Profile {
    var name: String
    /// The greatest bit depth that it can store.
    var bitDepth: Int
    /// The finest chroma that it can store, as `PixelFormat.chromaShift`.
    var chromaShift: (horizontal: Int, vertical: Int)

    func stores(_ format: PixelFormat) -> Bool {
      format.bitDepth <= bitDepth && format.chromaShift.horizontal >= chromaShift.horizontal
        && format.chromaShift.vertical >= chromaShift.vertical
    }
  }

  /// The only profile that can store 8-bit pictures without loss.
  private static let losslessProfile = "high444"

  private static let profileTable = [
    Profile(name: "baseline", bitDepth: 8, chromaShift: (1, 1)),
    Profile(name: "main", bitDepth: 8, chromaShift: (1, 1)),
    Profile(name: "high", bitDepth: 8, chromaShift: (1, 1)),
    Profile(name: "high10", bitDepth: 10, chromaShift: (1, 1)),
    Profile(name: "high422", bitDepth: 10, chromaShift: (1, 0)),
    Profile(name: losslessProfile, bitDepth: 10, chromaShift: (0, 0)),
  ]

  var profiles: [String] { Self.profileTable.map(\.name) }

  // MARK: Levels

  /// ISO/IEC 14496-10, table A-1.
  let levelTable = LevelTable(
    unit: "macroblocks",
    [
      ("1", 99, 1485, 64_000, 175_000), ("1.1", 396, 3000, 192_000, 500_000),
      ("1.2", 396, 6000, 384_000, 1_000_000),
      ("1.3", 396, 11880, 768_000, 2_000_000), ("2", 396, 11880, 2_000_000, 2_000_000),
      ("2.1", 792, 19800, 4_000_000, 4_000_000), ("2.2", 1620, 20250, 4_000_000, 4_000_000),
      ("3", 1620, 40500, 10_000_000, 10_000_000), ("3.1", 3600, 108_000, 14_000_000, 14_000_000),
      ("3.2", 5120, 216_000, 20_000_000, 20_000_000), ("4", 8192, 245_760, 20_000_000, 25_000_000),
      ("4.1", 8192, 245_760, 50_000_000, 62_500_000),
      ("4.2", 8704, 522_240, 50_000_000, 62_500_000),
      ("5", 22080, 589_824, 135_000_000, 135_000_000),
      ("5.1", 36864, 983_040, 240_000_000, 240_000_000),
      ("5.2", 36864, 2_073_600, 240_000_000, 240_000_000),
      ("6", 139_264, 4_177_920, 240_000_000, 240_000_000),
      ("6.1", 139_264, 8_355_840, 480_000_000, 480_000_000),
      ("6.2", 139_264, 16_711_680, 800_000_000, 800_000_000),
    ])

  /// Table A-2. x264 chooses the plainest profile that has what the preset and the pixel format need.
  func bitAllowance(_ settings: VideoSettings) -> (thousandths: Int, profile: String) {
    let format = settings.pixelFormat
    let own =
      format.chromaShift == (0, 0)
      ? Self.losslessProfile
      : format.chromaShift == (1, 0)
        ? "high422" : format.bitDepth > 8 ? "high10" : Self.plainProfile(settings)
    let profile = settings.profile ?? own
    switch profile {
    case "high422", Self.losslessProfile: return (4000, profile)
    case "high10": return (3000, profile)
    case "high": return (1250, profile)
    default: return (1000, profile)
    }
  }

  /// The preset `ultrafast` uses nothing of `high`.
  private static func plainProfile(_ settings: VideoSettings) -> String {
    settings.preset == "ultrafast" ? "baseline" : "high"
  }

  func pictures(_ size: PixelSize, _ frameDuration: MediaTime) -> CodecLevel.Pictures {
    CodecLevel.Pictures(
      width: (size.width + 15) / 16, height: (size.height + 15) / 16, frameDuration: frameDuration)
  }

  // MARK: Settings

  // High dynamic range has too few steps in 8 bits: they are seen as bands.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? .yuv420p10 : .yuv420p }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    bitRate.map { .averageBitRate($0) } ?? .quality(quality ?? Self.defaultQuality)
  }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? {
    if case .quality(let quality) = settings.rateControl, quality < 1, settings.pixelFormat.bitDepth == 8,
      settings.rateLimit != nil || settings.level != nil
    {
      return (
        "quality", "a quality below 1 is lossless, which takes any number of bits: there is no limit of bits then"
      )
    }
    guard let name = settings.profile, let profile = Self.profileTable.first(where: { $0.name == name }) else {
      return nil
    }
    let format = settings.pixelFormat
    guard profile.stores(format) else {
      let able = Self.profileTable.filter { $0.stores(format) }.map(\.name)
      return ("profile", "the profile '\(name)' cannot store \(format); \(list(able)) can")
    }
    if case .quality(let quality) = settings.rateControl, quality < 1, format.bitDepth == 8,
      name != Self.losslessProfile
    {
      return (
        "profile",
        "a quality below 1 is lossless with \(format), which only the profile '\(Self.losslessProfile)' can store"
      )
    }
    return nil
  }

  // MARK: Encoder

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    encoderSetup(settings, size: size, parameters: "")
  }

  /// - Parameter more: x264's parameters besides those that every encoder has, after a colon.
  private func encoderSetup(_ settings: VideoSettings, size: PixelSize, parameters more: String) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(encoder: "libx264", keyframeInterval: settings.keyframeInterval, options: [])
    if let preset = settings.preset ?? defaultPreset { setup.options.append(("preset", preset)) }
    switch settings.rateControl {
    case .quality(let factor): setup.options.append(("crf", "\(factor)"))
    case .averageBitRate(let rate): setup.bitRate = rate
    case .lossless, .profile: break
    }
    if let profile = settings.profile { setup.options.append(("profile", profile)) }
    if let level = settings.level { setup.options.append(("level", level)) }
    // With a limit of bits, frames that are encoded at once get bits by each other's progress, which differs from run
    // to run.
    let threadCount = settings.rateLimit == nil ? Self.threadCount : 1
    // `stitchable` keeps what depends on the pictures out of the parameter sets. `cpu-independent` makes the bytes the
    // same on every type of processor. Without it they differ even from run to run with AVX-512, because x264 164 reads
    // memory there that it has not written. The bytes also depend on the number of threads, so it is always the same
    // one, on any machine.
    var parameters =
      "stitchable=1:cpu-independent=1:open-gop=0:threads=\(threadCount):lookahead-threads=1:sliced-threads=0"
    if settings.sceneCuts == false { parameters += ":scenecut=0" }
    if let frames = boundedLookahead(settings, size) { parameters += ":rc-lookahead=\(frames)" }
    if let display = settings.hdr?.display { parameters += ":mastering-display=\(display.encoderParameter)" }
    if let light = settings.hdr?.light { parameters += ":cll=\(light.maximum),\(light.maximumAverage)" }
    if hasMacroblockTree(settings) {
      // x264 divides the quantiser of keyframes by its `ipratio` of 1.4, but not that of a stream's first frame.
      parameters += ":zones=0,0,b=1.4"
      setup.framesAfterEnd = 2
    }
    parameters += more
    setup.options.append(("x264-params", parameters))
    setup.options.append(("a53cc", "0"))
    return setup
  }

  /// Whether x264 gives a block bits for what the frames that it looks ahead at take from it.
  private func hasMacroblockTree(_ settings: VideoSettings) -> Bool {
    guard let preset = preset(settings), preset.lookahead > 0, settings.keyframeInterval > 1 else { return false }
    // Below 1, 8 bits are lossless.
    return if case .quality(let quality) = settings.rateControl { quality >= 1 } else { true }
  }

  /// The frames that x264 may look ahead, if the preset's own number would take too much memory: a frame of 1080p
  /// takes 6.6 MB there. Nil: the preset's own number.
  private func boundedLookahead(_ settings: VideoSettings, _ size: PixelSize) -> Int? {
    let bound = max(10, 42_000_000 / (size.width * size.height))
    guard let own = preset(settings)?.lookahead, own > bound else { return nil }
    return bound
  }

  // MARK: Average bit rate

  /// A quality below 1 would be lossless with 8 bits.
  private static let rateFactors = 1.0...51.0
  private static let measuringFactors = [20.0, 32.0]

  /// For presets that decide by rate and distortion, which the measuring encoder does not.
  private static let thorough = [
    BitRateModel.Correction(factor: 16, constant: -0.07, slope: 16.4), .init(factor: 20, constant: -0.08, slope: 12.8),
    .init(factor: 24, constant: -0.09, slope: 9.1), .init(factor: 28, constant: -0.09, slope: 5.4),
    .init(factor: 32, constant: -0.15, slope: 2.2), .init(factor: 36, constant: -0.34, slope: 0.4),
    .init(factor: 40, constant: -0.59, slope: -0.7),
  ]
  /// For presets that the measuring encoder does not differ from by much.
  private static let hasty = [
    BitRateModel.Correction(factor: 16, constant: -0.04, slope: 16.5), .init(factor: 20, constant: 0.04, slope: 11.7),
    .init(factor: 24, constant: 0.13, slope: 6.8), .init(factor: 28, constant: 0.13, slope: 2.6),
    .init(factor: 32, constant: -0.01, slope: 0), .init(factor: 36, constant: -0.28, slope: -1.5),
    .init(factor: 40, constant: -0.58, slope: -2.4),
  ]

  func bitRateModel(_ settings: VideoSettings) -> BitRateModel? {
    let isHasty = ["ultrafast", "superfast", "veryfast", "faster"].contains(settings.preset ?? defaultPreset)
    return BitRateModel(
      rateFactors: Self.rateFactors, measuringFactors: Self.measuringFactors,
      corrections: isHasty ? Self.hasty : Self.thorough)
  }

  func lateFrames(_ settings: VideoSettings) -> Int {
    settings.rateLimit == nil ? Self.threadCount - 1 : 0
  }

  /// The frame types come from the lookahead, which the options below do not change. A preset that does less by itself
  /// keeps what it does.
  func measuringSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    let parameters: String
    switch settings.preset ?? defaultPreset {
    case "ultrafast": parameters = ""
    case "superfast": parameters = ":subme=1:trellis=0"
    default: parameters = ":subme=2:ref=1:me=dia:trellis=0"
    }
    return encoderSetup(settings, size: size, parameters: parameters)
  }
}

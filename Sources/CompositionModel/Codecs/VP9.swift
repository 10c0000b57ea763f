/// VP9, encoded by libvpx.
struct VP9: VideoCodecDefinition {
  let name = "vp9"
  let containers = [Container.mp4, .mkv, .webm]
  let pixelFormats = PixelFormat.allCases
  /// libvpx's constant quality level. Lower is better and larger.
  let qualities: ClosedRange<Double>? = 0...63
  let bitRates: ClosedRange<Int>? = nil
  let defaultPreset: String? = "2"
  let qualityModel: QualityModel? = QualityModel(usual: 43, slope: 0.045, qualities: 2...63, stepsPerUnit: 1)
  let profiles: [String] = []
  let smartRendering: SmartRendering? = .groups

  private static let defaultQuality = 32.0
  /// More frames than a segment has.
  private static let endlessInterval = 1 << 30

  /// libvpx's `cpu-used`, and the work to encode a pixel: rounded from timings in one thread at 720p.
  private static let presetTable: [(name: String, cost: Double)] = [
    ("5", 2.7), ("4", 3), ("3", 3.4), ("2", 4.3), ("1", 5.7), ("0", 20),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    .halving(each: 9, from: 0.06, at: 32, settings)
  }

  func costPerPixel(_ settings: VideoSettings) -> Double {
    let name = settings.preset ?? defaultPreset
    return Self.presetTable.first { $0.name == name }?.cost ?? 4.3
  }

  // High dynamic range has too few steps in 8 bits: they are seen as bands.
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { isHDR ? .yuv420p10 : .yuv420p }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    .quality(quality ?? Self.defaultQuality)
  }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? {
    wholeQualityProblem(settings)
  }

  /// The bitstream's number of what a pixel format needs: 8 bits and 4:2:0 are 0, finer chroma adds 1 and more bits 2.
  private func profile(_ format: PixelFormat) -> Int {
    (format.chromaShift == (1, 1) ? 0 : 1) + (format.bitDepth > 8 ? 2 : 0)
  }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(
      encoder: "libvpx-vp9", keyframeInterval: settings.keyframeInterval, bitRate: 0,
      profile: profile(settings.pixelFormat),
      options: [("deadline", "good"), ("cpu-used", settings.preset ?? "2")])
    if case .quality(let level) = settings.rateControl { setup.options.append(("crf", "\(Int(level))")) }
    // Rows side by side would make the bytes depend on the number of threads.
    setup.options += [("row-mt", "0"), ("lag-in-frames", "25"), ("auto-alt-ref", "1")]
    // A keyframe that libvpx is asked for does not begin another interval, so none of its own may end in between.
    if settings.keyframeGrid != nil { setup.keyframeInterval = Self.endlessInterval }
    // With the same least and greatest interval libvpx looks for no changes of the picture.
    if settings.sceneCuts == false { setup.options.append(("keyint_min", "\(setup.keyframeInterval)")) }
    return setup
  }
}

extension VideoCodecDefinition {
  /// A problem with a quality that is no whole number, for encoders that take no other.
  func wholeQualityProblem(_ settings: VideoSettings) -> (key: String, message: String)? {
    guard case .quality(let quality) = settings.rateControl, quality != quality.rounded() else { return nil }
    return ("quality", "\(quality) is not a whole number, and the quality of \(settings.codec) is one")
  }
}

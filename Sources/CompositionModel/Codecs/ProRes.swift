/// Apple ProRes, encoded by libavcodec: every frame a keyframe, of nearly constant quality by profile.
struct ProRes: VideoCodecDefinition {
  private struct Profile {
    var name: String
    /// libavcodec's number of it.
    var number: Int
    /// The four characters by which QuickTime files name it.
    var tag: String
    /// Megabits a second of 1920x1080 at 29.97 frames, as Apple's white paper has them.
    var megabits: Double
  }

  let name = "prores"
  let containers = [Container.mov, .mkv, .mxf]
  let pixelFormats: [PixelFormat]
  let qualities: ClosedRange<Double>? = nil
  let bitRates: ClosedRange<Int>? = nil
  let presets: [String] = []
  let defaultPreset: String? = nil
  let isIntraOnly = true
  let smartRendering: SmartRendering? = .pictures
  private let profileTable: [Profile]
  private let defaultProfile: String

  /// ProRes 422: Proxy, LT, 422 and 422 HQ.
  static let prores422 = ProRes(
    pixelFormats: [.yuv422p10],
    profileTable: [
      Profile(name: "proxy", number: 0, tag: "apco", megabits: 45),
      Profile(name: "lt", number: 1, tag: "apcs", megabits: 102),
      Profile(name: "standard", number: 2, tag: "apcn", megabits: 147),
      Profile(name: "hq", number: 3, tag: "apch", megabits: 220),
    ], defaultProfile: "standard")

  /// ProRes 4444 and 4444 XQ.
  static let prores4444 = ProRes(
    pixelFormats: [.yuv444p10],
    profileTable: [
      Profile(name: "standard", number: 4, tag: "ap4h", megabits: 330),
      Profile(name: "xq", number: 5, tag: "ap4x", megabits: 500),
    ], defaultProfile: "standard")

  private init(pixelFormats: [PixelFormat], profileTable: [Profile], defaultProfile: String) {
    self.pixelFormats = pixelFormats
    self.profileTable = profileTable
    self.defaultProfile = defaultProfile
  }

  var profiles: [String] { profileTable.map(\.name) }

  private func profile(_ settings: VideoSettings) -> Profile? {
    profileTable.first { $0.name == settings.profile ?? defaultProfile }
  }

  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { pixelFormats[0] }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl { .profile }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? { nil }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    guard let profile = profile(settings) else { return nil }
    // Pictures with little detail take less.
    return ExpectedBits(likely: 0.8 * profile.megabits / (1920 * 1080 * 30 / 1.001 / 1_000_000), spread: 2)
  }

  func costPerPixel(_ settings: VideoSettings) -> Double { pixelFormats == [.yuv444p10] ? 4.3 : 3.5 }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    let number = profile(settings)?.number
    // Some editors refuse a file whose vendor is not Apple.
    return VideoEncoderSetup(
      encoder: "prores_ks", keyframeInterval: 1, profile: number,
      options: number.map { [("profile", "\($0)"), ("vendor", "apl0")] } ?? [])
  }

  func quickTimeTag(_ settings: VideoSettings) -> String? { profile(settings)?.tag }
}

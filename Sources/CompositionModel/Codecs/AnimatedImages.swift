/// A codec of a file that is one moving picture. Every picture is stored whole, in the colours of screens.
protocol AnimatedImageCodec: VideoCodecDefinition {}

extension AnimatedImageCodec {
  var pixelFormats: [PixelFormat] { [.yuv444p, .yuv422p, .yuv420p] }
  var qualities: ClosedRange<Double>? { nil }
  var bitRates: ClosedRange<Int>? { nil }
  var presets: [String] { [] }
  var defaultPreset: String? { nil }
  var profiles: [String] { [] }
  var isIntraOnly: Bool { true }
  var isOfScreens: Bool { true }

  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat { .yuv444p }

  func problem(with settings: VideoSettings) -> (key: String, message: String)? { nil }
}

/// GIF: at most 256 colours in each picture, chosen for that picture by libavfilter and encoded by libavcodec.
struct GIF: AnimatedImageCodec {
  let name = "gif"
  let containers = [Container.gif]
  let ditherings = Dithering.allCases

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl { .profile }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? { ExpectedBits(likely: 3.5, spread: 4) }

  // Nearly all of it is to choose the palette and to use it.
  func costPerPixel(_ settings: VideoSettings) -> Double { 12 }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    VideoEncoderSetup(
      encoder: "gif", keyframeInterval: 1, pictures: .paletted(settings.dither ?? .standard), packets: .gif,
      // Nothing is taken from the picture before, and each picture has its palette with it.
      options: [("gifflags", "0"), ("global_palette", "0")])
  }
}

/// Animated PNG: lossless, every picture encoded whole by libavcodec's encoder of PNG.
struct APNG: AnimatedImageCodec {
  let name = "apng"
  let containers = [Container.apng]

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl { .lossless }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? { .lossless(settings.pixelFormat, share: 0.4) }

  func costPerPixel(_ settings: VideoSettings) -> Double { 3 }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    VideoEncoderSetup(
      encoder: "png", keyframeInterval: 1, pictures: .rgb("rgb24"), packets: .png,
      options: [("pred", "mixed"), ("compression_level", "6")])
  }
}

/// Animated WebP, every picture encoded whole by libwebp.
struct WebP: AnimatedImageCodec {
  let name = "webp"
  let containers = [Container.webp]
  /// As for still pictures, higher is better; the highest keeps every pixel.
  let qualities: ClosedRange<Double>? = 0...losslessQuality
  let defaultPreset: String? = "4"

  private static let defaultQuality = 75.0
  private static let losslessQuality = 100.0
  private static let largestSide = 16383

  /// libwebp's `method`, and the work to encode a pixel with loss, roughly.
  private static let presetTable: [(name: String, cost: Double)] = [
    ("0", 1), ("1", 1.2), ("2", 1.8), ("3", 2.6), ("4", 3), ("5", 4), ("6", 6),
  ]

  var presets: [String] { Self.presetTable.map(\.name) }

  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl {
    .quality(quality ?? Self.defaultQuality)
  }

  func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String? {
    max(size.width, size.height) <= Self.largestSide
      ? nil : "webp stores frames of at most \(Self.largestSide) pixels each way"
  }

  private func isLossless(_ settings: VideoSettings) -> Bool {
    if case .quality(let quality) = settings.rateControl { quality >= Self.losslessQuality } else { false }
  }

  func expectedBits(_ settings: VideoSettings) -> ExpectedBits? {
    if isLossless(settings) { return .lossless(settings.pixelFormat, share: 0.3) }
    guard case .quality(let quality) = settings.rateControl else { return nil }
    // As many again from 75 to 90, and nearly none at 0.
    return ExpectedBits(likely: 0.2 + 0.5 * (quality / 75) * (quality / 75), spread: 4)
  }

  func costPerPixel(_ settings: VideoSettings) -> Double {
    let name = settings.preset ?? defaultPreset
    return (Self.presetTable.first { $0.name == name }?.cost ?? 3) * (isLossless(settings) ? 6 : 1)
  }

  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    var setup = VideoEncoderSetup(encoder: "libwebp", keyframeInterval: 1, pictures: .rgb("bgra"), options: [])
    setup.options = [("compression_level", settings.preset ?? "4"), ("lossless", isLossless(settings) ? "1" : "0")]
    if case .quality(let quality) = settings.rateControl { setup.options.append(("quality", "\(quality)")) }
    return setup
  }
}

/// How the colours between those of a palette are made.
public enum Dithering: String, Sendable, Hashable, Codable, CaseIterable {
  /// The error of each pixel is spread over its neighbours: Sierra's filter "Lite".
  case diffused
  /// A pattern of 8x8 pixels, which stays where it is from picture to picture.
  case ordered
  /// Not at all: each pixel has the nearest colour of the palette.
  case none

  static let standard = diffused
}

/// The pictures that an encoder takes in place of a film's, in the colours of screens.
package enum EncoderPictures: Sendable, Hashable {
  /// Red, green and blue in libavutil's format of this name.
  case rgb(String)
  /// At most 256 colours, which are each picture's own.
  case paletted(Dithering)
}

/// What of an encoder's packets is stored.
package enum EncoderPackets: Sendable, Hashable {
  /// All of it.
  case whole
  /// The block of the picture, of a GIF file.
  case gif
  /// The compressed data of the picture, of a PNG file.
  case png
}

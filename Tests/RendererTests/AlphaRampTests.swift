import CompositionModel
import Foundation
import Media
import Segmenter
import SheafCompositing
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Every path of pictures with alpha, over all alphas from 0 to 1 in steps of 1/16 and two colours, straight and
/// premultiplied. ffmpeg decodes the files and applies its `premultiply` in 16 bits; the blend over the background and
/// the film's luma and chroma are computed in Double.
@Suite struct AlphaRampTests {
  /// A ramp is 17 columns of two colours, each a square of so many pixels.
  private static let square = 8
  private static let size = PixelSize(width: 17 * square, height: 2 * square)
  private static let colours = [[0.9, 0.55, 0.15], [0.2, 0.4, 0.95]]
  private static let background = Color(red: 40, green: 90, blue: 160)

  /// How ffmpeg makes a file with alpha, and how it decodes one with its alpha.
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var encoder: [String]
    var decoder: [String] = []
    var isGrey = false

    init(_ name: String, _ format: String, _ encoder: [String] = [], decoder: [String] = []) {
      (self.name, self.decoder) = (name, decoder)
      self.encoder = encoder + ["-pix_fmt", format]
      isGrey = format.hasPrefix("ya")
    }

    var testDescription: String { "\(name) \(encoder.last ?? "")" }
  }

  static let stills = [
    Kind("still.png", "rgba"), Kind("still.png", "rgba64be"), Kind("still.png", "ya8"), Kind("still.png", "ya16be"),
    Kind("still.tiff", "rgba64le"), Kind("still.webp", "bgra", ["-c:v", "libwebp", "-lossless", "1"]),
  ]
  static let videos =
    ["yuva420p", "yuva422p", "yuva444p", "yuva420p10le", "yuva422p10le", "yuva444p10le", "yuva422p16le"].map {
      Kind("ffv1.mkv", $0, ["-c:v", "ffv1"])
    }
    + ["yuva444p16le", "bgra", "gbrap10le", "gbrap12le", "gbrap16le", "rgba64le"].map {
      Kind("ffv1.mkv", $0, ["-c:v", "ffv1"])
    } + [
      Kind("prores.mov", "yuva444p10le", ["-c:v", "prores_ks", "-profile:v", "4444", "-alpha_bits", "16"]),
      Kind("prores8.mov", "yuva444p10le", ["-c:v", "prores_ks", "-profile:v", "4444", "-alpha_bits", "8"]),
      Kind("qtrle.mov", "argb", ["-c:v", "qtrle"]), Kind("png.mov", "rgba", ["-c:v", "png"]),
      Kind("png.mov", "rgba64be", ["-c:v", "png"]), Kind("sticker.apng", "rgba", ["-plays", "0"]),
      Kind("sticker.apng", "rgba64be", ["-plays", "0"]),
      Kind(
        "vp9.webm", "yuva420p", ["-c:v", "libvpx-vp9", "-crf", "4", "-b:v", "0", "-cpu-used", "8"],
        decoder: ["-c:v", "libvpx-vp9"]),
    ]

  /// A source, and what it shows by ffmpeg: red, green and blue multiplied by alpha, and alpha, each 0 to 1, in the
  /// middle of each square.
  private struct Ramp {
    var fixture: VideoFixture
    let source: Int
    let pixels: [[[Double]]]

    init(_ kind: Kind, _ alpha: AlphaMode) throws {
      var fixture = try VideoFixture()
      var raw: [UInt8] = []
      for y in 0..<size.height {
        for x in 0..<size.width {
          let share = Double(x / square) / 16
          for value in colours[y / square].map({ alpha == .premultiplied ? $0 * share : $0 }) + [share] {
            let code = UInt16((value * 65535).rounded())
            raw += [UInt8(code & 255), UInt8(code >> 8)]
          }
        }
      }
      let tags = ["-vf", "scale=out_color_matrix=bt709:flags=accurate_rnd+full_chroma_int", "-colorspace", "bt709"]
      source = try fixture.make(
        kind.name, raw: raw, format: "rgba64le", width: size.width, height: size.height,
        tags + ["-frames:v", "1"] + kind.encoder)
      fixture.change(source) { $0.alpha = alpha }
      #expect(fixture.sources[source].video.hasAlpha)
      // Grey has no matrix, and ffmpeg's scaler takes the luma of colours as BT.601 has it; both see the file alone.
      let graph =
        "scale=in_color_matrix=bt709:flags=bicubic+accurate_rnd+full_chroma_int,format=gbrap16le"
        + (alpha == .straight ? ",premultiply=inplace=1" : "")
      let bytes = try fixture.firstFrame(kind.decoder, fixture.folder.path(kind.name), graph)
      let count = size.width * size.height
      pixels = (0..<2).map { row in
        (0...16).map { column in
          let at = (row * square + square / 2) * size.width + column * square + square / 2
          // Planes of green, blue, red and alpha.
          return [2, 0, 1, 3].map { plane in
            let place = 2 * (plane * count + at)
            return Double(UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8) / 65535
          }
        }
      }
      self.fixture = fixture
    }

    /// The greatest distance of a film's luma, Cb and Cr from those of colours, in codes of 8 bits.
    /// - Parameter scale: How many of its pixels are one of the ramp.
    func worst(
      _ task: VideoTask, scale: Int = 1, _ registry: CompositorRegistry? = nil,
      _ colour: (_ pixel: [Double]) -> [Double]
    ) throws -> Double {
      let maker =
        if let registry {
          try FrameMaker(task, inputs: fixture.inputs, compositors: registry)
        } else { try FrameMaker(task, inputs: fixture.inputs) }
      let format = task.format.pixelFormat
      let samples = CompositingTests.samples(try maker.frame(0).packed, format)
      let (width, height) = (size.width * scale, size.height * scale)
      let cell = ChromaCell(format)
      let chroma = cell.chroma(PixelRect(task.format.size)).size
      let unit = Double(1 << (format.bitDepth - 8))
      var worst = 0.0
      for (row, pixels) in pixels.enumerated() {
        for (column, pixel) in pixels.enumerated() {
          let (x, y) = ((column * square + square / 2) * scale, (row * square + square / 2) * scale)
          let right = AlphaRampTests.codes(colour(pixel))
          for plane in 0..<3 {
            let place =
              plane == 0
              ? y * width + x
              : width * height + (plane - 1) * chroma.width * chroma.height + y / cell.height * chroma.width
                + x / cell.width
            worst = max(worst, abs(Double(samples[place]) / unit - right[plane]))
          }
        }
      }
      return worst
    }
  }

  private static func luma(_ rgb: [Double]) -> Double { 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] }

  /// Codes of 8 bits of red, green and blue, by BT.709.
  private static func codes(_ rgb: [Double]) -> [Double] {
    let luma = luma(rgb)
    return [16 + 219 * luma, 128 + 224 * (rgb[2] - luma) / 1.8556, 128 + 224 * (rgb[0] - luma) / 1.5748]
  }

  /// A premultiplied pixel over the background.
  private static func over(_ pixel: [Double], opacity: Double = 1) -> [Double] {
    let below = [Double(background.red), Double(background.green), Double(background.blue)].map { $0 / 255 }
    return (0..<3).map { opacity * pixel[$0] + (1 - opacity * pixel[3]) * below[$0] }
  }

  /// What the file and the film may round: a sample of the source to its depth, and one of the film to its own.
  private static func tolerance(_ ramp: Ramp, _ format: PixelFormat) -> Double {
    let isDeep = ramp.fixture.sources[ramp.source].video.bitDepth > 8
    return (isDeep ? 0.25 : 1.1) + 0.6 / Double(1 << (format.bitDepth - 8))
  }

  private static func task(_ ramp: Ramp, _ layers: [PlannedLayer], _ format: PixelFormat, scale: Int = 1) -> VideoTask {
    ramp.fixture.task(
      layers, size: PixelSize(width: size.width * scale, height: size.height * scale), format: format,
      colour: ColourTags(matrix: "bt709"), frameCount: 1, background: background)
  }

  private static func overlay(
    _ ramp: Ramp, _ format: PixelFormat, opacity: Double = 1, geometry: LayerGeometry? = nil, at x: Int = 0
  ) throws -> VideoTask {
    let content: PlannedOverlayContent =
      ramp.fixture.sources[ramp.source].video.isStill
      ? .image(source: ramp.source, width: nil, height: nil)
      : .video(
        PlannedOverlayVideo(
          source: ramp.source,
          sourceRange: try MediaTimeRange(start: .zero, duration: MediaTime(value: 1, timescale: 30)), start: .zero))
    var overlay = PlannedOverlay(
      content: content, frames: [0..<1], placement: .point(x: x, y: 0), opacity: opacity, ramps: .one)
    overlay.geometry = geometry
    var task = task(ramp, [], format)
    task.overlays = [overlay]
    return task
  }

  // MARK: Tests

  @Test(arguments: stills + videos, [AlphaMode.straight, .premultiplied])
  func `a clip and an overlay have the share that their alpha is`(kind: Kind, alpha: AlphaMode) throws {
    let ramp = try Ramp(kind, alpha)
    for format in [PixelFormat.yuv444p10, .yuv420p] {
      let most = Self.tolerance(ramp, format)
      func expect(_ what: String, _ worst: Double) {
        #expect(worst <= most, "\(what) in \(format) is off by \(worst)")
      }
      var clip = try ramp.fixture.clip(ramp.source, frames: 0..<1)
      expect("a clip", try ramp.worst(Self.task(ramp, [.clip(clip)], format)) { Self.over($0) })
      expect(
        "a scaled clip", try ramp.worst(Self.task(ramp, [.clip(clip)], format, scale: 2), scale: 2) { Self.over($0) })
      clip.opacity = try .constant(7.0 / 16)
      expect(
        "a clip of 7/16", try ramp.worst(Self.task(ramp, [.clip(clip)], format)) { Self.over($0, opacity: 7.0 / 16) })
      clip.opacity = .one
      clip.geometry = LayerGeometry(transform: .turn(.constant(LayerTurn(x: 0.5))))
      expect("a clip in its place", try ramp.worst(Self.task(ramp, [.clip(clip)], format)) { Self.over($0) })
      expect("an overlay", try ramp.worst(Self.overlay(ramp, format)) { Self.over($0) })
      expect(
        "an overlay of 5/16", try ramp.worst(Self.overlay(ramp, format, opacity: 5.0 / 16)) {
          Self.over($0, opacity: 5.0 / 16)
        })
      let moved = LayerGeometry(transform: .turn(.constant(LayerTurn(x: 16))))
      expect("a moved overlay", try ramp.worst(Self.overlay(ramp, format, geometry: moved, at: -16)) { Self.over($0) })
    }
  }

  @Test(arguments: stills + videos, [AlphaMode.straight, .premultiplied])
  func `a mask covers what its alpha or its luma over black is`(kind: Kind, alpha: AlphaMode) throws {
    var ramp = try Ramp(kind, alpha)
    let white = try ramp.fixture.make(
      "white.png",
      ["-f", "lavfi", "-i", "color=white:size=\(Self.size.width)x\(Self.size.height)", "-frames:v", "1"])
    for (channel, isInverted) in [(LayerMask.Channel.alpha, false), (.alpha, true), (.luma, false)] {
      var clip = try ramp.fixture.clip(white, frames: 0..<1)
      var mask = PlannedMask(source: ramp.source, channel: channel, isInverted: isInverted)
      mask.sourceRange = try MediaTimeRange(start: .zero, duration: MediaTime(value: 1, timescale: 30))
      mask.targetRange = mask.sourceRange
      clip.mask = mask
      let worst = try ramp.worst(Self.task(ramp, [.clip(clip)], .yuv444p10)) { pixel in
        let share: Double = channel == .luma ? Self.luma(pixel) : isInverted ? 1 - pixel[3] : pixel[3]
        return Self.over([share, share, share, share])
      }
      #expect(worst <= Self.tolerance(ramp, .yuv444p10), "\(channel) is off by \(worst)")
    }
  }

  @Test(arguments: [stills[0], stills[1], videos[2], videos[8], videos[13]], [AlphaMode.straight, .premultiplied])
  func `a compositor is given premultiplied colours and alpha`(kind: Kind, alpha: AlphaMode) throws {
    let ramp = try Ramp(kind, alpha)
    let clip = try ramp.fixture.clip(ramp.source, frames: 0..<1)
    let second = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let layer = PlannedLayer.compositor(
      PlannedCompositor(
        sources: [PlannedCompositor.Source(track: "top", clip: clip)], progress: .init(over: second, from: 0, to: 1),
        filmStart: .zero, compositor: CustomCompositor(name: "over", parameters: #"{"tracks":["top"]}"#)))
    let registry = try CompositorRegistry([CustomCompositorTests.Over.self])
    let worst = try ramp.worst(Self.task(ramp, [layer], .yuv444p10), registry) { Self.over($0) }
    // The picture and its alpha are rounded to the film's codes before they are drawn.
    #expect(worst <= Self.tolerance(ramp, .yuv444p10) + 0.5, "off by \(worst)")
  }

  @Test(arguments: [stills[0], stills[1], videos[2], videos[8]], [AlphaMode.straight, .premultiplied])
  func `a dissolve from a picture with alpha shows what lies below`(kind: Kind, alpha: AlphaMode) throws {
    var ramp = try Ramp(kind, alpha)
    let red = try ramp.fixture.make(
      "red.png",
      ["-f", "lavfi", "-i", "color=#c02010:size=\(Self.size.width)x\(Self.size.height)", "-frames:v", "1"])
    let progress = 5.0 / 16
    let layer = PlannedLayer.transition(
      from: try ramp.fixture.clip(ramp.source, frames: 0..<1), to: try ramp.fixture.clip(red, frames: 0..<1),
      progress: .init(
        over: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1)), from: progress, to: progress),
      style: TransitionStyle(.dissolve), matte: nil)
    let worst = try ramp.worst(Self.task(ramp, [layer], .yuv444p10)) { pixel in
      let other = [192.0, 32, 16].map { $0 / 255 }
      return zip(Self.over(pixel), other).map { (1 - progress) * $0 + progress * $1 }
    }
    #expect(worst <= Self.tolerance(ramp, .yuv444p10), "off by \(worst)")
  }
}

extension VideoFixture {
  /// The bytes of a file's first frame after a filter graph, as `gbrap16le`.
  fileprivate func firstFrame(_ decoder: [String], _ path: String, _ graph: String) throws -> [UInt8] {
    [UInt8](
      try Tool.ffmpeg(
        decoder + ["-i", path, "-vf", graph, "-frames:v", "1", "-pix_fmt", "gbrap16le", "-f", "rawvideo", "-"]))
  }
}

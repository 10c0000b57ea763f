import CompositionModel
import Foundation
import Media
import RenderTasks
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
  private static let square = 16
  private static let size = PixelSize(width: 17 * square, height: 2 * square)
  private static let colours = [[0.9, 0.55, 0.15], [0.2, 0.4, 0.95]]
  private static let background = Color(red: 40, green: 90, blue: 160)

  /// How ffmpeg makes a file with alpha, and how it decodes one with its alpha.
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var encoder: [String]
    var decoder: [String] = []

    init(_ name: String, _ format: String, _ encoder: [String] = [], decoder: [String] = []) {
      (self.name, self.decoder) = (name, decoder)
      self.encoder = encoder + ["-pix_fmt", format]
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

  /// The short ones have each codec, and each kind of format once.
  private static let cases: [(Kind, AlphaMode)] = {
    let kinds = stills + videos
    let modes = [AlphaMode.straight, .premultiplied]
    let all = kinds.flatMap { kind in modes.map { (kind, $0) } }
    let few = [0, 1, 3, 4, 5, 6, 10, 11, 13, 14, 16, 19, 20, 21, 22, 24, 26]
    return TestExtent.of(few.enumerated().map { (kinds[$1], modes[$0 % 2]) }, whole: all)
  }()

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
      if let format = FrameFormat(name: fixture.sources[source].video.pixelFormat), format.isYCbCr {
        pixels = try Self.pixels(ofYCbCr: format, alpha, fixture.folder.path(kind.name), kind.decoder)
        self.fixture = fixture
        return
      }
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

    /// What a file shows, from its codes as ffmpeg decodes them: its own conversion to 16 bits gives white 65283.
    private static func pixels(
      ofYCbCr format: FrameFormat, _ alpha: AlphaMode, _ path: String, _ decoder: [String]
    ) throws -> [[[Double]]] {
      let bytes = [UInt8](
        try Tool.ffmpeg(
          decoder + ["-i", path, "-frames:v", "1", "-pix_fmt", format.name, "-f", "rawvideo", "-"]))
      let (depth, shift) = (format.bitDepth, format.chromaShift)
      let (width, columns) = (size.width, size.width >> shift.horizontal)
      let (luma, chroma) = (size.width * size.height, columns * (size.height >> shift.vertical))
      func sample(_ place: Int) -> Double {
        depth == 8 ? Double(bytes[place]) : Double(UInt16(bytes[2 * place]) | UInt16(bytes[2 * place + 1]) << 8)
      }
      let step = Double(1 << (depth - 8))
      return (0..<2).map { row in
        (0...16).map { column in
          let (x, y) = (column * square + square / 2, row * square + square / 2)
          let ofChroma = luma + (y >> shift.vertical) * columns + (x >> shift.horizontal)
          let level = (sample(y * width + x) / step - 16) / 219
          let cb = (sample(ofChroma) / step - 128) / 224
          let cr = (sample(ofChroma + chroma) / step - 128) / 224
          let share = sample(luma + 2 * chroma + y * width + x) / Double(1 << depth - 1)
          let (red, blue) = (level + 1.5748 * cr, level + 1.8556 * cb)
          let green: Double = (level - 0.2126 * red - 0.0722 * blue) / 0.7152
          let isStraight = alpha == .straight
          return [red, green, blue].map { value in
            isStraight ? min(1, max(0, value)) * share : min(share, max(0, value))
          } + [share]
        }
      }
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

  /// What the file and the film may round: a sample of the source to its depth, and both what is drawn and the
  /// background to the film's. Red, green and blue of 8 bits that are multiplied by alpha have less; what luma and
  /// chroma show is computed of their codes.
  private static func tolerance(_ ramp: Ramp, _ format: PixelFormat) -> Double {
    let video = ramp.fixture.sources[ramp.source].video
    let isYCbCr = FrameFormat(name: video.pixelFormat)?.isYCbCr == true
    return (video.bitDepth > 8 ? 0.25 : isYCbCr ? 0.5 : 1.1) + 1 / Double(1 << (format.bitDepth - 8))
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

  /// Every code of luma, as a clip with alpha that is 255 throughout, is what it is without alpha.
  @Test(arguments: [AlphaMode.straight, .premultiplied])
  func `an opaque picture of 8 bits has the luma of its codes`(alpha: AlphaMode) throws {
    let codes = (0..<220).map { UInt8(16 + $0) }
    let size = PixelSize(width: codes.count, height: 2)
    var fixture = try VideoFixture()
    let raw = codes + codes + Array(repeating: 128, count: codes.count) + Array(repeating: 255, count: 2 * codes.count)
    let source = try fixture.make(
      "opaque.mkv", raw: raw, format: "yuva420p", width: size.width, height: size.height,
      ["-frames:v", "1", "-c:v", "ffv1", "-colorspace", "bt709", "-color_range", "tv"])
    fixture.change(source) { $0.alpha = alpha }
    #expect(fixture.sources[source].video.hasAlpha)
    let clip = try fixture.clip(source, frames: 0..<1)
    let task = fixture.task(
      [.clip(clip)], size: size, format: .yuv420p10, colour: ColourTags(matrix: "bt709"), frameCount: 1)
    let samples = CompositingTests.samples(try fixture.frame(task), .yuv420p10)
    #expect(samples.prefix(codes.count).map { Int($0) } == codes.map { 4 * Int($0) })
  }

  @Test(arguments: cases)
  func `a clip and an overlay have the share that their alpha is`(kind: Kind, alpha: AlphaMode) throws {
    let ramp = try Ramp(kind, alpha)
    for format in [PixelFormat.yuv444p10, .yuv420p] {
      // What a lossy codec makes of a square is not of one colour, and chroma is interpolated.
      let most = Self.tolerance(ramp, format) + (kind.decoder.isEmpty ? 0 : 0.5)
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
      clip.geometry = LayerGeometry(transform: .turn(.constant(TransformComponents(x: 0.5))))
      expect("a clip in its place", try ramp.worst(Self.task(ramp, [.clip(clip)], format)) { Self.over($0) })
      expect("an overlay", try ramp.worst(Self.overlay(ramp, format)) { Self.over($0) })
      expect(
        "an overlay of 5/16",
        try ramp.worst(Self.overlay(ramp, format, opacity: 5.0 / 16)) {
          Self.over($0, opacity: 5.0 / 16)
        })
      let moved = LayerGeometry(transform: .turn(.constant(TransformComponents(x: 16))))
      expect("a moved overlay", try ramp.worst(Self.overlay(ramp, format, geometry: moved, at: -16)) { Self.over($0) })
    }
  }

  @Test(arguments: cases)
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

  /// An opaque picture is opaque, whatever its depth.
  @Test(
    arguments: [
      ("yuva444p", 8), ("yuva444p9le", 9), ("yuva422p10le", 10), ("yuva444p10le", 10), ("yuva420p16le", 16),
      ("yuva444p16le", 16),
    ], [AlphaMode.straight, .premultiplied])
  func `white is white and hides what is below`(_ stored: (format: String, depth: Int), alpha: AlphaMode) throws {
    let (count, cell) = (16 * 16, try #require(FrameFormat(name: stored.format)).chromaShift)
    let chroma = count >> (cell.horizontal + cell.vertical)
    let step = 1 << (stored.depth - 8)
    let codes =
      (0..<count).map { ($0 % 16 < 8 ? 235 : 126) * step } + Array(repeating: 128 * step, count: 2 * chroma)
      + Array(repeating: 1 << stored.depth - 1, count: count)
    let raw = stored.depth == 8 ? codes.map { UInt8($0) } : codes.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "white.mkv", raw: raw, format: stored.format, width: 16, height: 16, ["-c:v", "ffv1", "-colorspace", "bt709"])
    fixture.change(source) { $0.alpha = alpha }
    let task = fixture.task(
      [.clip(try fixture.clip(source, frames: 0..<1))], size: PixelSize(width: 16, height: 16), format: .yuv444p10,
      colour: ColourTags(matrix: "bt709"), frameCount: 1, background: Color(red: 255, green: 0, blue: 0))
    let samples = CompositingTests.samples(try fixture.frame(task), .yuv444p10)
    for place in [4, 12] {
      #expect(abs(samples[8 * 16 + place] - (place < 8 ? 940 : 504)) <= (stored.depth == 8 ? 1 : 0))
      #expect(samples[count + 8 * 16 + place] == 512 && samples[2 * count + 8 * 16 + place] == 512)
    }
  }

  /// Where the film has other colours, those of a pixel are converted and then have its share, as if it was opaque.
  @Test(arguments: [stills[0], stills[1], videos[5], videos[11]], [AlphaMode.straight, .premultiplied])
  func `colours are converted apart from their alpha`(kind: Kind, alpha: AlphaMode) throws {
    let ramp = try Ramp(kind, alpha)
    var task = Self.task(ramp, [.clip(try ramp.fixture.clip(ramp.source, frames: 0..<1))], .yuv444p10)
    task.format.colour = ColourConversionTests.pq
    task.spans[0].background = .black
    let samples = CompositingTests.samples(try ramp.fixture.frame(task), .yuv444p10)
    let count = Self.size.width * Self.size.height
    for plane in 0..<3 {
      for row in 0..<2 {
        func sample(_ column: Int) -> Double {
          let (x, y) = (column * Self.square + Self.square / 2, row * Self.square + Self.square / 2)
          return Double(samples[plane * count + y * Self.size.width + x])
        }
        let (clear, opaque) = (sample(0), sample(16))
        #expect(clear == (plane == 0 ? 64 : 512) && abs(opaque - clear) > (plane == 0 ? 200 : 4))
        for column in 1..<16 {
          let share = Double(column) / 16
          let right = share * opaque + (1 - share) * clear
          // A step of 8 bits of alpha is up to two codes, and PQ enlarges those of colours.
          let most = kind.encoder.last == "rgba" ? 4 : 1.6
          #expect(abs(sample(column) - right) <= most, "plane \(plane), row \(row), \(column)/16")
        }
      }
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

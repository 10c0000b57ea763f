import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// Random stacks of layers with transforms, crops, opacities and blend modes against the slow compositor.
@Suite struct ReferenceTests {
  /// A picture and the same as a source of the fixture.
  private struct Source {
    var index: Int
    var picture: ReferenceCompositor.Picture
    var size: PixelSize
  }

  /// Waves in all directions, up to the finest, some noise, and flat parts.
  private static func wave(_ x: Int, _ y: Int, _ seed: Int) -> Double {
    let (x, y) = (Double(x + 13 * seed), Double(y + 7 * seed))
    let phase = (x * x + y * y) / (90 + 10 * Double(seed))
    let triangle = abs(phase.truncatingRemainder(dividingBy: 4) - 2) - 1
    return 0.5 + 0.3 * triangle * (Int(x / 16) % 3 == 0 ? 0 : 1) + 0.1 * (Int(x / 8 + y / 8) % 2 == 0 ? 1 : -1)
  }

  private static func opaque(
    _ fixture: inout VideoFixture, _ size: PixelSize, _ format: PixelFormat, seed: Int
  ) throws -> Source {
    var random = SeededRandom(seed: UInt64(seed))
    let cell = ChromaCell(format)
    let highest = Double(1 << format.bitDepth) - 1
    var planes: [ReferenceCompositor.Plane] = []
    var bytes: [UInt8] = []
    for plane in 0..<3 {
      let (across, down) = plane == 0 ? (1, 1) : (cell.width, cell.height)
      var made = ReferenceCompositor.Plane((size.width + across - 1) / across, (size.height + down - 1) / down)
      for y in 0..<made.height {
        for x in 0..<made.width {
          let noise = Double.random(in: -0.04...0.04, using: &random)
          let level = wave(x * across + 40 * plane, y * down, seed) + noise
          let code = ((0.08 + 0.84 * level) * highest).rounded()
          made.samples[y * made.width + x] = code
          bytes.append(UInt8(Int(code) & 255))
          if format.bitDepth > 8 { bytes.append(UInt8(Int(code) >> 8)) }
        }
      }
      planes.append(made)
    }
    let index = try fixture.make(
      "\(format)-\(seed).mov", raw: bytes, format: FrameFormat(format).name, width: size.width, height: size.height,
      ["-c:v", "ffv1"])
    return Source(index: index, picture: ReferenceCompositor.Picture(planes: planes), size: size)
  }

  /// A still with a soft hole. Its reference planes depend on the film's depth.
  private static func transparent(_ fixture: inout VideoFixture, _ size: PixelSize) throws -> (Int, [[Double]]) {
    var bytes: [UInt8] = []
    var pixels: [[Double]] = []
    for y in 0..<size.height {
      for x in 0..<size.width {
        let (dx, dy) = (Double(x) - Double(size.width) / 2, Double(y) - Double(size.height) / 2)
        let alpha = min(1, max(0, (dx * dx + dy * dy).squareRoot() / 8 - 0.6))
        let straight = [
          wave(x, y, 3), Double(x) / Double(size.width), Double((x / 6 + y / 5) % 2), alpha,
        ].map { UInt8((min(1, max(0, $0)) * 255).rounded()) }
        bytes += straight
        pixels.append(straight.map { Double($0) / 255 })
      }
    }
    let index = try fixture.make("hole.png", raw: bytes, format: "rgba", width: size.width, height: size.height)
    return (index, pixels)
  }

  private static func layer(
    _ source: Source, _ fixture: VideoFixture, film: PixelSize, isBase: Bool,
    mask: (index: Int, size: PixelSize, pixels: [[Double]]), filtered: Bool, _ random: inout SeededRandom
  ) throws -> (ClipLayer, ReferenceCompositor.Layer) {
    var reference = ReferenceCompositor.Layer(picture: source.picture)
    var geometry = LayerGeometry()
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
    let (width, height) = (Double(film.width), Double(film.height))
    reference.fit = Fit.allCases[Int.random(in: 0..<4, using: &random)]
    if isBase { reference.fit = .cover }
    if !source.picture.hasAlpha, filtered, chance(30) { reference.fit = .blur }
    if chance(40) {
      let crop = [
        number(-5...20).rounded(), number(-5...20), number(12...60), number(12...60).rounded(),
      ]
      reference.crop = crop
      geometry.crop = .constant(Rectangle(x: crop[0], y: crop[1], width: crop[2], height: crop[3]))
    }
    if !isBase, reference.fit != .blur, chance(30) {
      let scale = number(0.3...2.2)
      let matrix = [
        scale * number(-1...1), number(-1...1), number(-1...1), scale * number(-1...1), number(0...width),
        number(0...height),
      ]
      let wanted = AffineMatrix(
        a: matrix[0], b: matrix[1], c: matrix[2], d: matrix[3], tx: matrix[4], ty: matrix[5])
      if abs(wanted.determinant) > 0.1 {
        reference.matrix = matrix
        geometry.transform = .matrix(.constant(wanted))
      }
    }
    if reference.matrix == nil {
      if !isBase, chance(70) {
        var frame = [number(-20...width), number(-20...height), number(8...90), number(8...90)]
        if chance(50) { frame = frame.map { $0.rounded() } }
        reference.frame = frame
        geometry.frame = .constant(Rectangle(x: frame[0], y: frame[1], width: frame[2], height: frame[3]))
      }
      if chance(60) {
        let rotation = chance(30) ? Double(Int.random(in: -4...4, using: &random) * 90) : number(-200...200)
        let mirror = chance(25) ? -1.0 : 1
        let turn = [
          chance(25) ? 0 : rotation, number(0.5...1.6) * mirror, number(0.5...1.6), number(-12...12), number(-12...12),
        ]
        let frame = reference.frame ?? [0, 0, width, height]
        let anchor = [number(-10...30), number(-10...30)]
        reference.turn = turn + [frame[0] + frame[2] * 0.25 + anchor[0], frame[1] + anchor[1]]
        geometry.transform = .turn(
          .constant(
            TransformComponents(
              rotation: turn[0], scaleX: turn[1], scaleY: turn[2], x: turn[3], y: turn[4],
              anchorX: TransformComponents.Coordinate(fraction: 0.25, pixels: anchor[0]),
              anchorY: TransformComponents.Coordinate(fraction: 0, pixels: anchor[1]))))
      }
    }
    if filtered {
      if chance(50) { reference.filters.append(.blur(radius: number(0.5...12))) }
      if chance(40) { reference.filters.append(.contrast(amount: number(0.5...1.5))) }
      if chance(40) {
        reference.filters.append(
          .vignette(amount: number(0.2...1), radius: number(0...0.6), softness: number(0.3...1)))
      }
    }
    if chance(50) { reference.opacity = number(0.1...1) }
    if !isBase, chance(40) { reference.blendMode = BlendMode.allCases.randomElement(using: &random) }
    var planned: PlannedMask?
    if !isBase, chance(25) {
      let channel: LayerMask.Channel = chance(50) ? .alpha : .luma
      let isInverted = chance(50)
      planned = PlannedMask(source: mask.index, channel: channel, isInverted: isInverted)
      reference.mask = ReferenceCompositor.Plane(
        mask.size.width, mask.size.height,
        mask.pixels.map { pixel in
          let luma = (0.2126 * pixel[0] + 0.7152 * pixel[1] + 0.0722 * pixel[2]) * pixel[3]
          let value = channel == .alpha ? pixel[3] : luma
          return isInverted ? 1 - value : value
        })
    }
    var clip = try fixture.clip(
      source.index, frames: 0..<1, fit: reference.fit, opacity: .constant(reference.opacity))
    clip.geometry = geometry
    clip.blendMode = reference.blendMode
    clip.mask = planned
    if !reference.filters.isEmpty {
      clip.filters = try reference.filters.map { filter in
        Filter(filter.kind, try filter.values.map { try RampList.constant($0) })
      }
    }
    return (clip, reference)
  }

  /// A part of the stacks, or all with SHEAF_REFERENCE in the environment.
  private static let count =
    ProcessInfo.processInfo.environment["SHEAF_REFERENCE"] == nil ? TestExtent.of(75, whole: 250) : 500

  @Test func `random stacks are those of the slow compositor`() throws {
    try Self.compare(count: Self.count, filtered: false, seed: 20)
  }

  /// With filters and the fit `blur` as well.
  @Test func `filtered stacks are those of the slow compositor`() throws {
    try Self.compare(count: Self.count / 5, filtered: true, seed: 21)
  }

  /// Stacks of pictures whose chroma lies there too.
  @Test(
    arguments: TestExtent.of(
      ["topleft", "center", "bottom"], whole: ["topleft", "center", "top", "bottomleft", "bottom"]))
  func `stacks are those of the slow compositor, wherever chroma lies`(location: String) throws {
    try Self.compare(count: Self.count / 5, filtered: false, seed: 22, location)
  }

  private static func compare(count: Int, filtered: Bool, seed: UInt64, _ location: String = "left") throws {
    var fixture = try VideoFixture()
    var random = SeededRandom(seed: seed)
    let formats: [PixelFormat] = [.yuv420p, .yuv420p10, .yuv422p, .yuv444p, .yuv444p10, .yuv422p10]
    var opaque: [PixelFormat: [Source]] = [:]
    for format in formats {
      opaque[format] = [
        try Self.opaque(&fixture, PixelSize(width: 64, height: 48), format, seed: 1),
        try Self.opaque(&fixture, PixelSize(width: 90, height: 70), format, seed: 2),
      ]
    }
    let holeSize = PixelSize(width: 40, height: 36)
    let colour = ColourTags(matrix: "bt709", chromaLocation: location)
    for source in opaque.values.joined() { fixture.change(source.index) { $0.video.colour = colour } }
    let (hole, pixels) = try Self.transparent(&fixture, holeSize)
    for number in 0..<count {
      let format = formats[number % formats.count]
      let size = PixelSize(
        width: 2 * Int.random(in: 32...40, using: &random), height: 2 * Int.random(in: 24...32, using: &random))
      let cell = ChromaCell(format)
      var reference = ReferenceCompositor(
        width: size.width, height: size.height, across: cell.width, down: cell.height, depth: format.bitDepth)
      reference.place = (
        location.hasSuffix("left") ? 0.5 : 1, location.hasPrefix("top") ? 0.5 : location.hasPrefix("bottom") ? 1.5 : 1
      )
      var layers: [PlannedLayer] = []
      var expected: [ReferenceCompositor.Layer] = []
      for index in 0..<Int.random(in: 1...4, using: &random) {
        var source = opaque[format]?.randomElement(using: &random)
        if index > 0, Int.random(in: 0..<4, using: &random) == 0 {
          var planes = [ReferenceCompositor.Plane](
            repeating: ReferenceCompositor.Plane(holeSize.width, holeSize.height), count: 4)
          for (at, pixel) in pixels.enumerated() {
            let codes = reference.codes(pixel[0], pixel[1], pixel[2])
            for plane in 0..<3 { planes[plane].samples[at] = codes[plane] * pixel[3] }
            planes[3].samples[at] = pixel[3]
          }
          source = Source(
            index: hole, picture: ReferenceCompositor.Picture(planes: planes, hasAlpha: true), size: holeSize)
        }
        let (clip, layer) = try Self.layer(
          #require(source), fixture, film: size, isBase: index == 0, mask: (hole, holeSize, pixels),
          filtered: filtered, &random)
        layers.insert(.clip(clip), at: 0)
        expected.append(layer)
      }
      var task = fixture.task(
        layers, size: size, format: format, colour: colour, frameCount: 1,
        background: Color(red: 90, green: 40, blue: 200))
      task.spans[0].frames = 0..<1
      let made = CompositingTests.samples(try fixture.frame(task), format)
      let codes = reference.codes(90 / 255, 40 / 255, 200 / 255).map { $0.rounded() }
      let exact = reference.frame(expected, background: codes).flatMap(\.samples)
      try #require(made.count == exact.count)
      var squares = 0.0
      for (got, right) in zip(made, exact) { squares += (Double(got) - right) * (Double(got) - right) }
      let error = (squares / Double(made.count)).squareRoot()
      let peak = 20 * log10(reference.highest / max(error, 1e-9))
      let kinds = expected.map { layer in
        [
          layer.picture.hasAlpha ? "alpha" : "", layer.blendMode?.rawValue ?? "", layer.matrix.map { "\($0)" } ?? "",
          layer.mask == nil ? "" : "mask",
          layer.turn.map { "turn \($0)" } ?? "", layer.frame.map { "frame \($0)" } ?? "",
          layer.crop.map { "crop \($0)" } ?? "", layer.fit.rawValue, "\(layer.opacity)",
          layer.filters.isEmpty ? "" : "\(layer.filters)",
        ].filter { !$0.isEmpty }.joined(separator: " ")
      }
      #expect(
        peak >= (format.bitDepth > 8 ? 66 : 53.5),
        "\(peak) dB in stack \(number) of \(format), bottom first: \(kinds.joined(separator: "; "))")
    }
  }
}

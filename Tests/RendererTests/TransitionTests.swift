import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Transitions against a plain reference in double precision, which computes each sample from both pictures.
@Suite struct TransitionTests {
  static let progresses = [0.04, 0.25, 0.61, 0.98]

  static let kinds: [TransitionKind] =
    WipeDirection.allCases.map { .wipe($0, softness: 0) } + WipeDirection.allCases.map { .wipe($0, softness: 0.3) }
    + SlideDirection.allCases.flatMap { [.slide($0), .push($0)] }
    + [
      .circle(x: 0.5, y: 0.5, softness: 0), .circle(x: 0.2, y: 0.9, softness: 0), .circle(x: 1, y: 0, softness: 0.5),
      .clock(x: 0.5, y: 0.5, softness: 0), .clock(x: 0.21, y: 0.87, softness: 0), .clock(x: 1, y: 0, softness: 0.5),
      .iris(.rectangle, x: 0.5, y: 0.5, softness: 0), .iris(.rectangle, x: 0.1, y: 0.63, softness: 0.3),
      .iris(.diamond, x: 0.5, y: 0.5, softness: 0), .iris(.diamond, x: 0.9, y: 0.2, softness: 0.3),
      .luma(softness: 0, isInverted: false), .luma(softness: 0.2, isInverted: true), .dissolve,
      .fade(through: Color(red: 200, green: 40, blue: 90)), .fade(through: .black),
    ]

  /// A format with a size that it can store, odd where it can, and with the place of its chroma.
  struct Film: Sendable, CustomTestStringConvertible {
    var format: PixelFormat
    var size: PixelSize
    var chromaLocation: String?
    /// The pixels along an axis that a chroma sample is made from, counted from the first of its cell.
    let across: [(at: Int, weight: Double)]
    let down: [(at: Int, weight: Double)]

    init(_ format: PixelFormat, _ width: Int, _ height: Int, _ chromaLocation: String? = nil) {
      (self.format, self.chromaLocation) = (format, chromaLocation)
      size = PixelSize(width: width, height: height)
      let name = chromaLocation ?? "left"
      across = Self.taps(format.chromaShift.horizontal, isAtFirst: name.hasSuffix("left"), isAtLast: false)
      down = Self.taps(
        format.chromaShift.vertical, isAtFirst: name.hasPrefix("top"), isAtLast: name.hasPrefix("bottom"))
    }

    var testDescription: String { "\(format) \(chromaLocation ?? "-")" }

    var colour: ColourTags {
      var colour = CompositingTests.bt709
      colour.chromaLocation = chromaLocation
      return colour
    }

    /// Both of the cell where chroma is between them, else the one that it is at, and its neighbours by half as much.
    private static func taps(_ shift: Int, isAtFirst: Bool, isAtLast: Bool) -> [(at: Int, weight: Double)] {
      if shift == 0 { return [(0, 1)] }
      if isAtFirst { return [(-1, 0.25), (0, 0.5), (1, 0.25)] }
      if isAtLast { return [(0, 0.25), (1, 0.5), (2, 0.25)] }
      return [(0, 0.5), (1, 0.5)]
    }
  }

  static let films = [
    Film(.yuv420p, 46, 30), Film(.yuv444p, 45, 29), Film(.yuv420p10, 46, 30), Film(.yuv422p10, 46, 29),
    Film(.yuv444p10, 45, 29), Film(.yuv420p10, 46, 30, "topleft"), Film(.yuv420p, 46, 30, "center"),
    Film(.yuv420p10, 46, 30, "top"), Film(.yuv420p10, 46, 30, "bottomleft"), Film(.yuv420p, 46, 30, "bottom"),
    Film(.yuv422p10, 46, 29, "center"),
  ]

  static let formats = films.filter { $0.chromaLocation == nil }.map { ($0.format, $0.size) }

  /// Two pictures of noise in a format, and a matte with every grey.
  private struct Pictures {
    let fixture: VideoFixture
    let film: Film
    let a: Plain
    let b: Plain
    let matte: [UInt8]
    let sources: (a: Int, b: Int, matte: Int)

    var format: PixelFormat { film.format }
    var size: PixelSize { film.size }

    init(_ film: Film) throws {
      var fixture = try VideoFixture()
      let (format, size) = (film.format, film.size)
      let name = FrameFormat(format).name
      func picture(_ file: String, seed: UInt64) throws -> (Int, Plain) {
        let raw = CompositingTests.noise(size, format, count: 1, seed: seed)
        let index = try fixture.make(
          file, raw: raw, format: name, width: size.width, height: size.height, ["-c:v", "ffv1"])
        fixture.change(index) { $0.video.colour = film.colour }
        return (index, Plain(raw, size, format))
      }
      let (ofA, ofB) = (try picture("a.mov", seed: 1), try picture("b.mov", seed: 2))
      matte = (0..<(size.width * size.height)).map { UInt8(($0 * 83) % 256) }
      let ofMatte = try fixture.make("m.png", raw: matte, format: "gray", width: size.width, height: size.height)
      (a, b) = (ofA.1, ofB.1)
      sources = (ofA.0, ofB.0, ofMatte)
      (self.fixture, self.film) = (fixture, film)
    }

    func task(_ kind: TransitionKind, progress: Double, easing: Easing = .linear) throws -> VideoTask {
      let ramp = Ramp(
        over: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1)), from: progress, to: progress)
      let isLuma = if case .luma = kind { true } else { false }
      return fixture.task(
        [
          .transition(
            from: try fixture.clip(sources.a), to: try fixture.clip(sources.b), progress: ramp,
            style: TransitionStyle(kind, easing: easing), matte: isLuma ? sources.matte : nil)
        ], size: size, format: format, colour: film.colour, frameCount: 1)
    }

    /// The sides that a wipe's name has: two of one to a corner.
    private static let sides = Dictionary(
      uniqueKeysWithValues: WipeDirection.allCases.map { direction in
        (direction, SlideDirection.allCases.filter { direction.rawValue.contains($0.rawValue) })
      })

    func share(_ kind: TransitionKind, _ p: Double, _ x: Int, _ y: Int) -> Double {
      let (w, h) = (Double(size.width), Double(size.height))
      let (u, v) = ((Double(x) + 0.5) / w, (Double(y) + 0.5) / h)
      /// Where an edge of a width has come that goes through a field's values.
      func passed(_ value: Double, width: Double, from: Double, to: Double) -> Double {
        let edge = (1 - p) * (from - width / 2) + p * (to + width / 2)
        return min(1, max(0, 0.5 + (edge - value) / width))
      }
      switch kind {
      case .dissolve, .fade, .custom: return p
      case .wipe(.left, 0), .slide(.left), .push(.left): return min(1, max(0, Double(x) + 1 - w * (1 - p)))
      case .wipe(.right, 0), .slide(.right), .push(.right): return min(1, max(0, w * p - Double(x)))
      case .wipe(.up, 0), .slide(.up), .push(.up): return min(1, max(0, Double(y) + 1 - h * (1 - p)))
      case .wipe(.down, 0), .slide(.down), .push(.down): return min(1, max(0, h * p - Double(y)))
      case .wipe(let direction, let softness):
        let sides = Self.sides[direction] ?? []
        var (value, pixel) = (0.0, 0.0)
        for side in sides {
          switch side {
          case .left: (value, pixel) = (value + 1 - u, pixel + 1 / w)
          case .right: (value, pixel) = (value + u, pixel + 1 / w)
          case .up: (value, pixel) = (value + 1 - v, pixel + 1 / h)
          case .down: (value, pixel) = (value + v, pixel + 1 / h)
          }
        }
        (value, pixel) = (value / Double(sides.count), pixel / Double(sides.count))
        return passed(value, width: softness + pixel, from: pixel / 2, to: 1 - pixel / 2)
      case .slide, .push: return .nan
      case .circle(let cx, let cy, let softness):
        let corners: [(x: Double, y: Double)] = [(0, 0), (w, 0), (0, h), (w, h)]
        let distances: [Double] = corners.map { hypot($0.x - cx * w, $0.y - cy * h) }
        let radius = distances.max() ?? .nan
        let distance: Double = hypot(u * w - cx * w, v * h - cy * h)
        return passed(distance / radius, width: softness + 1 / radius, from: 0, to: 1)
      case .clock(let cx, let cy, let softness):
        let (dx, dy) = (u * w - cx * w, v * h - cy * h)
        let turns: Double = 2 * .pi * hypot(dx, dy)
        func behind(_ angle: Double) -> Double {
          min(1, max(0, p + (p - angle) * turns / (1 + turns * softness)))
        }
        let signed: Double = atan2(dx, -dy) / (2 * .pi)
        let angle = signed < 0 ? signed + 1 : signed
        guard dy < 0, abs(dx) < 0.5 else { return behind(angle) }
        return (0.5 - dx) * behind(dx < 0 ? angle : 1) + (0.5 + dx) * behind(dx < 0 ? 0 : angle)
      case .iris(.rectangle, let cx, let cy, let softness):
        let reach = max(cx, 1 - cx, cy, 1 - cy)
        return min(
          passed(abs(u - cx) / reach, width: softness + 1 / (w * reach), from: 0, to: 1),
          passed(abs(v - cy) / reach, width: softness + 1 / (h * reach), from: 0, to: 1))
      case .iris(.diamond, let cx, let cy, let softness):
        let reach = max(cx, 1 - cx) + max(cy, 1 - cy)
        let pixel = (1 / w + 1 / h) / reach
        return passed((abs(u - cx) + abs(v - cy)) / reach, width: softness + pixel, from: 0, to: 1)
      case .zoom, .spin, .blur, .pixelate: return .nan
      case .luma(let softness, let isInverted):
        let level = Double(matte[y * size.width + x]) / 255
        return passed(isInverted ? 1 - level : level, width: softness + 1.0 / 255, from: 0, to: 1)
      }
    }

    /// The reference: a sample of a plane.
    func expected(_ kind: TransitionKind, _ p: Double, _ plane: Int, _ x: Int, _ y: Int) -> Double {
      let chroma = plane == 0 ? (horizontal: 0, vertical: 0) : format.chromaShift
      if case .fade(let color) = kind {
        let codes = YCbCrMatrix(format: format, size: size).codes(color)
        let colour = Double([codes.luma, codes.cb, codes.cr][plane])
        let share = 1 - abs(2 * p - 1)
        return (1 - share) * (p < 0.5 ? a : b)[plane, Double(x), Double(y)] + share * colour
      }
      // Beyond an edge the last pixel is repeated.
      var share = 0.0
      for row in plane == 0 ? [(0, 1)] : film.down {
        for column in plane == 0 ? [(0, 1)] : film.across {
          share +=
            row.weight * column.weight
            * self.share(
              kind, p, min(size.width - 1, max(0, x << chroma.horizontal + column.at)),
              min(size.height - 1, max(0, y << chroma.vertical + row.at)))
        }
      }
      let across = Double(size.width) / Double(1 << chroma.horizontal)
      let down = Double(size.height) / Double(1 << chroma.vertical)
      var (ofA, ofB) = ((x: Double(x), y: Double(y)), (x: Double(x), y: Double(y)))
      switch kind {
      case .slide(let direction), .push(let direction):
        switch direction {
        case .left: ofB.x -= across * (1 - p)
        case .right: ofB.x += across * (1 - p)
        case .up: ofB.y -= down * (1 - p)
        case .down: ofB.y += down * (1 - p)
        }
        guard case .push = kind else { break }
        switch direction {
        case .left: ofA.x += across * p
        case .right: ofA.x -= across * p
        case .up: ofA.y += down * p
        case .down: ofA.y -= down * p
        }
      default: break
      }
      return (1 - share) * a[plane, ofA.x, ofA.y] + share * b[plane, ofB.x, ofB.y]
    }
  }

  /// A frame's planes as numbers, with linear interpolation between samples and the edge repeated.
  private struct Plain {
    let planes: [(width: Int, height: Int, samples: [Int])]

    init(_ frame: [UInt8], _ size: PixelSize, _ format: PixelFormat) {
      let samples = CompositingTests.samples(frame, format)
      let chroma = ChromaCell(format).chroma(PixelRect(size)).size
      var planes: [(Int, Int, [Int])] = []
      var start = 0
      for size in [size, chroma, chroma] {
        planes.append((size.width, size.height, Array(samples[start..<(start + size.width * size.height)])))
        start += size.width * size.height
      }
      self.planes = planes
    }

    subscript(plane: Int, x: Double, y: Double) -> Double {
      let (width, height, samples) = planes[plane]
      func sample(_ x: Int, _ y: Int) -> Double {
        Double(samples[min(height - 1, max(0, y)) * width + min(width - 1, max(0, x))])
      }
      let (left, top) = (x.rounded(.down), y.rounded(.down))
      let (fx, fy) = (x - left, y - top)
      let (ix, iy) = (Int(left), Int(top))
      let upper = (1 - fx) * sample(ix, iy) + fx * sample(ix + 1, iy)
      let lower = (1 - fx) * sample(ix, iy + 1) + fx * sample(ix + 1, iy + 1)
      return (1 - fy) * upper + fy * lower
    }
  }

  /// Each kind at several progresses. A slide rounds the moved picture and then the mix; everything else is rounded
  /// once.
  @Test(arguments: TestExtent.of([films[0], films[3], films[4], films[5], films[9]], whole: films))
  func `every kind is its definition`(film: Film) throws {
    let pictures = try Pictures(film)
    let (format, size) = (film.format, film.size)
    for kind in Self.kinds {
      var (error, count, worst) = (0.0, 0, 0.0)
      for progress in Self.progresses {
        let made = Plain(try pictures.fixture.frame(pictures.task(kind, progress: progress)), size, format)
        for (plane, part) in made.planes.enumerated() {
          for y in 0..<part.height {
            for x in 0..<part.width {
              let exact = pictures.expected(kind, progress, plane, x, y)
              let difference = abs(Double(part.samples[y * part.width + x]) - exact)
              worst = max(worst, difference)
              error += difference * difference
              count += 1
            }
          }
        }
      }
      let highest = Double(1 << format.bitDepth) - 1
      let psnr = 10 * log10(highest * highest * Double(count) / max(1e-9, error))
      #expect(psnr >= (format.bitDepth > 8 ? 70 : 58), "\(kind): \(psnr) dB")
      #expect(worst <= 1, "\(kind): \(worst)")
    }
  }

  /// Sides that do not cover the frame: a narrow A at an opacity, B with alpha, over a background.
  @Test(arguments: [
    TransitionKind.wipe(.right, softness: 0.2), .circle(x: 0.5, y: 0.5, softness: 0), .slide(.left), .push(.down),
    .fade(through: .white),
  ])
  func `what a side does not cover shows what is below`(kind: TransitionKind) throws {
    var fixture = try VideoFixture()
    let (size, narrow) = (PixelSize(width: 96, height: 64), PixelSize(width: 64, height: 64))
    let a = try fixture.make(
      "a.mov", raw: CompositingTests.noise(narrow, .yuv420p, count: 1, seed: 3), format: "yuv420p", width: 64,
      height: 64, ["-c:v", "ffv1"])
    // White whose alpha rises from left to right.
    var rgba = [UInt8](repeating: 255, count: 96 * 64 * 4)
    for pixel in 0..<(96 * 64) { rgba[4 * pixel + 3] = UInt8(pixel % 96 * 2) }
    let b = try fixture.make("b.png", raw: rgba, format: "rgba", width: 96, height: 64)
    let background = Color(red: 200, green: 40, blue: 90)
    func frame(_ layers: [PlannedLayer]) throws -> PackedFrame {
      let task = fixture.task(
        layers, size: size, colour: CompositingTests.bt709, frameCount: 1, background: background)
      return PackedFrame(try fixture.frame(task), size)
    }
    let (from, to) = (try fixture.clip(a, opacity: .constant(0.6)), try fixture.clip(b))
    // What each side shows alone is known from the tests of layers.
    let (ofA, ofB) = (try frame([.clip(from)]), try frame([.clip(to)]))
    for progress in [0.25, 0.5, 0.875] {
      let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
      let made = try frame([
        .transition(
          from: from, to: to, progress: Ramp(over: over, from: progress, to: progress), style: TransitionStyle(kind),
          matte: nil)
      ])
      // In the luma of whole pixels: the progresses are such that pictures move by whole cells.
      var worst = 0.0
      for y in 0..<64 {
        for x in 0..<96 {
          let exact = Self.sides(kind, progress, ofA, ofB, x, y)
          worst = max(worst, abs(Double(made[0, x, y]) - exact))
        }
      }
      #expect(worst <= 1.6, "\(kind) at \(progress): \(worst)")
    }
  }

  /// The luma of a pixel of 96x64, from what each side shows alone.
  private static func sides(
    _ kind: TransitionKind, _ progress: Double, _ a: PackedFrame, _ b: PackedFrame, _ x: Int, _ y: Int
  ) -> Double {
    let (ofA, ofB) = (Double(a[0, x, y]), Double(b[0, x, y]))
    func mixed(_ unlimited: Double) -> Double {
      let share = min(1, max(0, unlimited))
      return (1 - share) * ofA + share * ofB
    }
    switch kind {
    case .wipe:
      let edge = progress * 1.2 - 0.1
      let width = 0.2 + 1.0 / 96
      return mixed(0.5 + (edge - (Double(x) + 0.5) / 96) / width)
    case .circle:
      let radius: Double = hypot(48.0, 32.0)
      let edge: Double = progress * (radius + 1) - 0.5
      let distance: Double = hypot(Double(x) - 47.5, Double(y) - 31.5)
      return mixed(0.5 + edge - distance)
    case .slide:
      let start = Int(96 * (1 - progress))
      return x < start ? ofA : Double(b[0, x - start, y])
    case .push:
      let end = Int(64 * progress)
      return y < end ? Double(b[0, x, y + 64 - end]) : Double(a[0, x, y - end])
    default:
      let share = 1 - abs(2 * progress - 1)
      return (1 - share) * (progress < 0.5 ? ofA : ofB) + share * 235
    }
  }

  @Test func `at its ends, a transition shows one picture and decodes no other`() throws {
    let (a, b) = (try FrameStackTests.clip(0), try FrameStackTests.clip(1))
    let sources = [try FrameStackTests.source(), try FrameStackTests.source()]
    func layers(_ kind: TransitionKind, _ progress: Double, _ easing: Easing = .linear) throws -> FrameStack {
      let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
      return try FrameStackTests.stack(
        [
          .transition(
            from: a, to: b, progress: Ramp(over: over, from: progress, to: progress),
            style: TransitionStyle(kind, easing: easing), matte: nil)
        ], sources: sources)
    }
    let changing: [TransitionKind] = [.zoom, .spin, .blur(amount: 0.1), .pixelate(amount: 0.2)]
    for kind in Self.kinds + changing where kind.name != .luma {
      let (start, end) = (try layers(kind, 0), try layers(kind, 1))
      guard case .clip(let first) = start.layers[0], case .clip(let last) = end.layers[0] else {
        Issue.record("\(kind)")
        continue
      }
      #expect(first.source == 0 && last.source == 1)
      #expect(try [start, end].allSatisfy { try FrameStackTests.hasBase($0, sources: sources) })
      #expect(first.weight == 16384 && last.weight == 16384)
      #expect(try layers(kind, 0.7, .hold) == start)
      let middle = try layers(kind, 0.25)
      #expect(try FrameStackTests.hasBase(middle, sources: sources))
      #expect(middle.layers[0].clips.map(\.source) == (kind.name == .fade ? [0] : [0, 1]))
      // A curve may leave 0…1; the progress does not.
      #expect(try layers(kind, 0.1, .cubicBezier(x1: 0.3, y1: -5, x2: 0.7, y2: 1)) == start)
    }
    #expect(try layers(.fade(through: .white), 0.5).layers == [.fade(nil, .white, share: 16384)])
    #expect(try layers(.dissolve, 0.5, .easeIn).layers[0].clips.map(\.weight) == [11217, 5167])
  }

  @Test func `frames of a transition that does not move are the same frame`() throws {
    let pictures = try Pictures(Film(.yuv420p, 70, 46))
    var task = try pictures.task(.wipe(.left, softness: 0), progress: 0.5)
    task.frameCount = 3
    task.spans[0].frames = 0..<3
    let maker = try FrameMaker(task, inputs: pictures.fixture.inputs)
    let first = try maker.frame(0)
    #expect(try maker.frame(1) === first && maker.frame(2) === first)
  }

  /// Results of the farm are found by the digest of the task's JSON. That of a plain dissolve must not change.
  @Test func `a plain dissolve is stored as ever`() throws {
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let layer = PlannedLayer.dissolve(
      from: try FrameStackTests.clip(0), to: nil, progress: Ramp(over: over, from: 0, to: 1))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(layer), as: UTF8.self)
    #expect(text.hasPrefix(#"{"transition":{"from":{"#))
    #expect(
      text.hasSuffix(#""progress":{"from":0,"over":{"duration":"1","start":"0"},"to":1}}}"#))
    #expect(!text.contains("style") && !text.contains("matte"))
    #expect(try JSONDecoder().decode(PlannedLayer.self, from: Data(text.utf8)) == layer)
  }
}

extension YCbCrMatrix {
  fileprivate init(format: PixelFormat, size: PixelSize) {
    self.init(
      VideoTaskFormat(
        size: size, pixelFormat: format, colour: CompositingTests.bt709,
        frameDuration: MediaTime(value: 1, timescale: 30)))
  }
}

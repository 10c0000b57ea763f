import CKernels
import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct ColourConversionTests {
  static let size = PixelSize(width: 96, height: 64)
  static let bt709 = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709")
  static let bt525 = ColourTags(primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m")
  static let bt625 = ColourTags(primaries: "bt470bg", transfer: "smpte170m", matrix: "bt470bg")
  static let bt2020 = ColourTags(primaries: "bt2020", transfer: "bt2020-10", matrix: "bt2020nc")
  static let p3 = ColourTags(primaries: "smpte432", transfer: "bt709", matrix: "bt709")
  static let dci = ColourTags(primaries: "smpte431", transfer: "bt709", matrix: "bt709")
  static let pal = ColourTags(primaries: "bt470bg", transfer: "bt470bg", matrix: "bt470bg")
  static let ntsc = ColourTags(primaries: "bt470m", transfer: "bt470m", matrix: "fcc")
  static let pq = ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")
  static let hlg = ColourTags(primaries: "bt2020", transfer: "arib-std-b67", matrix: "bt2020nc")

  private static let weights: [String: (red: Double, blue: Double)] = [
    "bt709": (0.2126, 0.0722), "smpte170m": (0.299, 0.114), "bt470bg": (0.299, 0.114), "bt2020nc": (0.2627, 0.0593),
    "fcc": (0.3, 0.11),
  ]

  /// The codes of random colours, dark and light, of which none is far from grey if `saturation` is small.
  static func picture(
    _ tags: ColourTags, depth: Int, brightest: Double = 1, saturation: Double, seed: UInt64,
    size: PixelSize = size, subsampled: Bool = false
  ) -> [Int] {
    var random = SeededRandom(seed: seed)
    let weights = Self.weights[tags.matrix ?? ""]!
    let count = size.width * size.height
    var planes = [[Int]](repeating: [], count: 3)
    for _ in 0..<count {
      let grey = Double.random(in: 0...brightest, using: &random)
      let rgb = (0..<3).map { _ in
        grey + saturation * min(grey, brightest - grey) * .random(in: -1...1, using: &random)
      }
      for (plane, code) in ColourReference.codes(rgb, red: weights.red, blue: weights.blue, depth: depth).enumerated() {
        if plane == 0 || !subsampled || planes[plane].count < count / 4 { planes[plane].append(Int(code.rounded())) }
      }
    }
    return planes.flatMap(\.self)
  }

  private static func bytes(_ codes: [Int], _ depth: Int) -> [UInt8] {
    depth == 8 ? codes.map { UInt8($0) } : codes.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
  }

  private static func codes(_ bytes: [UInt8], _ depth: Int) -> [Int] {
    if depth == 8 { return bytes.map { Int($0) } }
    return stride(from: 0, to: bytes.count, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
  }

  private static func format(_ depth: Int, subsampled: Bool = false) -> PixelFormat {
    subsampled ? (depth == 8 ? .yuv420p : .yuv420p10) : depth == 8 ? .yuv444p : .yuv444p10
  }

  /// Adds a source of one frame.
  static func add(
    _ fixture: inout VideoFixture, _ name: String, _ codes: [Int], _ tags: ColourTags, depth: Int,
    subsampled: Bool = false, size: PixelSize = size
  ) throws -> Int {
    let index = try fixture.make(
      name, raw: bytes(codes, depth), format: FrameFormat(format(depth, subsampled: subsampled)).name,
      width: size.width, height: size.height, ["-c:v", "ffv1"])
    // The container has no names for some tags.
    fixture.change(index) {
      let location = $0.video.colour.chromaLocation
      $0.video.colour = tags
      $0.video.colour.chromaLocation = location
    }
    return index
  }

  private static func converted(
    _ codes: [Int], _ from: ColourTags, to: ColourTags, depth: Int, subsampled: Bool = false,
    toneMapping: ToneMapping? = nil
  ) throws -> [Int] {
    var fixture = try VideoFixture()
    let source = try add(&fixture, "s.nut", codes, from, depth: depth, subsampled: subsampled)
    var task = fixture.task(
      [.clip(try fixture.clip(source))], size: size, format: format(depth, subsampled: subsampled), colour: to,
      frameCount: 1)
    task.format.toneMapping = toneMapping
    return Self.codes(try fixture.frame(task), depth)
  }

  private static func expectNear(
    _ made: [Int], _ right: [Double], mean: Double, greatest: Double, _ comment: String
  ) {
    let differences = zip(made, right).map { abs(Double($0) - $1) }
    let average = differences.reduce(0, +) / Double(differences.count)
    #expect(made.count == right.count && average <= mean, "\(comment): \(average) on average")
    #expect(differences.max()! <= greatest, "\(comment): \(differences.max()!) at most")
  }

  // MARK: Against ffmpeg

  /// In ffmpeg white has the nominal luminance `npl`, as here in high dynamic range. It multiplies HLG's light by its
  /// system gamma channel by channel, and not by luminance as BT.2100 does: that pair is compared with another
  /// reference.
  @Test(arguments: [
    (10, bt525, bt709), (10, bt625, bt709), (10, bt709, bt525), (10, bt2020, bt709), (10, bt709, bt2020),
    (10, p3, bt709), (10, dci, bt709), (10, pal, bt709), (10, ntsc, bt709), (10, bt709, pq), (10, pq, bt709),
    (10, bt525, pq), (8, bt525, bt709), (8, bt2020, bt709), (8, pq, bt709),
  ])
  func `a conversion is that of zscale`(_ depth: Int, _ from: ColourTags, _ to: ColourTags) throws {
    let isHDR = from.transfer == "smpte2084"
    // Colours that the film's primaries have: zscale does not limit what is negative.
    let codes = Self.picture(
      from, depth: depth, brightest: isHDR ? 0.55 : 1, saturation: isHDR ? 0.05 : 0.1, seed: 1)
    let made = try Self.converted(codes, from, to: to, depth: depth, toneMapping: .clip)
    let folder = try TemporaryFolder()
    try Data(Self.bytes(codes, depth)).write(to: URL(fileURLWithPath: folder.path("s.raw")))
    let format = FrameFormat(Self.format(depth)).name
    func names(_ tags: ColourTags, _ end: String) -> String {
      "p\(end)=\(tags.primaries!):t\(end)=\(tags.transfer!):m\(end)=\(tags.matrix!):r\(end)=tv"
    }
    let data = try Tool.ffmpeg([
      "-f", "rawvideo", "-pix_fmt", format, "-s", "\(Self.size.width)x\(Self.size.height)", "-i", folder.path("s.raw"),
      "-vf",
      "zscale=\(names(from, "in")):\(names(to, "")):npl=203:dither=none",
      "-pix_fmt", format, "-f", "rawvideo", "-",
    ])
    let right = Self.codes([UInt8](data), depth)
    // Where both are rounded differently, they differ by 1.
    Self.expectNear(
      made, right.map { Double($0) }, mean: 0.1, greatest: 1, "\(depth) bits, \(from.primaries!) to \(to.primaries!)")
  }

  // MARK: Against double precision

  struct Pair: Sendable, CustomTestStringConvertible {
    var from: ColourTags
    var to: ColourTags
    var brightest: Double
    var convert: @Sendable ([Double]) -> [Double]
    var testDescription: String { "\(from.transfer!) to \(to.transfer!)" }
  }

  private static func toSDR(_ light: [Double]) -> [Double] {
    let narrow = ColourReference.times(ColourReference.bt2020ToBT709, light)
    let brightest = narrow.max()!
    let factor =
      brightest > 0 ? ColourReference.compressed(brightest, from: 1000, to: 203) / brightest : 1
    return narrow.map { pow(min(1, $0 * factor / 203), 1 / 2.4) }
  }

  private static func toHDR(_ numbers: [Double]) -> [Double] {
    ColourReference.times(ColourReference.bt709ToBT2020, numbers.map { 203 * pow($0, 2.4) })
  }

  static let pairs = [
    Pair(from: pq, to: hlg, brightest: 0.74) { ColourReference.hlgNumbers($0.map(ColourReference.pqLuminance)) },
    Pair(from: hlg, to: pq, brightest: 1) { ColourReference.hlgLight($0).map(ColourReference.pqNumber) },
    Pair(from: bt709, to: hlg, brightest: 1) { ColourReference.hlgNumbers(toHDR($0)) },
    Pair(from: bt709, to: pq, brightest: 1) { toHDR($0).map(ColourReference.pqNumber) },
    Pair(from: pq, to: bt709, brightest: 0.85) { toSDR($0.map(ColourReference.pqLuminance)) },
    Pair(from: hlg, to: bt709, brightest: 1) { toSDR(ColourReference.hlgLight($0)) },
  ]

  /// High dynamic range, with tone mapping into the standard one.
  @Test(arguments: [8, 10], pairs)
  func `a conversion is that of the standards`(_ depth: Int, _ pair: Pair) throws {
    let codes = Self.picture(pair.from, depth: depth, brightest: pair.brightest, saturation: 0.9, seed: 2)
    let made = try Self.converted(codes, pair.from, to: pair.to, depth: depth)
    let count = Self.size.width * Self.size.height
    let (of, into) = (Self.weights[pair.from.matrix!]!, Self.weights[pair.to.matrix!]!)
    var right = [Double](repeating: 0, count: 3 * count)
    for index in 0..<count {
      let pixel = (0..<3).map { codes[$0 * count + index] }
      let numbers = pair.convert(ColourReference.numbers(pixel, red: of.red, blue: of.blue, depth: depth))
      let exact = ColourReference.codes(numbers, red: into.red, blue: into.blue, depth: depth)
      for plane in 0..<3 { right[plane * count + index] = exact[plane] }
    }
    // Rounding alone differs from the exact number by a quarter of a code on average, and by half a code at most.
    // R'G'B' is rounded to 14 bits on the way, which the film's curve enlarges where one of them is nearly black.
    Self.expectNear(made, right, mean: 0.27, greatest: depth == 8 ? 1.5 : 3, "\(depth) bits")
  }

  /// With subsampled chroma a pixel has its cell's chroma, and the cell's new chroma is that of the mean R'G'B'.
  @Test(arguments: [8, 10])
  func `a cell has one chroma`(_ depth: Int) throws {
    let codes = Self.picture(Self.bt709, depth: depth, saturation: 0.3, seed: 3, subsampled: true)
    let made = try Self.converted(codes, Self.bt709, to: Self.pq, depth: depth, subsampled: true)
    let (width, height) = (Self.size.width, Self.size.height)
    var right = [Double](repeating: 0, count: codes.count)
    for cell in 0..<(width * height / 4) {
      let (x, y) = (cell % (width / 2), cell / (width / 2))
      let (cb, cr) = (codes[width * height + cell], codes[width * height * 5 / 4 + cell])
      var sum = [0.0, 0, 0]
      for place in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let at = (2 * y + place.1) * width + 2 * x + place.0
        let numbers = ColourReference.numbers([codes[at], cb, cr], red: 0.2126, blue: 0.0722, depth: depth)
        let made = Self.toHDR(numbers).map(ColourReference.pqNumber)
        right[at] = ColourReference.codes(made, red: 0.2627, blue: 0.0593, depth: depth)[0]
        sum = zip(sum, made).map { $0 + $1 / 4 }
      }
      let exact = ColourReference.codes(sum, red: 0.2627, blue: 0.0593, depth: depth)
      right[width * height + cell] = exact[1]
      right[width * height * 5 / 4 + cell] = exact[2]
    }
    Self.expectNear(made, right, mean: 0.27, greatest: depth == 8 ? 1.5 : 3, "\(depth) bits")
  }

  // MARK: Kernels

  /// The version for AVX2 gives the bits of the plain one.
  @Test func `every version of the kernels gives the same bits`() throws {
    guard let vector = sheaf_colour_kernels_avx2() else { return }
    let encodings = [
      (ColourEncoding(primaries: .bt709, transfer: .display), ColourEncoding(primaries: .bt2020, transfer: .pq)),
      (ColourEncoding(primaries: .bt2020, transfer: .pq), ColourEncoding(primaries: .bt709, transfer: .display)),
      (ColourEncoding(primaries: .smpte432, transfer: .hlg), ColourEncoding(primaries: .bt2020, transfer: .hlg)),
      (ColourEncoding(primaries: .bt2020, transfer: .hlg), ColourEncoding(primaries: .smpte170m, transfer: .gamma28)),
      (ColourEncoding(primaries: .bt709, transfer: .log316), ColourEncoding(primaries: .smpte431, transfer: .linear)),
    ]
    var random = SeededRandom(seed: 4)
    for (source, film) in encodings {
      let conversion = ColourConversion(LightPath(ColourPath(source: source, film: film), toneMapping: .bt2390))
      for (width, height, shiftX, shiftY) in [(1, 1, 1, 1), (7, 3, 1, 1), (8, 2, 0, 0), (37, 5, 1, 0), (64, 3, 1, 1)] {
        for (deep, depth) in [(8, 8), (10, 8), (16, 10), (12, 10)] {
          let highest = UInt16(1 << deep - 1)
          let samples = (0..<(3 * width * height)).map { _ in UInt16.random(in: 0...highest, using: &random) }
          var decoding = YCbCrMatrix(Self.bt709, depth: deep).decoding
          var encoding = YCbCrMatrix(Self.pq, depth: depth).encoding
          func made(_ kernels: UnsafePointer<sheaf_colour_kernels>) -> [UInt16] {
            var from = deep > 8 ? samples : samples.map { $0 | $0 << 8 }
            var to = [UInt16](repeating: 0, count: from.count)
            var scratch = [UInt32](repeating: 0, count: sheaf_colour_scratch(Int32(width)))
            func planes(_ base: UnsafeMutablePointer<UInt16>) -> sheaf_colour_planes {
              let planes = (0..<3).map { UnsafeMutableRawPointer(base + $0 * width * height) }
              return sheaf_colour_planes(
                plane: (planes[0], planes[1], planes[2]), stride: (2 * width, 2 * width, 2 * width))
            }
            conversion.withTransform { transform in
              from.withUnsafeMutableBufferPointer { from in
                to.withUnsafeMutableBufferPointer { to in
                  sheaf_convert_colour(
                    kernels, planes(to.baseAddress!), planes(from.baseAddress!), Int32(width), Int32(height),
                    Int32(shiftX), Int32(shiftY), &decoding, transform, &encoding, &scratch)
                }
              }
            }
            return to
          }
          #expect(made(vector) == made(sheaf_colour_kernels_plain()), "\(source) to \(film), \(width)x\(height)")
        }
      }
    }
  }

  // MARK: Films

  /// A source in the film's colours is shown as it is, whatever they are.
  @Test(arguments: [bt709, bt2020, pq, hlg])
  func `a source in the film's colours is not changed`(_ tags: ColourTags) throws {
    let codes = Self.picture(tags, depth: 10, saturation: 1, seed: 5)
    #expect(try Self.converted(codes, tags, to: tags, depth: 10) == codes)
  }

  /// In high dynamic range white is 203 cd/m2: the number 0.5807 of PQ, and 0.75 of HLG.
  @Test(arguments: [(pq, 573), (hlg, 721)])
  func `graphics have reference white`(_ tags: ColourTags, _ white: Int) throws {
    var fixture = try VideoFixture()
    let text = StyledText(
      text: "x", size: 40, color: .white, box: TextBox(color: .white, padding: 8))
    try fixture.add(text)
    let logo = try fixture.make(
      "white.png", raw: [UInt8](repeating: 255, count: 4 * 16 * 16), format: "rgba", width: 16, height: 16)
    let overlays = [
      PlannedOverlay(
        content: .image(source: logo, width: nil, height: nil), frames: [0..<1], placement: .point(x: 0, y: 0),
        opacity: 1, ramps: .one),
      PlannedOverlay(
        content: try fixture.content(text), frames: [0..<1], placement: .point(x: 40, y: 0), opacity: 1, ramps: .one),
    ]
    let task = fixture.task(
      [], size: Self.size, format: .yuv444p10, colour: tags, frameCount: 1, background: .white, overlays: overlays)
    let codes = Self.codes(try fixture.frame(task), 10)
    let count = Self.size.width * Self.size.height
    #expect(Set(codes[..<count]) == [white])
    #expect(Set(codes[count...]) == [512])
  }

  /// A dissolve is the mix of both pictures as each is converted, in the film's numbers; so is every other transition.
  @Test func `a dissolve mixes converted pictures`() throws {
    var fixture = try VideoFixture()
    let old = try Self.add(
      &fixture, "old.nut", Self.picture(Self.bt525, depth: 8, saturation: 0.8, seed: 6, subsampled: true), Self.bt525,
      depth: 8, subsampled: true)
    let new = try Self.add(
      &fixture, "new.nut", Self.picture(Self.pq, depth: 10, saturation: 0.8, seed: 7, subsampled: true), Self.pq,
      depth: 10, subsampled: true)
    for colour in [Self.pq, Self.bt709] {
      func frame(_ layer: PlannedLayer) throws -> [Int] {
        let task = fixture.task(
          [layer], size: Self.size, format: .yuv420p10, colour: colour, frameCount: 5)
        return Self.codes(try FrameMaker(task, inputs: fixture.inputs).frame(2).packed, 10)
      }
      func still(_ index: Int) throws -> ClipLayer {
        let duration = MediaTime(seconds: 1)
        return ClipLayer(
          source: index, sourceRange: try MediaTimeRange(start: .zero, duration: .zero),
          targetRange: try MediaTimeRange(start: .zero, duration: duration), fit: .contain, opacity: .one)
      }
      let (a, b) = (try frame(.clip(try still(old))), try frame(.clip(try still(new))))
      #expect(a != b)
      let over = try MediaTimeRange(start: .zero, duration: MediaTime(value: 8, timescale: 30))
      let mixed = try frame(
        .dissolve(from: try still(old), to: try still(new), progress: Ramp(over: over, from: 0, to: 1)))
      let right = zip(a, b).map { 0.75 * Double($0) + 0.25 * Double($1) }
      Self.expectNear(mixed, right, mean: 0.3, greatest: 0.5, "\(colour.transfer!)")
    }
  }

  /// The colours of a picture with alpha are converted before they are drawn: where it is opaque it is as without.
  @Test func `a picture with alpha is converted too`() throws {
    var random = SeededRandom(seed: 8)
    let rgb = (0..<(Self.size.width * Self.size.height)).map { _ in
      (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    var fixture = try VideoFixture()
    let index = try fixture.make(
      "a.png", raw: rgb.flatMap { $0 + [255] }, format: "rgba", width: Self.size.width, height: Self.size.height)
    let task = fixture.task(
      [.clip(try fixture.clip(index))], size: Self.size, format: .yuv444p10, colour: Self.pq, frameCount: 1)
    let made = Self.codes(try fixture.frame(task), 10)
    let exact = rgb.map { pixel in
      ColourReference.codes(
        Self.toHDR(pixel.map { Double($0) / 255 }).map(ColourReference.pqNumber), red: 0.2627, blue: 0.0593, depth: 10)
    }
    Self.expectNear(made, (0..<3).flatMap { plane in exact.map { $0[plane] } }, mean: 0.27, greatest: 1.5, "alpha")
  }
}

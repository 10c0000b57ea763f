import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// PNG and JPEG pictures whose headers libavcodec reads in another way than their specifications. The pictures are
/// those that the PngSuite describes: `tb*` (a transparent colour), and `cd*` (pixels that are not square).
@Suite struct PNGHeaderTests {
  /// Writes PNG files. The data is deflated into blocks that are stored.
  private struct PNG {
    var size: PixelSize
    var depth: Int
    /// 0 is grey, and 2 red, green and blue.
    var colourType: UInt8
    /// The samples of one row after the other, each as it is stored.
    var samples: [Int]
    var chunks: [UInt8] = []
    var isAnimated = false

    private static func bigEndian(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }

    static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
      let content = Array(type.utf8) + data
      var rest: UInt32 = 0xFFFF_FFFF
      for byte in content {
        rest ^= UInt32(byte)
        for _ in 0..<8 { rest = rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1 }
      }
      return bigEndian(data.count, 4) + content + bigEndian(Int(~rest), 4)
    }

    /// The colour that is transparent.
    mutating func setTransparent(_ colour: [Int]) {
      chunks += Self.chunk("tRNS", colour.flatMap { Self.bigEndian($0, 2) })
    }

    private var data: [UInt8] {
      let rowLength = samples.count / size.height
      var raw: [UInt8] = []
      for row in 0..<size.height {
        var (bits, count) = (0, 0)
        raw.append(0)
        for sample in samples[(row * rowLength)..<((row + 1) * rowLength)] {
          (bits, count) = (bits << depth | sample, count + depth)
          if count >= 8 {
            raw += Self.bigEndian(bits, count / 8)
            (bits, count) = (0, 0)
          }
        }
        if count > 0 { raw.append(UInt8(bits << (8 - count))) }
      }
      var (a, b) = (1, 0)
      for byte in raw { (a, b) = ((a + Int(byte)) % 65521, (b + a + Int(byte)) % 65521) }
      let length = UInt16(raw.count)
      return [0x78, 0x01, 1, UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8)] + raw
        + Self.bigEndian(b << 16 | a, 4)
    }

    var bytes: [UInt8] {
      let (width, height) = (Self.bigEndian(size.width, 4), Self.bigEndian(size.height, 4))
      var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      file += Self.chunk("IHDR", width + height + [UInt8(depth), colourType, 0, 0, 0]) + chunks
      if !isAnimated { return file + Self.chunk("IDAT", data) + Self.chunk("IEND", []) }
      func frame(_ number: Int) -> [UInt8] {
        Self.chunk(
          "fcTL",
          Self.bigEndian(number, 4) + width + height + [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 10, 0, 0])
      }
      file += Self.chunk("acTL", Self.bigEndian(2, 4) + Self.bigEndian(0, 4)) + frame(0) + Self.chunk("IDAT", data)
      return file + frame(1) + Self.chunk("fdAT", Self.bigEndian(2, 4) + data) + Self.chunk("IEND", [])
    }
  }

  private static func write(_ png: PNG, _ name: String, _ fixture: inout VideoFixture) throws -> Int {
    let path = fixture.folder.path(name)
    try Data(png.bytes).write(to: URL(fileURLWithPath: path))
    return try fixture.add(path)
  }

  @Test(
    arguments: [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2)] as [(Int, UInt8)],
    ["still.png", "animated.apng", "movie.mov"])
  func `a colour that is transparent is so at every depth`(_ kind: (depth: Int, type: UInt8), name: String) throws {
    let (depth, type) = kind
    let size = PixelSize(width: 19, height: 6)
    let greatest = 1 << depth - 1
    let count = type == 0 ? 1 : 3
    // Not 0, but for one bit, whose only other colour is white.
    let colour = Array([greatest * 5 / 8, greatest / 3, greatest / 7][..<count])
    var samples: [Int] = []
    for y in 0..<size.height {
      for x in 0..<size.width {
        let other = [x * greatest / 18, y * greatest / 5, greatest / 2][..<count]
        samples += (x / 3 + y) % 3 == 0 ? colour : Array(other)
      }
    }
    var png = PNG(size: size, depth: depth, colourType: type, samples: samples)
    png.setTransparent(colour)
    png.isAnimated = name.hasSuffix("apng")
    var fixture = try VideoFixture()
    var source = try Self.write(png, png.isAnimated ? name : "still.png", &fixture)
    if name.hasSuffix("mov") {
      source = try fixture.make(name, ["-i", fixture.folder.path("still.png"), "-c", "copy"])
    }
    #expect(fixture.sources[source].video.hasAlpha)
    let background = Color(red: 200, green: 30, blue: 90)
    let task = fixture.task(
      [.clip(try fixture.clip(source, frames: 0..<1))], size: size, format: .yuv444p,
      colour: ColourTags(matrix: "bt709"), frameCount: 1, background: background)
    let made = PackedFrame(try fixture.frame(task), size, .yuv444p)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let stored = Array(samples[((y * size.width + x) * count)...].prefix(count))
        var rgb = (0..<3).map { Double(stored[count == 1 ? 0 : $0]) / Double(greatest) }
        if stored == colour { rgb = [background.red, background.green, background.blue].map { Double($0) / 255 } }
        let luma: Double = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
        #expect(abs(Double(made[0, x, y]) - (16 + 219 * luma)) <= 1.1, "at \(x), \(y)")
        #expect(abs(Double(made[2, x, y]) - (128 + 224 * (rgb[0] - luma) / 1.5748)) <= 1.1, "at \(x), \(y)")
      }
    }
  }

  /// 8x32 flat pixels, 32x8 high ones, 8x8 square ones, and 1000 a metre.
  @Test(
    arguments: [
      ([8, 32], [1, 4], 0, [32, 32]), ([32, 8], [4, 1], 0, [8, 8]), ([8, 8], [1, 1], 0, [8, 8]),
      ([32, 32], [1000, 1000], 1, [32, 32]), ([8, 32], [500, 2000], 1, [32, 32]), ([9, 6], [3, 2], 0, [6, 6]),
    ] as [([Int], [Int], UInt8, [Int])])
  func `pixels have the shape that their density gives them`(
    stored: [Int], density: [Int], unit: UInt8, shown: [Int]
  ) throws {
    let (width, height) = (stored[0], stored[1])
    func bigEndian(_ value: Int) -> [UInt8] { [0, 8, 16, 24].reversed().map { UInt8(value >> $0 & 255) } }
    for name in ["still.png", "animated.apng"] {
      var png = PNG(
        size: PixelSize(width: width, height: height), depth: 8, colourType: 2,
        samples: Array(repeating: 90, count: width * height * 3))
      png.chunks = PNG.chunk("pHYs", bigEndian(density[0]) + bigEndian(density[1]) + [unit])
      png.isAnimated = name.hasSuffix("apng")
      var fixture = try VideoFixture()
      let source = try Self.write(png, name, &fixture)
      #expect(
        fixture.sources[source].video.presentationSize == PixelSize(width: shown[0], height: shown[1]), "\(name)")
    }
  }

  /// Densities of dots per inch or centimetre are those of PNG; without a unit they are the aspect itself.
  @Test(arguments: [(0, 64), (1, 16), (2, 16)] as [(UInt8, Int)])
  func `a JPEG picture's pixels have the shape that their density gives them`(unit: UInt8, shown: Int) throws {
    var fixture = try VideoFixture()
    _ = try fixture.make("plain.jpg", ["-f", "lavfi", "-i", "testsrc2=size=32x16", "-frames:v", "1"])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.folder.path("plain.jpg"))))
    #expect(Array(bytes[6..<11]) == Array("JFIF\0".utf8))
    // 200 across and 100 down.
    bytes.replaceSubrange(13..<18, with: [unit, 0, 200, 0, 100])
    let path = fixture.folder.path("dense.jpg")
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let source = try fixture.add(path)
    #expect(fixture.sources[source].video.presentationSize == PixelSize(width: shown, height: 16))
  }
}

import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@Suite struct ScalingTests {
  struct Conversion: Sendable, CustomTestStringConvertible {
    var from: (width: Int, height: Int, format: String)
    var to: (width: Int, height: Int, format: String)
    /// Options of ffmpeg's `scale` filter besides sizes and flags.
    var options = ""
    var source = ColourTags(matrix: "bt709")
    var target = ColourTags(matrix: "bt709")

    var testDescription: String { "\(from) to \(to) \(options)" }
  }

  static let bt601 = ColourTags(matrix: "smpte170m")
  static let conversions = [
    Conversion(from: (96, 64, "yuv420p"), to: (144, 96, "yuv420p")),
    Conversion(from: (96, 64, "yuv420p"), to: (50, 34, "yuv422p10le")),
    Conversion(from: (96, 64, "yuv422p10le"), to: (96, 64, "yuv420p")),
    Conversion(from: (96, 64, "yuv444p12le"), to: (128, 64, "yuv444p10le")),
    Conversion(from: (96, 64, "gray"), to: (96, 64, "yuv420p"), source: ColourTags(matrix: "bt709", isFullRange: true)),
    Conversion(from: (97, 61, "yuv420p"), to: (194, 122, "yuv444p")),
    Conversion(
      from: (96, 64, "yuvj420p"), to: (96, 64, "yuv420p"), options: ":in_range=pc:out_range=tv",
      source: ColourTags(matrix: "bt709", isFullRange: true)),
    Conversion(
      from: (96, 64, "rgba"), to: (96, 64, "yuva444p"), options: ":out_color_matrix=bt709:out_range=tv"),
    Conversion(
      from: (96, 64, "rgb24"), to: (48, 32, "yuv420p"), options: ":out_color_matrix=bt601:out_range=tv", target: bt601),
  ]

  private func side(_ side: (width: Int, height: Int, format: String), _ colour: ColourTags) throws
    -> FrameScaler.Side
  {
    FrameScaler.Side(
      size: PixelSize(width: side.width, height: side.height), format: try #require(FrameFormat(name: side.format)),
      colour: colour)
  }

  private func filled(_ side: FrameScaler.Side, seed: Int = 3) throws -> Frame {
    let frame = try Frame(size: side.size, format: side.format, colour: side.colour)
    frame.fillWithPattern(seed)
    return frame
  }

  @Test(arguments: conversions) func `pixels are those of ffmpeg's scale filter`(conversion: Conversion) throws {
    let scratch = try TemporaryFolder()
    let (source, target) = (
      try side(conversion.from, conversion.source), try side(conversion.to, conversion.target)
    )
    let frame = try filled(source)
    try frame.pixels.write(to: scratch.url.appendingPathComponent("in"))
    let output = try Frame(size: target.size, format: target.format)
    try FrameScaler(from: source, to: target).scale(frame, into: output)
    // The filter takes chroma that is subsampled to lie in the middle of its cell.
    func isAtLeft(_ format: FrameFormat) -> Bool { !format.isRGB && format.chromaShift.horizontal > 0 }
    let places =
      (isAtLeft(source.format) ? ":in_h_chr_pos=0" : "") + (isAtLeft(target.format) ? ":out_h_chr_pos=0" : "")
    let flags = source.format.isRGB ? "bicubic+accurate_rnd+bitexact+full_chroma_inp" : "bicubic+accurate_rnd+bitexact"
    let expected = try Tool.ffmpeg(
      "-f", "rawvideo", "-pix_fmt", conversion.from.format, "-s", "\(conversion.from.width)x\(conversion.from.height)",
      "-i", scratch.path("in"), "-vf",
      "scale=\(conversion.to.width):\(conversion.to.height):flags=\(flags)\(places)\(conversion.options),"
        + "format=\(conversion.to.format)", "-f", "rawvideo", "-")
    let found = output.pixels
    #expect(found.count == expected.count)
    #expect(found == expected)
  }

  @Test func `a part is scaled into a part, and the rest of the target is unchanged`() throws {
    let part = try side((40, 20, "yuv420p"), ColourTags())
    let target = try side((60, 30, "yuv420p"), ColourTags())
    let frame = try filled(side((100, 80, "yuv420p"), ColourTags()))
    let scaler = try FrameScaler(from: part, to: target)
    let canvas = try filled(side((128, 96, "yuv420p"), ColourTags()), seed: 9)
    let before = try filled(side((128, 96, "yuv420p"), ColourTags()), seed: 9)
    try scaler.scale(frame, cropX: 10, cropY: 6, into: canvas, x: 16, y: 8)

    let alone = try Frame(size: target.size, format: target.format)
    try scaler.scale(try cropped(frame, x: 10, y: 6, to: part), into: alone)
    for plane in 0..<3 {
      let shift = plane == 0 ? 0 : 1
      for row in 0..<(96 >> shift) {
        for column in 0..<(128 >> shift) {
          let isInside =
            ((16 >> shift)..<(76 >> shift)).contains(column) && ((8 >> shift)..<(38 >> shift)).contains(row)
          let expected =
            isInside ? byte(alone, plane, row - (8 >> shift), column - (16 >> shift)) : byte(before, plane, row, column)
          guard byte(canvas, plane, row, column) == expected else {
            Issue.record("plane \(plane) at (\(column), \(row)) inside: \(isInside)")
            return
          }
        }
      }
    }
  }

  private func byte(_ frame: Frame, _ plane: Int, _ row: Int, _ column: Int) -> UInt8 {
    frame.withPlane(plane) {
      $0.load(fromByteOffset: row * frame.stride(ofPlane: plane) + column, as: UInt8.self)
    }
  }

  private func cropped(_ frame: Frame, x: Int, y: Int, to part: FrameScaler.Side) throws -> Frame {
    let copy = try Frame(size: part.size, format: part.format)
    for plane in 0..<3 {
      let shift = plane == 0 ? 0 : 1
      let stride = copy.stride(ofPlane: plane)
      let rows = copy.extent(ofPlane: plane)
      copy.withMutablePlane(plane) { base in
        for row in 0..<rows.rows {
          for column in 0..<rows.bytesPerRow {
            let value = byte(frame, plane, row + (y >> shift), column + (x >> shift))
            base.storeBytes(of: value, toByteOffset: row * stride + column, as: UInt8.self)
          }
        }
      }
    }
    return copy
  }

  @Test func `places off the chroma grid and outside are refused`() throws {
    let small = try side((40, 20, "yuv420p"), ColourTags())
    let scaler = try FrameScaler(from: small, to: small)
    let frame = try filled(small)
    for (x, y) in [(1, 0), (0, 1), (2, 0), (-2, 0)] {
      let error = #expect(throws: MediaError.self) { try scaler.scale(frame, into: filled(small), x: x, y: y) }
      #expect(error?.code == .invalidRequest)
    }
  }
}

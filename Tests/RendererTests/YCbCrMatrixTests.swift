import CKernels
import CompositionModel
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct YCbCrMatrixTests {
  static func format(
    _ pixelFormat: PixelFormat = .yuv420p, matrix: String? = "bt709", isFullRange: Bool = false, height: Int = 720
  ) throws -> VideoTaskFormat {
    VideoTaskFormat(
      size: PixelSize(width: 1280, height: height), pixelFormat: pixelFormat,
      colour: ColourTags(matrix: matrix, isFullRange: isFullRange),
      frameDuration: MediaTime(value: 1, timescale: 30))
  }

  /// Values that BT.709 and BT.601 publish for limited range.
  @Test func `known colours have their known codes`() throws {
    let hd = YCbCrMatrix(try Self.format())
    #expect(hd.codes(.black) == (16, 128, 128))
    #expect(hd.codes(.white) == (235, 128, 128))
    #expect(hd.codes(Color(red: 255, green: 0, blue: 0)) == (63, 102, 240))
    let sd = YCbCrMatrix(try Self.format(matrix: "smpte170m"))
    #expect(sd.codes(Color(red: 255, green: 0, blue: 0)) == (81, 90, 240))
    #expect(sd.codes(Color(red: 0, green: 0, blue: 255)) == (41, 240, 110))
    let full = YCbCrMatrix(try Self.format(isFullRange: true))
    #expect(full.codes(.black) == (0, 128, 128))
    #expect(full.codes(.white) == (255, 128, 128))
    let ten = YCbCrMatrix(try Self.format(.yuv420p10))
    #expect(ten.codes(.white) == (940, 512, 512))
  }

  @Test func `an untagged matrix follows the height`() throws {
    let red = Color(red: 255, green: 0, blue: 0)
    #expect(YCbCrMatrix(try Self.format(matrix: nil)).codes(red) == (63, 102, 240))
    #expect(YCbCrMatrix(try Self.format(matrix: nil, height: 576)).codes(red) == (81, 90, 240))
  }

  @Test(arguments: PixelFormat.allCases)
  func `blend planes hold colour times coverage`(pixelFormat: PixelFormat) throws {
    var generator = SeededRandom(seed: 5)
    let format = try Self.format(pixelFormat)
    let matrix = YCbCrMatrix(format)
    let (width, height) = (13, 7)
    let picture = try RGBAPicture(PixelSize(width: width, height: height))
    let straight = (0..<(width * height * 4)).map { _ in UInt8.random(in: 0...255, using: &generator) }
    straight.withUnsafeBufferPointer {
      sheaf_premultiply_rgba8(picture.planes(), $0.baseAddress, width * 4, Int32(width), Int32(height))
    }
    let cell = ChromaCell(pixelFormat)
    let blend = try BlendPicture(
      picture, rect: PixelRect(x: 4, y: 2, size: picture.size), cell: cell, matrix: matrix)
    let unit = Double(1 << (14 - pixelFormat.bitDepth))
    let step = Double(1 << (pixelFormat.bitDepth - 8))

    func exact(_ x: Int, _ y: Int) -> (luma: Double, cb: Double, cr: Double, coverage: Double) {
      let at = (min(y, height - 1) * width + min(x, width - 1)) * 4
      let (r, g, b) = (Double(straight[at]), Double(straight[at + 1]), Double(straight[at + 2]))
      let a = Double(straight[at + 3]) / 255
      let y = 0.2126 * r + 0.7152 * g + 0.0722 * b
      return (
        a * (16 + 219 * y / 255) * step * unit, a * (128 + 224 * (b - y) / 1.8556 / 255) * step * unit,
        a * (128 + 224 * (r - y) / 1.5748 / 255) * step * unit, a * 16384
      )
    }
    var (worstLuma, worstChroma) = (0.0, 0.0)
    for y in 0..<height {
      for x in 0..<width {
        worstLuma = max(worstLuma, abs(Double(blend.plane(.luma)[y * width + x]) - exact(x, y).luma))
        worstLuma = max(worstLuma, abs(Double(blend.plane(.coverage)[y * width + x]) - exact(x, y).coverage))
      }
    }
    let chroma = blend.rect(of: .cb).size
    for y in 0..<chroma.height {
      for x in 0..<chroma.width {
        let columns: [(Int, Double)] = cell.width > 1 ? [(-1, 0.25), (0, 0.5), (1, 0.25)] : [(0, 1)]
        var (cb, cr, coverage) = (0.0, 0.0, 0.0)
        for dy in 0..<cell.height {
          // Nothing is covered at the left of the picture.
          for (dx, weight) in columns where x * cell.width + dx >= 0 {
            let pixel = exact(x * cell.width + dx, y * cell.height + dy)
            let share = weight / Double(cell.height)
            cb += pixel.cb * share
            cr += pixel.cr * share
            coverage += pixel.coverage * share
          }
        }
        let at = y * chroma.width + x
        for (plane, mean) in [
          (BlendPicture.Plane.cb, cb),
          (.cr, cr),
          (.chromaCoverage, coverage),
        ] {
          worstChroma = max(worstChroma, abs(Double(blend.plane(plane)[at]) - mean))
        }
      }
    }
    // One rounding to a blend unit (1/64 of a code at 8 bits), and for chroma a second in the mean; the premultiplied
    // 65535ths add less than a quarter of a unit.
    #expect(worstLuma <= 0.75)
    #expect(worstChroma <= 1.25)
  }
}

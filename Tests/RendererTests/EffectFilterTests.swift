import CompositionModel
import Foundation
import Media
import RenderTasks
import Testing

@testable import Renderer

/// Grain, glow, posterize, curves and denoise against their formulas in double precision.
@Suite struct EffectFilterTests {
  private static let size = PixelSize(width: 74, height: 46)

  /// A picture of a format, as a source and as numbers.
  private struct Scene {
    var fixture: VideoFixture
    let format: PixelFormat
    let original: FilterReference
    let source: Int

    init(_ format: PixelFormat, seed: UInt64 = 5) throws {
      self.format = format
      fixture = try VideoFixture()
      let picture = CompositingTests.noise(size, format, count: 1, seed: seed)
      let frames = picture + picture + picture + picture
      source = try fixture.make(
        "picture.mov", raw: frames, format: FrameFormat(format).name, width: size.width, height: size.height,
        ["-c:v", "ffv1"])
      original = FilterReference(CompositingTests.samples(picture, format), size, format)
    }

    func frames(_ filters: [Filter<RampList>], count: Int = 1) throws -> [[Int]] {
      var clip = try fixture.clip(source, frames: 0..<4)
      clip.filters = filters
      let task = fixture.task(
        [.clip(clip)], size: size, format: format, colour: FilterTests.bt709, frameCount: count)
      return try fixture.frames(task).map { CompositingTests.samples($0, format) }
    }
  }

  /// A sample is rounded to 14 bits, and then to the film's depth.
  private static func worst(_ made: [Int], _ reference: FilterReference) -> Double {
    zip(made, reference.codes).reduce(0) { max($0, abs(Double($1.0) - $1.1)) }
  }

  // MARK: Grain

  /// The noise at a pixel, from the words of `docs/document.md`.
  private static func noise(_ x: Int, _ y: Int, size: Double, seed: UInt64, _ time: Rational) -> Double {
    func scattered(_ value: UInt64) -> UInt64 {
      var value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
      return value ^ (value >> 31)
    }
    let step: UInt64 = 0x9e37_79b9_7f4a_7c15
    let ofTime = scattered(scattered(seed &+ step) &+ UInt64(time.numerator) &+ step)
    let key = scattered(ofTime &+ UInt64(time.denominator) &+ step)
    func number(_ column: Int, _ row: Int) -> Double {
      let place = UInt64(UInt32(truncatingIfNeeded: row)) << 32 | UInt64(UInt32(truncatingIfNeeded: column))
      let hash = scattered(key &+ place &* step)
      let parts = stride(from: 0, to: 64, by: 16).map { Double(hash >> UInt64($0) & 0xffff) }
      // Four even numbers of 0…65535, less their mean, by their standard deviation.
      return (parts.reduce(0, +) - 131_070) / (4 * (65536.0 * 65536 - 1) / 12).squareRoot()
    }
    let (u, v) = ((Double(x) + 0.5) / size - 0.5, (Double(y) + 0.5) / size - 0.5)
    let (column, row) = (Int(floor(u)), Int(floor(v)))
    let (right, low) = (u - floor(u), v - floor(v))
    let weights = [(1 - right) * (1 - low), right * (1 - low), (1 - right) * low, right * low]
    let numbers = [
      number(column, row), number(column + 1, row), number(column, row + 1), number(column + 1, row + 1),
    ]
    let sum = zip(weights, numbers).reduce(0) { $0 + $1.0 * $1.1 }
    return sum / weights.reduce(0) { $0 + $1 * $1 }.squareRoot()
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv444p10])
  func `grain is its definition in each frame`(format: PixelFormat) throws {
    let scene = try Scene(format)
    for (amount, size, seed) in [(0.1, 1.0, 0.0), (0.25, 2.6, 7), (0.05, 9, 65535)] {
      let filter = Filter<RampList>.grain(
        amount: try .constant(amount), size: try .constant(size), seed: try .constant(seed),
        time: MediaTime(value: -1, timescale: 3))
      for (index, made) in try scene.frames([filter], count: 4).enumerated() {
        let time = try Rational(Int128(index), 30) + Rational(1, 3)
        var reference = scene.original
        for y in 0..<Self.size.height {
          for x in 0..<Self.size.width {
            reference.planes[0][y * Self.size.width + x] +=
              amount * Self.noise(x, y, size: size, seed: UInt64(seed), time)
          }
        }
        #expect(Self.worst(made, reference) <= 0.54, "\(amount), \(size) in frame \(index)")
      }
    }
  }

  @Test func `grain has its deviation, and another noise at another time and of another seed`() {
    let (second, third) = (Rational(2), Rational(3))
    func deviation(_ value: (Int, Int) -> Double) -> Double {
      var sum = 0.0
      for y in 0..<64 { for x in 0..<64 { sum += value(x, y) * value(x, y) } }
      return (sum / 4096).squareRoot()
    }
    for size in [1, 1.5, 4] {
      let own = deviation { Self.noise($0, $1, size: size, seed: 3, second) }
      #expect(abs(own - 1) < 0.12, "size \(size): \(own)")
      for (seed, time) in [(UInt64(3), third), (4, second)] {
        let apart = deviation {
          Self.noise($0, $1, size: size, seed: 3, second) - Self.noise($0, $1, size: size, seed: seed, time)
        }
        #expect(abs(apart - 2.0.squareRoot()) < 0.2, "size \(size): \(apart)")
      }
    }
  }

  /// The second half of a clip in a task of its own, whose clock starts there.
  @Test func `grain is the same however a film is cut`() throws {
    let scene = try Scene(.yuv420p)
    let filter = Filter<RampList>.grain(amount: try .constant(0.2), size: try .constant(1.5), seed: .one)
    let whole = try scene.frames([filter], count: 4)
    let half = try filter.shifted(by: MediaTime(value: -2, timescale: 30))
    #expect(try scene.frames([half], count: 2) == Array(whole[2...]))
    #expect(whole[0] != whole[1] && whole[0] != whole[2])
  }

  @Test func `grain leaves alone what is transparent`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "half.png",
      [
        "-f", "lavfi", "-i", "color=gray:s=64x64,format=rgba,geq=r=128:g=128:b=128:a='if(lt(X,32),255,0)'",
        "-frames:v", "1",
      ])
    var clip = try fixture.clip(source, frames: 0..<1)
    clip.filters = [.grain(amount: try .constant(0.3), size: try .constant(1), seed: .one)]
    let task = fixture.task(
      [.clip(clip)], size: PixelSize(width: 64, height: 64), format: .yuv444p, colour: FilterTests.bt709,
      frameCount: 1, background: .white)
    let codes = try fixture.frame(task).map(Int.init)
    for y in 0..<64 { #expect(codes[(y * 64 + 33)..<(y * 64 + 64)].allSatisfy { $0 == 235 }) }
    #expect(Set(codes.prefix(32)).count > 16)
  }

  // MARK: Colours

  private static func limited(_ value: Double) -> Double { min(1, max(0, value)) }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10, .yuv444p])
  func `posterize and curves are their formulas`(format: PixelFormat) throws {
    let scene = try Scene(format)
    let least: Double = format.bitDepth > 8 ? 60 : 50
    let points = ToneCurves(
      all: [.init(x: 0, y: 1), .init(x: 1, y: 0)], red: [.init(x: 0, y: 0), .init(x: 0.5, y: 0.8), .init(x: 1, y: 1)])
    let red = ToneCurve(points.red)
    for amount in [1, 0.4] {
      var reference = scene.original
      reference.changeRGB { rgb in
        let own = rgb.map(Self.limited)
        let new = [1 - red.value(at: own[0]), 1 - own[1], 1 - own[2]]
        return zip(own, new).map { (1 - amount) * $0 + amount * $1 }
      }
      let psnr = reference.psnr(try scene.frames([.curves(points, amount: try .constant(amount))])[0])
      #expect(psnr >= least, "\(amount): \(psnr) dB")
    }
    // A sample beside a step may be on its other side: the mean shows whether all the others are right.
    for levels in [2, 5, 40.7] {
      var reference = scene.original
      let count = floor(levels)
      reference.changeRGB { $0.map { min(count - 1, floor(Self.limited($0) * count)) / (count - 1) } }
      let psnr = reference.psnr(try scene.frames([.posterize(levels: try .constant(levels))])[0])
      #expect(psnr >= 40, "\(levels): \(psnr) dB")
    }
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv444p10])
  func `glow is light of what is bright`(format: PixelFormat) throws {
    let scene = try Scene(format)
    let (amount, radius, threshold) = (0.8, 3.0, 0.5)
    let (width, height) = (Self.size.width, Self.size.height)
    // The picture's red, green and blue, pixel by pixel.
    var colours = [[Double]](repeating: [], count: 3)
    let source = scene.original
    for y in 0..<height {
      for x in 0..<width {
        let sample = (y >> source.cell.verticalShift) * source.chroma.width + (x >> source.cell.horizontalShift)
        let (luma, cb, cr) = (source.planes[0][y * width + x], source.planes[1][sample], source.planes[2][sample])
        let rgb = [luma + 1.5748 * cr, luma - 0.187324 * cb - 0.468124 * cr, luma + 1.8556 * cb]
        for channel in 0..<3 { colours[channel].append(Self.limited(rgb[channel])) }
      }
    }
    let light = colours.map { plane in
      var lines = FilterReference.Lines(
        plane.map { max(0, $0 - threshold) / (1 - threshold) }, width, height)
      lines.blur(radius, radius)
      return lines.samples.map { Self.limited(amount * $0) }
    }
    let lit = zip(colours, light).map { zip($0, $1).map { $0 + $1 - $0 * $1 } }
    var reference = source
    for y in 0..<height {
      for x in 0..<width {
        let rgb = lit.map { $0[y * width + x] }
        reference.planes[0][y * width + x] = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
      }
    }
    let cell = source.cell
    for row in 0..<source.chroma.height {
      for column in 0..<source.chroma.width {
        var (cb, cr) = (0.0, 0.0)
        for y in (row * cell.height)..<((row + 1) * cell.height) {
          for x in (column * cell.width)..<((column + 1) * cell.width) {
            let place = min(y, height - 1) * width + min(x, width - 1)
            let luma = reference.planes[0][place]
            cb += (lit[2][place] - luma) / 1.8556
            cr += (lit[0][place] - luma) / 1.5748
          }
        }
        let count = Double(cell.width * cell.height)
        reference.planes[1][row * source.chroma.width + column] = cb / count
        reference.planes[2][row * source.chroma.width + column] = cr / count
      }
    }
    let filter = Filter<RampList>.glow(
      amount: try .constant(amount), radius: try .constant(radius), threshold: try .constant(threshold))
    let psnr = reference.psnr(try scene.frames([filter])[0])
    #expect(psnr >= (format.bitDepth > 8 ? 60 : 50), "\(psnr) dB")
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10, .yuv444p])
  func `denoise is its definition`(format: PixelFormat) throws {
    let scene = try Scene(format)
    for amount in [0.02, 0.2, 0.5] {
      var reference = scene.original
      for plane in 0..<3 {
        let extent = plane == 0 ? Self.size : reference.chroma
        let samples = scene.original.planes[plane]
        for y in 0..<extent.height {
          for x in 0..<extent.width {
            let own = samples[y * extent.width + x]
            var (sum, total) = (0.0, 0.0)
            for down in -2...2 {
              for across in -2...2 {
                let (row, column) = (
                  min(extent.height - 1, max(0, y + down)), min(extent.width - 1, max(0, x + across))
                )
                let distance = samples[row * extent.width + column] - own
                let weight = abs(distance) < amount ? pow(1 - pow(distance / amount, 2), 2) : 0
                (sum, total) = (sum + weight * distance, total + weight)
              }
            }
            reference.planes[plane][y * extent.width + x] = own + sum / total
          }
        }
      }
      let made = try scene.frames([.denoise(amount: try .constant(amount))])[0]
      #expect(Self.worst(made, reference) <= 0.54, "\(amount): \(Self.worst(made, reference))")
    }
  }
}

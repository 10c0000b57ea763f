import CKernels
import Foundation
import TestPrograms
import Testing

/// The mixes by a matte against the formula in Double, bit for bit in every version, and the rows of mattes.
@Suite struct MatteKernelTests {
  static let plain = sheaf_matte_kernels_plain().pointee
  static let others = [sheaf_matte_kernels_avx2()?.pointee, sheaf_matte_kernels_best().pointee].compactMap(\.self)

  @Test func `a mix by a matte is the exact mean rounded to nearest`() {
    var generator = SeededRandom(seed: 1)
    for (width, height) in KernelTests.sizes {
      let a8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, using: &generator)
      let b8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, padding: 5, using: &generator)
      let a16 = RandomPlane<UInt16>(width: width, height: height, upTo: 1023, using: &generator)
      let b16 = RandomPlane<UInt16>(width: width, height: height, upTo: 1023, padding: 6, start: 2, using: &generator)
      var matte = RandomPlane<UInt16>(width: width, height: height, upTo: 16384, using: &generator)
      for y in 0..<height {
        for x in 0..<width {
          // Runs that show one of both alone, as beside the edge of a wipe.
          if (x / 20 + y) % 3 == 1 { matte[x, y] = 0 }
          if (x / 20 + y) % 3 == 2 { matte[x, y] = 16384 }
        }
      }
      func mixed8(_ kernels: sheaf_matte_kernels, matteStride: Int) -> RandomPlane<UInt8> {
        var to = a8
        let stride = to.strideInBytes
        to.write { to in
          b8.read { b in
            matte.read { matte in
              // In place: the first picture is the target.
              kernels.mix8(
                to, stride, to, stride, b, b8.strideInBytes, matte, matteStride, Int32(width), Int32(height))
            }
          }
        }
        return to
      }
      func mixed16(_ kernels: sheaf_matte_kernels, matteStride: Int) -> RandomPlane<UInt16> {
        var to = b16
        let stride = to.strideInBytes
        to.write { to in
          a16.read { a in
            matte.read { matte in
              kernels.mix16(
                to, stride, a, a16.strideInBytes, to, stride, matte, matteStride, Int32(width), Int32(height))
            }
          }
        }
        return to
      }
      for matteStride in [matte.strideInBytes, 0] {
        let right8 = mixed8(Self.plain, matteStride: matteStride)
        let right16 = mixed16(Self.plain, matteStride: matteStride)
        for kernels in Self.others {
          #expect(mixed8(kernels, matteStride: matteStride).samples == right8.samples)
          #expect(mixed16(kernels, matteStride: matteStride).samples == right16.samples)
        }
        var (worst8, worst16) = (0.0, 0.0)
        for y in 0..<height {
          for x in 0..<width {
            let m = Double(matte[x, matteStride == 0 ? 0 : y]) / 16384
            worst8 = max(worst8, abs(Double(right8[x, y]) - (1 - m) * Double(a8[x, y]) - m * Double(b8[x, y])))
            worst16 = max(worst16, abs(Double(right16[x, y]) - (1 - m) * Double(a16[x, y]) - m * Double(b16[x, y])))
          }
        }
        #expect(worst8 <= 0.5 && worst16 <= 0.5)
      }
    }
  }

  /// A row of a matte, with a sample after it that must not be changed.
  private func row(_ count: Int, _ make: (UnsafeMutablePointer<UInt16>) -> Void) -> [UInt16] {
    var row = Array(repeating: UInt16(7777), count: count + 1)
    row.withUnsafeMutableBufferPointer { make($0.baseAddress.unsafelyUnwrapped) }
    #expect(row.removeLast() == 7777)
    return row
  }

  @Test func `the rows of a line are its nearest weights`() {
    var generator = SeededRandom(seed: 2)
    let unit = 4_294_967_296.0
    for _ in 0..<2000 {
      let count = Int.random(in: 1...90, using: &generator)
      let step =
        Double.random(in: -1...1, using: &generator) * [3, 200, 16384][Int.random(in: 0...2, using: &generator)]
      let first = Double.random(in: -20000...40000, using: &generator)
      let (fixedFirst, fixedStep) = (Int64(first * unit), Int64(step * unit))
      let made = row(count) { sheaf_matte_line($0, Int32(count), fixedFirst, fixedStep) }
      for (x, weight) in made.enumerated() {
        let exact = Double(fixedFirst) / unit + Double(fixedStep) / unit * Double(x)
        #expect(abs(Double(weight) - min(16384, max(0, exact))) <= 0.5 + 1e-6)
      }
    }
  }

  @Test func `the rows of a circle are its nearest weights`() {
    var generator = SeededRandom(seed: 3)
    for _ in 0..<2000 {
      let count = Int.random(in: 1...90, using: &generator)
      let start = Double.random(in: -100...100, using: &generator)
      let across = Double.random(in: -100...100, using: &generator)
      let slope = [3.0, 200, 16384][Int.random(in: 0...2, using: &generator)]
      let centre = slope * Double.random(in: -10...160, using: &generator)
      let made = row(count) { sheaf_matte_circle($0, Int32(count), start, across, centre, slope) }
      for (x, weight) in made.enumerated() {
        let along = start + Double(x)
        let exact = centre - slope * (along * along + across * across).squareRoot()
        #expect(abs(Double(weight) - min(16384, max(0, exact))) <= 0.5 + 1e-6)
      }
    }
  }

  @Test func `the rows of a tent are its nearest weights`() {
    var generator = SeededRandom(seed: 4)
    for _ in 0..<2000 {
      let count = Int.random(in: 1...90, using: &generator)
      let start = Double.random(in: -100...100, using: &generator)
      let (peak, limit) = (
        Double.random(in: -3000...60000, using: &generator), Double.random(in: -3000...30000, using: &generator)
      )
      let slope = [3.0, 200, 16384][Int.random(in: 0...2, using: &generator)]
      let made = row(count) { sheaf_matte_tent($0, Int32(count), start, peak, slope, limit) }
      for (x, weight) in made.enumerated() {
        let exact = min(limit, peak - slope * abs(start + Double(x)))
        #expect(abs(Double(weight) - min(16384, max(0, exact))) <= 0.5 + 1e-6)
      }
    }
  }

  @Test func `the rows of a clock are its nearest weights`() {
    var generator = SeededRandom(seed: 5)
    for index in 0..<3000 {
      let count = Int.random(in: 1...90, using: &generator)
      let (whole, fraction) = (Int.random(in: -90...20, using: &generator), Double.random(in: 0..<1, using: &generator))
      // The centre is in the middle of a pixel, at its corner, or anywhere.
      let place = [0, 0.5, fraction][index % 3]
      let start = Double(whole) + place
      let down = Double(Int.random(in: -40...40, using: &generator)) + place
      let progress = Double.random(in: 0.001...0.999, using: &generator)
      let softness = [0, 0.01, 0.3, 1][Int.random(in: 0...3, using: &generator)]
      let made = row(count) { sheaf_matte_clock($0, Int32(count), start, down, progress, softness) }
      for (x, weight) in made.enumerated() {
        let along = start + Double(x)
        let turns: Double = 2 * .pi * hypot(along, down)
        func behind(_ angle: Double) -> Double {
          min(1, max(0, progress + (progress - angle) * turns / (1 + turns * softness)))
        }
        let signed: Double = atan2(along, -down) / (2 * .pi)
        let angle = signed < 0 ? signed + 1 : signed
        var exact = behind(angle)
        if down < 0, abs(along) < 0.5 {
          exact = (0.5 - along) * behind(along < 0 ? angle : 1) + (0.5 + along) * behind(along < 0 ? 0 : angle)
        }
        #expect(abs(Double(weight) - 16384 * exact) <= 0.5 + 1e-6, "\(along), \(down) at \(progress), \(softness)")
      }
    }
  }

  @Test func `the rows of levels are their nearest weights`() {
    let levels = (0..<256).map { UInt16($0 * 257) }
    for (first, step) in [(20000.0, -0.3), (-5000, 0.4), (16384, -64), (0, 64)] {
      let (fixedFirst, fixedStep) = (Int64(first * 4_294_967_296), Int64(step * 4_294_967_296))
      let made = row(256) { sheaf_matte_levels($0, levels, 256, fixedFirst, fixedStep) }
      for (x, weight) in made.enumerated() {
        #expect(abs(Double(weight) - min(16384, max(0, first + step * Double(levels[x])))) <= 0.5 + 1e-4)
      }
    }
  }
}

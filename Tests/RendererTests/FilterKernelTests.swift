import CMedia
import TestPrograms
import Testing

/// The plain versions against the formulas, and every faster version against the plain one, bit for bit.
@Suite struct FilterKernelTests {
  static let plain = sheaf_filter_kernels_plain()!.pointee
  static let others = [sheaf_filter_kernels_avx2()?.pointee, sheaf_filter_kernels_best()?.pointee].compactMap(\.self)
  static let widths = [1, 2, 15, 16, 17, 31, 32, 33, 100, 257]

  private func row(_ width: Int, _ generator: inout SeededRandom) -> [UInt16] {
    (0..<width).map { _ in UInt16(Int.random(in: 0...16384, using: &generator)) }
  }

  @Test func aSumIsTheFormulaLimitedToCoverage() {
    var generator = SeededRandom(seed: 11)
    for width in Self.widths {
      for round in 0..<40 {
        let rows = (0..<4).map { index in
          index == 3 && round % 2 == 0
            ? [UInt16](repeating: 16384, count: width) : row(width, &generator)
        }
        let shift = round % 15
        let extremes: [Int16] = [Int16.max, -Int16.max]
        let weights = (0..<4).map { _ -> Int16 in
          let extreme = extremes[Int.random(in: 0...1, using: &generator)]
          return round % 5 == 0 ? extreme : Int16.random(in: -20000...20000, using: &generator)
        }
        let sum = sheaf_sum(weight: (weights[0], weights[1], weights[2], weights[3]), shift: Int32(shift))
        func made(_ kernels: sheaf_filter_kernels) -> [UInt16] {
          var to = [UInt16](repeating: 7, count: width + 1)
          rows[0].withUnsafeBufferPointer { a in
            rows[1].withUnsafeBufferPointer { b in
              rows[2].withUnsafeBufferPointer { c in
                rows[3].withUnsafeBufferPointer { d in
                  let from = [a.baseAddress, b.baseAddress, c.baseAddress, d.baseAddress]
                  kernels.sum(&to, from, sum, Int32(width))
                }
              }
            }
          }
          return to
        }
        let right = made(Self.plain)
        for x in 0..<width {
          let exact = (0..<4).reduce(0) { $0 + Int(rows[$1][x]) * Int(weights[$1]) }
          let rounded = (exact + ((1 << shift) / 2)) >> shift
          #expect(Int(right[x]) == max(0, min(Int(rows[3][x]), rounded)))
        }
        #expect(right[width] == 7)
        for kernels in Self.others { #expect(made(kernels) == right) }
      }
    }
  }

  @Test func aConvolutionIsTheFormula() {
    var generator = SeededRandom(seed: 12)
    for width in Self.widths {
      for count in [1, 2, 3, 7, 42, 43] {
        let rows = (0..<count).map { _ in row(width, &generator) }
        var weights = (0..<count).map { _ in Int.random(in: 0...(32768 / count), using: &generator) }
        weights[0] += 32768 - weights.reduce(0, +)
        if weights[0] > 32767 { weights[0] = 32767 }
        let short = weights.map { Int16($0) }
        let all = rows.flatMap(\.self)
        func made(_ kernels: sheaf_filter_kernels) -> [UInt16] {
          var to = [UInt16](repeating: 7, count: width + 1)
          all.withUnsafeBufferPointer { samples in
            let starts = (0..<count).map { Optional(samples.baseAddress! + $0 * width) }
            kernels.convolve(&to, starts, short, Int32(count), Int32(width))
          }
          return to
        }
        let right = made(Self.plain)
        for x in 0..<width {
          let exact = (0..<count).reduce(16384) { $0 + Int(rows[$1][x]) * weights[$1] }
          #expect(Int(right[x]) == exact >> 15)
        }
        #expect(right[width] == 7)
        for kernels in Self.others { #expect(made(kernels) == right) }
      }
    }
  }
}

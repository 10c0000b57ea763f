import CKernels
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

  @Test func `a sum is the formula limited to coverage`() {
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

  @Test func `a convolution is the formula`() {
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

  /// A table of random entries, its domain 0…1 or a random one.
  private struct Table {
    var dimensions: Int
    var size: Int
    var entries: [UInt16]
    var domains: [ClosedRange<Double>]
    var amount: Int

    init(dimensions: Int, size: Int, isPlain: Bool, _ generator: inout SeededRandom) {
      (self.dimensions, self.size) = (dimensions, size)
      let count = dimensions == 1 ? 3 * size : 4 * size * size * size
      entries = (0..<count).map { index in
        dimensions == 3 && index % 4 == 3 ? 0 : UInt16(Int.random(in: 0...16384, using: &generator))
      }
      domains = (0..<3).map { _ in
        let low = Double.random(in: -1...1, using: &generator)
        return isPlain ? 0...1 : low...(low + Double.random(in: 0.001...2, using: &generator))
      }
      amount = isPlain ? 16384 : Int.random(in: 0...16384, using: &generator)
    }

    func withKernelTable(_ body: (inout sheaf_colour_table) -> Void) {
      let places = domains.map { domain in
        let step = Double(size - 1) / (domain.upperBound - domain.lowerBound) * 65536
        return (Int64(step.rounded()), Int64((-domain.lowerBound * 16384 * step).rounded()) + 32768)
      }
      entries.withUnsafeBufferPointer {
        var table = sheaf_colour_table(
          dimensions: Int32(dimensions), size: Int32(size), entries: $0.baseAddress,
          scale: (places[0].0, places[1].0, places[2].0), offset: (places[0].1, places[1].1, places[2].1),
          amount: Int32(amount))
        body(&table)
      }
    }

    /// The colour of a pixel in Double.
    func colour(_ rgb: [UInt16]) -> [Double] {
      let places = zip(rgb, domains).map { sample, domain in
        let part = (Double(sample) / 16384 - domain.lowerBound) / (domain.upperBound - domain.lowerBound)
        return min(1, max(0, part)) * Double(size - 1)
      }
      let corner = places.map { min(size - 2, Int($0)) }
      let parts = zip(places, corner).map { $0 - Double($1) }
      func entry(_ at: [Int], _ channel: Int) -> Double {
        dimensions == 1
          ? Double(entries[channel * size + at[channel]])
          : Double(entries[4 * (at[0] + size * (at[1] + size * at[2])) + channel])
      }
      return (0..<3).map { channel in
        var value = entry(corner, channel)
        if dimensions == 1 {
          let next = corner.map { $0 + 1 }
          value += parts[channel] * (entry(next, channel) - value)
        } else {
          var at = corner
          for axis in (0..<3).sorted(by: { parts[$0] > parts[$1] }) {
            let before = entry(at, channel)
            at[axis] += 1
            value += parts[axis] * (entry(at, channel) - before)
          }
        }
        return Double(rgb[channel]) + (value - Double(rgb[channel])) * Double(amount) / 16384
      }
    }
  }

  @Test(arguments: [1, 3])
  func `a table is interpolated`(dimensions: Int) {
    var generator = SeededRandom(seed: 13)
    for width in Self.widths {
      for (round, size) in [2, 3, 17, 2, 5, 16].enumerated() {
        let table = Table(dimensions: dimensions, size: size, isPlain: round < 3, &generator)
        var rows = (0..<3).map { _ in row(width, &generator) }
        for x in 0..<width {
          // The ends of the table, its entries, and equal parts.
          if x % 5 == 1 { rows[x % 3][x] = 16384 }
          if x % 5 == 2 { rows[(x + 1) % 3][x] = 0 }
          if x % 5 == 3 { rows[1][x] = rows[0][x] }
          if x % 7 == 3 { rows[2][x] = rows[1][x] }
          if x % 7 == 4 { for channel in 0..<3 { rows[channel][x] = 8192 } }
        }
        func made(_ kernels: sheaf_filter_kernels) -> [[UInt16]] {
          var (red, green, blue) = (rows[0] + [7], rows[1] + [7], rows[2] + [7])
          table.withKernelTable { table in
            red.withUnsafeMutableBufferPointer { r in
              green.withUnsafeMutableBufferPointer { g in
                blue.withUnsafeMutableBufferPointer { b in
                  let rgb = [r.baseAddress, g.baseAddress, b.baseAddress]
                  if dimensions == 1 {
                    kernels.look_up_curves(&table, rgb, Int32(width))
                  } else {
                    kernels.look_up_cube(&table, rgb, Int32(width))
                  }
                }
              }
            }
          }
          return [red, green, blue]
        }
        let right = made(Self.plain)
        // Places are rounded to 1/16384 of an entry, and results and their mixes to nearest.
        for x in 0..<width {
          let exact = table.colour(rows.map { $0[x] })
          #expect((0..<3).allSatisfy { abs(Double(right[$0][x]) - exact[$0]) <= 5 })
        }
        #expect(right.allSatisfy { $0[width] == 7 })
        for kernels in Self.others { #expect(made(kernels) == right) }
      }
    }
  }

  @Test func `a fade is the formula`() {
    var generator = SeededRandom(seed: 14)
    for width in Self.widths {
      for offset in [0, 1024, 8192, 16384] {
        let (samples, coverage, factor) = (row(width, &generator), row(width, &generator), row(width, &generator))
        func made(_ kernels: sheaf_filter_kernels) -> [UInt16] {
          var to = samples + [7]
          kernels.fade(&to, coverage, factor, Int32(offset), Int32(width))
          return to
        }
        let right = made(Self.plain)
        for x in 0..<width {
          let base = (Int(coverage[x]) * offset + 8192) >> 14
          let sum = Int(samples[x]) * Int(factor[x]) + base * (16384 - Int(factor[x]))
          #expect(Int(right[x]) == (sum + 8192) >> 14)
        }
        #expect(right[width] == 7)
        for kernels in Self.others { #expect(made(kernels) == right) }
      }
    }
  }

  @Test func `a vignette falls off as the formula`() {
    var generator = SeededRandom(seed: 15)
    for width in Self.widths {
      for (amount, radius, softness) in [(0.5, 0.5, 0.5), (1, 0, 0), (0.3, 0.2, 0.1), (1, 0.9, 2), (0, 0.5, 0.5)] {
        var across = (0..<width).map { _ in Double.random(in: 0...1, using: &generator) }
        across[0] = radius * radius
        let down = width % 2 == 0 ? 0 : Double.random(in: 0...1, using: &generator)
        let falloff = sheaf_falloff(amount: amount, radius: radius, softness: softness)
        func made(_ kernels: sheaf_filter_kernels) -> [UInt16] {
          var to = [UInt16](repeating: 7, count: width + 1)
          kernels.falloff(&to, across, down, falloff, Int32(width))
          return to
        }
        let right = made(Self.plain)
        for x in 0..<width {
          let beyond = (across[x] + down).squareRoot() - radius
          let part = beyond <= 0 ? 0 : beyond >= softness ? 1 : beyond / softness
          let exact = (1 - amount * part * part * (3 - 2 * part)) * 16384
          #expect(abs(Double(right[x]) - exact) <= 0.5 + 1e-6)
        }
        #expect(right[width] == 7)
        for kernels in Self.others { #expect(made(kernels) == right) }
      }
    }
  }
}

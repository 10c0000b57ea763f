import CKernels
import TestPrograms
import Testing

/// The plain versions against the formulas in Double, and every faster version against the plain one, bit for bit.
@Suite struct KernelTests {
  static let plain = sheaf_kernels_plain().pointee
  /// The versions to compare with the plain one. On a processor without AVX2 this is the plain one itself.
  static let others = [sheaf_kernels_avx2()?.pointee, sheaf_kernels_best().pointee].compactMap(\.self)
  static let sizes = [(1, 1), (2, 3), (15, 4), (16, 2), (17, 5), (31, 3), (33, 2), (64, 3), (97, 7), (250, 9)]
  static let weights = [0, 1, 77, 4096, 8191, 8192, 12345, 16383, 16384]

  @Test func `mix is the exact mean rounded to nearest`() {
    var generator = SeededRandom(seed: 1)
    for (width, height) in Self.sizes {
      for weight in Self.weights {
        let a8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, using: &generator)
        let b8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, padding: 5, using: &generator)
        let a16 = RandomPlane<UInt16>(width: width, height: height, upTo: 16384, using: &generator)
        let b16 = RandomPlane<UInt16>(
          width: width, height: height, upTo: 16384, padding: 6, start: 2, using: &generator)
        let before8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, using: &generator)
        let before16 = RandomPlane<UInt16>(width: width, height: height, upTo: 1023, using: &generator)
        let (wa, wb) = (Int32(16384 - weight), Int32(weight))

        func mixed8(_ kernels: sheaf_kernels) -> RandomPlane<UInt8> {
          var to = before8
          let stride = to.strideInBytes
          to.write { to in
            a8.read { a in
              b8.read { b in
                kernels.mix8(
                  to, stride, a, a8.strideInBytes, b, b8.strideInBytes, Int32(width), Int32(height), wa, wb)
              }
            }
          }
          return to
        }
        func mixed16(_ kernels: sheaf_kernels) -> RandomPlane<UInt16> {
          var to = before16
          let stride = to.strideInBytes
          to.write { to in
            a16.read { a in
              b16.read { b in
                kernels.mix16(
                  to, stride, a, a16.strideInBytes, b, b16.strideInBytes, Int32(width), Int32(height), wa, wb)
              }
            }
          }
          return to
        }
        let (right8, right16) = (mixed8(Self.plain), mixed16(Self.plain))
        for kernels in Self.others {
          #expect(mixed8(kernels).samples == right8.samples)
          #expect(mixed16(kernels).samples == right16.samples)
        }
        let p = Double(weight) / 16384
        var (worst8, worst16) = (0.0, 0.0)
        for y in 0..<height {
          for x in 0..<width {
            worst8 = max(worst8, abs(Double(right8[x, y]) - (1 - p) * Double(a8[x, y]) - p * Double(b8[x, y])))
            worst16 = max(worst16, abs(Double(right16[x, y]) - (1 - p) * Double(a16[x, y]) - p * Double(b16[x, y])))
          }
        }
        #expect(worst8 <= 0.5 && worst16 <= 0.5)
      }
    }
  }

  @Test(arguments: [8, 10])
  func `over is within half a code of the exact blend`(depth: Int) {
    var generator = SeededRandom(seed: 2)
    let highest = 1 << depth - 1
    let unit = Double(1 << (14 - depth))
    for (width, height) in Self.sizes {
      for opacity in Self.weights {
        var coverage = RandomPlane<UInt16>(width: width, height: height, upTo: 16384, padding: 2, using: &generator)
        var colour = RandomPlane<UInt16>(width: width, height: height, upTo: 0, using: &generator)
        let under16 = RandomPlane<UInt16>(width: width, height: height, upTo: highest, using: &generator)
        var under8 = RandomPlane<UInt8>(width: width, height: height, upTo: 0, using: &generator)
        for y in 0..<height {
          for x in 0..<width {
            // Runs of transparent and of opaque samples, as real pictures have.
            if (x / 20 + y) % 3 == 1 { coverage[x, y] = 0 }
            if (x / 20 + y) % 3 == 2 { coverage[x, y] = 16384 }
            let code = Double(Int.random(in: 0...highest, using: &generator))
            colour[x, y] = Int((code * unit * Double(coverage[x, y]) / 16384).rounded())
            under8[x, y] = min(255, under16[x, y])
          }
        }
        func under(_ x: Int, _ y: Int) -> Int { depth == 8 ? under8[x, y] : under16[x, y] }
        func drawn(_ kernels: sheaf_kernels) -> [Int] {
          colour.read { c in
            coverage.read { a in
              if depth == 8 {
                var to = under8
                let stride = to.strideInBytes
                to.write {
                  kernels.over8(
                    $0, stride, c, colour.strideInBytes, a, coverage.strideInBytes, Int32(width), Int32(height),
                    Int32(opacity))
                }
                return to.samples.map(Int.init)
              }
              var to = under16
              let stride = to.strideInBytes
              to.write {
                kernels.over16(
                  $0, stride, c, colour.strideInBytes, a, coverage.strideInBytes, Int32(width), Int32(height),
                  Int32(opacity), Int32(depth))
              }
              return to.samples.map(Int.init)
            }
          }
        }
        let right = drawn(Self.plain)
        for kernels in Self.others { #expect(drawn(kernels) == right) }
        let o = Double(opacity) / 16384
        // Half a code for the rounding of the result, and the largest effect on the highest code of rounding the
        // product of coverage and opacity to 1/16384.
        let bound = 0.5 + Double(highest) / 32768 + 1e-9
        var worst = 0.0
        for y in 0..<height {
          for x in 0..<width {
            let exact =
              Double(colour[x, y]) / unit * o + Double(under(x, y)) * (1 - Double(coverage[x, y]) / 16384 * o)
            let got = Double(right[1 + y * (width + 3) + x])
            worst = max(worst, abs(got - min(Double(highest), exact)))
            if coverage[x, y] == 0 || opacity == 0 { #expect(Int(got) == under(x, y)) }
          }
        }
        #expect(worst <= bound)
      }
    }
  }

  @Test func `transpose and mirror move every sample to its place`() {
    var generator = SeededRandom(seed: 3)
    for (width, height) in Self.sizes + [(48, 33), (130, 70)] {
      let from8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, using: &generator)
      let from16 = RandomPlane<UInt16>(width: width, height: height, upTo: 65535, using: &generator)
      let turned8 = RandomPlane<UInt8>(width: height, height: width, upTo: 255, using: &generator)
      let turned16 = RandomPlane<UInt16>(width: height, height: width, upTo: 65535, using: &generator)
      for kernels in Self.others + [Self.plain] {
        var (t8, t16, m8, m16) = (turned8, turned16, from8, from16)
        let strides = (t8.strideInBytes, t16.strideInBytes, m8.strideInBytes, m16.strideInBytes)
        let (w, h) = (Int32(width), Int32(height))
        from8.read { from in
          t8.write { kernels.transpose8($0, strides.0, from, strides.2, w, h) }
          m8.write { kernels.mirror8($0, strides.2, from, strides.2, w, h) }
        }
        from16.read { from in
          t16.write { kernels.transpose16($0, strides.1, from, strides.3, w, h) }
          m16.write { kernels.mirror16($0, strides.3, from, strides.3, w, h) }
        }
        var (right8, right16, mirrored8, mirrored16) = (turned8, turned16, from8, from16)
        for y in 0..<height {
          for x in 0..<width {
            right8[y, x] = from8[x, y]
            right16[y, x] = from16[x, y]
            mirrored8[width - 1 - x, y] = from8[x, y]
            mirrored16[width - 1 - x, y] = from16[x, y]
          }
        }
        #expect(t8.samples == right8.samples && t16.samples == right16.samples)
        #expect(m8.samples == mirrored8.samples && m16.samples == mirrored16.samples)
      }
    }
  }

  @Test func `fill sets the rectangle and nothing else`() {
    var generator = SeededRandom(seed: 4)
    for (width, height) in Self.sizes {
      let before8 = RandomPlane<UInt8>(width: width, height: height, upTo: 255, using: &generator)
      let before16 = RandomPlane<UInt16>(width: width, height: height, upTo: 1023, using: &generator)
      var (right8, right16) = (before8, before16)
      for y in 0..<height {
        for x in 0..<width { (right8[x, y], right16[x, y]) = (200, 940) }
      }
      for kernels in Self.others + [Self.plain] {
        var (a, b) = (before8, before16)
        let strides = (a.strideInBytes, b.strideInBytes)
        a.write { kernels.fill8($0, strides.0, Int32(width), Int32(height), 200) }
        b.write { kernels.fill16($0, strides.1, Int32(width), Int32(height), 940) }
        #expect(a.samples == right8.samples && b.samples == right16.samples)
      }
    }
  }

  @Test func `chroma is the weighted mean around its place`() {
    var generator = SeededRandom(seed: 5)
    let weights = [
      SHEAF_FIRST.rawValue: [(-1, 1), (0, 2), (1, 1)], SHEAF_MIDDLE.rawValue: [(0, 1), (1, 1)],
      SHEAF_LAST.rawValue: [(0, 1), (1, 2), (2, 1)],
    ]
    for (width, height) in Self.sizes + [(511, 2), (513, 3), (514, 2), (1025, 5)] {
      let from = RandomPlane<UInt16>(width: width, height: height, upTo: 16384, using: &generator)
      for (shiftX, shiftY) in [(0, 0), (1, 0), (1, 1)] {
        for (x, y) in [
          (SHEAF_FIRST, SHEAF_MIDDLE), (SHEAF_MIDDLE, SHEAF_MIDDLE), (SHEAF_FIRST, SHEAF_FIRST),
          (SHEAF_MIDDLE, SHEAF_LAST), (SHEAF_LAST, SHEAF_FIRST),
        ] {
          for repeats in [true, false] {
            let size = ((width + shiftX) >> shiftX, (height + shiftY) >> shiftY)
            let before = RandomPlane<UInt16>(width: size.0, height: size.1, upTo: 16384, using: &generator)
            let (across, down) = (
              shiftX == 0 ? [(0, 1)] : weights[x.rawValue] ?? [], shiftY == 0 ? [(0, 1)] : weights[y.rawValue] ?? []
            )
            func sample(_ column: Int, _ row: Int) -> Int {
              if !repeats, column < 0 || row < 0 { return 0 }
              return from[min(width - 1, max(0, column)), min(height - 1, max(0, row))]
            }
            var right = before
            for row in 0..<size.1 {
              for column in 0..<size.0 {
                var (sum, total) = (0, 0)
                for (dy, ofRow) in down {
                  for (dx, ofColumn) in across {
                    sum += ofRow * ofColumn * sample(column << shiftX + dx, row << shiftY + dy)
                    total += ofRow * ofColumn
                  }
                }
                right[column, row] = (2 * sum + total) / (2 * total)
              }
            }
            var made = before
            let stride = made.strideInBytes
            made.write { to in
              from.read {
                sheaf_subsample16(
                  to, stride, $0, from.strideInBytes, Int32(width), Int32(height),
                  sheaf_subsampling(
                    shift_x: Int32(shiftX), shift_y: Int32(shiftY), place_x: x, place_y: y,
                    repeats_left: repeats ? 1 : 0, repeats_top: repeats ? 1 : 0))
              }
            }
            #expect(made.samples == right.samples, "\(width)x\(height) \(shiftX) \(shiftY) \(x) \(y) \(repeats)")
          }
        }
      }
    }
  }
}

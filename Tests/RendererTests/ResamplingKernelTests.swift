import CKernels
import TestPrograms
import Testing

/// The loops of resampling: the plain versions against sums in Double, and every faster version against the plain one,
/// bit for bit.
@Suite struct ResamplingKernelTests {
  static let plain = sheaf_resampling_plain().pointee
  static let others = [sheaf_resampling_avx2()?.pointee, sheaf_resampling_best().pointee].compactMap(\.self)

  /// A filter in memory of its own.
  private final class Filter {
    private var first: [Int32]
    private var weights: [Int16]
    let taps: Int
    let count: Int

    init(outputs: Int, step: Double, offset: Double, size: Int) {
      taps = Int(sheaf_filter_taps(step, Int32(size)))
      count = (outputs + 7) & ~7
      first = [Int32](repeating: 0, count: count)
      weights = [Int16](repeating: 0, count: count * taps)
      var scratch = [Double](repeating: 0, count: taps)
      use { filter in
        var filter = filter
        sheaf_filter_fill(&filter, Int32(outputs), step, offset, Int32(size), &scratch)
      }
    }

    func use<R>(_ body: (sheaf_filter) -> R) -> R {
      first.withUnsafeMutableBufferPointer { first in
        weights.withUnsafeMutableBufferPointer { weights in
          body(
            sheaf_filter(
              first: first.baseAddress, weights: weights.baseAddress, taps: Int32(taps), count: Int32(count)))
        }
      }
    }

    func start(_ output: Int) -> Int { Int(first[output]) }
    func weight(_ output: Int, _ tap: Int) -> Int { Int(weights[((tap / 4) * count + output) * 4 + tap % 4]) }
  }

  static let axes: [(outputs: Int, step: Double, offset: Double, size: Int)] = [
    (40, 1, 0, 40), (37, 0.43, -0.2, 21), (20, 2.7, 0.9, 55), (9, -1.3, 30, 33), (5, 20.5, 3, 100), (3, 0.9, 0, 2),
    (16, 7, -30, 64), (1, 300, 150, 300), (24, 0.5, 70, 30),
  ]

  @Test func `the weights of a filter add up to one`() {
    for axis in Self.axes {
      let filter = Filter(outputs: axis.outputs, step: axis.step, offset: axis.offset, size: axis.size)
      #expect(filter.taps % 4 == 0)
      for output in 0..<filter.count {
        #expect((0..<filter.taps).map { filter.weight(output, $0) }.reduce(0, +) == 16384)
        #expect(filter.start(output) >= 0)
        #expect(filter.start(output) + filter.taps <= max(axis.size, filter.taps))
      }
      if axis.step == 1 {
        for output in 0..<axis.outputs {
          #expect((0..<filter.taps).map { filter.weight(output, $0) }.max() == 16384)
        }
      }
    }
  }

  @Test(arguments: [8, 10, 14])
  func `rows and columns are the sums of their filters`(depth: Int) {
    var random = SeededRandom(seed: 4)
    let highest = depth == 14 ? 16384 : 1 << depth - 1
    for axis in Self.axes {
      let filter = Filter(outputs: axis.outputs, step: axis.step, offset: axis.offset, size: axis.size)
      let bytes = (0..<max(axis.size, filter.taps)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let words = bytes.map { depth == 8 ? UInt16($0) : UInt16(Int($0) * highest / 255) }
      func row(_ kernels: sheaf_resampling_kernels) -> [Int16] {
        var made = [Int16](repeating: 0, count: filter.count)
        filter.use { filter in
          var filter = filter
          if depth == 8 {
            kernels.row8(&made, bytes, &filter)
          } else {
            kernels.row16(&made, words, &filter, Int32(depth))
          }
        }
        return made
      }
      let right = row(Self.plain)
      for kernels in Self.others { #expect(row(kernels) == right) }
      let unit = Double(1 << (14 - depth))
      for output in 0..<axis.outputs {
        let exact = (0..<filter.taps).reduce(0.0) {
          $0 + Double(words[filter.start(output) + $1]) * Double(filter.weight(output, $1)) / 16384
        }
        #expect(abs(Double(right[output]) - exact * unit) <= 0.5)
      }

      let width = 37
      let rows = (0..<filter.taps).map { _ in
        (0..<(width + 16)).map { _ in Int16.random(in: -2500...18800, using: &random) }
      }
      let weights = (0..<filter.taps).map { Int16(filter.weight(0, $0)) }
      func column(_ kernels: sheaf_resampling_kernels) -> [UInt16] {
        var (narrow, wide) = ([UInt8](repeating: 0, count: width), [UInt16](repeating: 0, count: width))
        let pointers = rows.map { row in
          let copy = UnsafeMutablePointer<Int16>.allocate(capacity: row.count)
          copy.initialize(from: row, count: row.count)
          return copy
        }
        defer { for pointer in pointers { pointer.deallocate() } }
        let constants = pointers.map { Optional(UnsafePointer($0)) }
        if depth == 8 {
          kernels.column8(&narrow, constants, weights, Int32(filter.taps), Int32(width))
          return narrow.map(UInt16.init)
        }
        kernels.column16(&wide, constants, weights, Int32(filter.taps), Int32(width), Int32(depth), Int32(highest))
        return wide
      }
      let codes = column(Self.plain)
      for kernels in Self.others { #expect(column(kernels) == codes) }
      for x in 0..<width {
        let exact = (0..<filter.taps).reduce(0.0) { $0 + Double(rows[$1][x]) * Double(weights[$1]) / 16384 } / unit
        #expect(abs(Double(codes[x]) - min(Double(highest), max(0, exact))) <= 0.5)
      }
    }
  }

  @Test(arguments: [8, 10, 14])
  func `samples are those of the cubic`(depth: Int) {
    var random = SeededRandom(seed: 5)
    let highest = depth == 14 ? 16384 : 1 << depth - 1
    let margin = Int(SHEAF_MARGIN)
    for (width, height) in [(1, 1), (5, 3), (40, 31), (100, 2)] {
      let stride = width + 2 * margin + 3
      var bytes = [UInt8](repeating: 0, count: stride * (height + 2 * margin))
      var words = [UInt16](repeating: 0, count: bytes.count)
      let first = margin * stride + margin
      for y in 0..<height {
        for x in 0..<width {
          let byte = UInt8.random(in: 0...255, using: &random)
          bytes[first + y * stride + x] = byte
          words[first + y * stride + x] = depth == 8 ? UInt16(byte) : UInt16(Int(byte) * highest / 255)
        }
      }
      bytes.withUnsafeMutableBufferPointer {
        sheaf_extend_edges($0.baseAddress.unsafelyUnwrapped + first, stride, Int32(width), Int32(height), 1)
      }
      words.withUnsafeMutableBufferPointer {
        sheaf_extend_edges($0.baseAddress.unsafelyUnwrapped + first, stride * 2, Int32(width), Int32(height), 2)
      }
      for _ in 0..<20 {
        let count = Int.random(in: 1...60, using: &random)
        let one = 4_294_967_296.0
        let (u, v) = (
          Double.random(in: -3...Double(width + 2), using: &random),
          Double.random(in: -3...Double(height + 2), using: &random)
        )
        let (du, dv) = (Double.random(in: -2...2, using: &random), Double.random(in: -2...2, using: &random))
        let fixed = [u, v, du, dv].map { Int64($0 * one) }
        func sampled(_ kernels: sheaf_resampling_kernels) -> [UInt16] {
          var (narrow, wide) = ([UInt8](repeating: 0, count: count), [UInt16](repeating: 0, count: count))
          if depth == 8 {
            bytes.withUnsafeBufferPointer {
              kernels.sample8(
                &narrow, Int32(count), $0.baseAddress.unsafelyUnwrapped + first, stride, Int32(width), Int32(height),
                fixed[0], fixed[1], fixed[2], fixed[3])
            }
            return narrow.map(UInt16.init)
          }
          words.withUnsafeBufferPointer {
            kernels.sample16(
              &wide, Int32(count), $0.baseAddress.unsafelyUnwrapped + first, stride * 2, Int32(width), Int32(height),
              fixed[0], fixed[1], fixed[2], fixed[3], Int32(depth), Int32(highest))
          }
          return wide
        }
        let right = sampled(Self.plain)
        for kernels in Self.others { #expect(sampled(kernels) == right) }
        var worst = 0.0
        for x in 0..<count {
          let atX = min(Double(width), max(-1, u + Double(x) * du))
          let atY = min(Double(height), max(-1, v + Double(x) * dv))
          var exact = 0.0
          for n in -2...(height + 1) {
            for m in -2...(width + 1) {
              let weight = Self.cubic(Double(m) - atX) * Self.cubic(Double(n) - atY)
              if weight == 0 { continue }
              let sample = words[first + min(height - 1, max(0, n)) * stride + min(width - 1, max(0, m))]
              exact += weight * Double(sample)
            }
          }
          worst = max(worst, abs(Double(right[x]) - min(Double(highest), max(0, exact))))
        }
        #expect(worst <= 0.5 + Double(highest) / 1500, "\(width)x\(height)")
      }
    }
  }

  private static func cubic(_ x: Double) -> Double {
    let x = abs(x)
    if x < 1 { return 1.4 * x * x * x - 2.4 * x * x + 1 }
    return x < 2 ? -0.6 * (x * x * x - 5 * x * x + 8 * x - 4) : 0
  }

  @Test func `the pixels of a polygon have its area`() {
    var random = SeededRandom(seed: 6)
    for _ in 0..<200 {
      // A turned rectangle.
      let (width, height) = (48, 40)
      let (x, y) = (Double.random(in: 0...48, using: &random), Double.random(in: 0...40, using: &random))
      let (a, b) = (Double.random(in: -20...20, using: &random), Double.random(in: -20...20, using: &random))
      let (c, d) = (Double.random(in: -20...20, using: &random), Double.random(in: -20...20, using: &random))
      let corners = [x, y, x + a, y + b, x + a + c, y + b + d, x + c, y + d]
      var spans = [sheaf_span](repeating: sheaf_span(), count: height)
      let count = sheaf_polygon_spans(corners, 4, Int32(width), Int32(height), &spans)
      var edges = [UInt16](repeating: 0, count: count + 1)
      sheaf_polygon_edges(corners, 4, Int32(height), spans, &edges)
      let isInside = stride(from: 0, to: 8, by: 2).allSatisfy {
        (0...48).contains(corners[$0]) && (0...40).contains(corners[$0 + 1])
      }
      guard isInside else { continue }
      let inner = spans.reduce(0) { $0 + Int($1.inner_end - $1.inner_start) }
      let area = Double(inner) + Double(edges.dropLast().reduce(0) { $0 + Int($1) }) / 16384
      #expect(abs(area - abs(a * d - b * c)) <= 0.01)
    }
  }

  /// Shapes with chroma at any place in its cell, at any edges of the frame.
  @Test func `the chroma of a shape is what its pixels are`() {
    var random = SeededRandom(seed: 7)
    let places: [sheaf_place] = [SHEAF_FIRST, SHEAF_MIDDLE, SHEAF_LAST]
    for _ in 0..<3000 {
      let width = Int.random(in: 1...20, using: &random)
      let height = Int.random(in: 1...16, using: &random)
      let how = sheaf_subsampling(
        shift_x: Int32.random(in: 0...1, using: &random), shift_y: Int32.random(in: 0...1, using: &random),
        place_x: places.randomElement(using: &random) ?? SHEAF_FIRST,
        place_y: places.randomElement(using: &random) ?? SHEAF_FIRST,
        repeats_left: Int32.random(in: 0...1, using: &random), repeats_top: Int32.random(in: 0...1, using: &random))
      func number(_ range: ClosedRange<Double>) -> Double {
        // Often whole, as the sides of a frame are.
        let number = Double.random(in: range, using: &random)
        return Bool.random(using: &random) ? number.rounded() : number
      }
      let (x, y) = (number(-4...20), number(-4...16))
      let (a, d) = (number(-20...30), number(-20...30))
      let isUpright = Bool.random(using: &random)
      let (b, c) = isUpright ? (0, 0) : (number(-20...20), number(-20...20))
      let corners = [x, y, x + a, y + b, x + a + c, y + b + d, x + c, y + d]
      let (columns, rows) = ((width + Int(how.shift_x)) >> how.shift_x, (height + Int(how.shift_y)) >> how.shift_y)
      var spans = [sheaf_span](repeating: sheaf_span(), count: height)
      let count = sheaf_polygon_spans(corners, 4, Int32(width), Int32(height), &spans)
      var edges = [UInt16](repeating: 0, count: count + 1)
      sheaf_polygon_edges(corners, 4, Int32(height), spans, &edges)
      var chromaSpans = [sheaf_span](repeating: sheaf_span(), count: rows)
      let chromaCount = sheaf_subsample_spans(&chromaSpans, spans, edges, Int32(width), Int32(height), how)
      var chromaEdges = [UInt16](repeating: 0xffff, count: chromaCount + 1)
      sheaf_subsample_edges(&chromaEdges, chromaSpans, spans, edges, Int32(width), Int32(height), how)
      #expect(chromaEdges[chromaCount] == 0xffff)
      let coverage = Self.coverage(spans, edges, width)
      var right = [UInt16](repeating: 0, count: columns * rows)
      sheaf_subsample16(&right, columns * 2, coverage, width * 2, Int32(width), Int32(height), how)
      #expect(Self.coverage(chromaSpans, chromaEdges, columns) == right, "\(width)x\(height) \(corners) \(how)")
      // What is covered completely is not computed.
      for (y, span) in chromaSpans.enumerated() {
        let inner = right[(y * columns)..<((y + 1) * columns)].filter { $0 == 16384 }.count
        if isUpright { #expect(inner == span.inner_end - span.inner_start || span.end - span.start <= 2) }
      }
    }
  }

  /// The coverage of each pixel, row by row: 0 to 16384.
  private static func coverage(_ spans: [sheaf_span], _ edges: [UInt16], _ width: Int) -> [UInt16] {
    var coverage = [UInt16](repeating: 0, count: spans.count * width)
    var next = 0
    for (y, span) in spans.enumerated() {
      for x in Int(span.start)..<Int(span.end) {
        let isInner = x >= span.inner_start && x < span.inner_end
        coverage[y * width + x] = isInner ? 16384 : edges[next]
        next += isInner ? 0 : 1
      }
    }
    return coverage
  }
}

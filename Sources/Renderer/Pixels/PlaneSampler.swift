import CKernels
import CompositionModel
import Media

/// Where the samples of a plane are taken from: sample (i, j) of the result is at (u + a·i + c·j, v + b·i + d·j) of the
/// source, sample centres at whole numbers.
struct PlaneMap {
  var a: Double
  var b: Double
  var c: Double
  var d: Double
  var u: Double
  var v: Double

  /// Whether rows stay rows and columns stay columns.
  var isSeparable: Bool { b == 0 && c == 0 }

  /// The map into a part of the source that starts at a sample.
  func from(x: Int, y: Int) -> PlaneMap {
    var map = self
    map.u -= Double(x)
    map.v -= Double(y)
    return map
  }

  /// The map into the source at another size.
  func scaled(across: Double, down: Double) -> PlaneMap {
    PlaneMap(
      a: a * across, b: b * down, c: c * across, d: d * down, u: (u + 0.5) * across - 0.5, v: (v + 0.5) * down - 0.5)
  }
}

/// Samples of one plane in memory: codes, or blend samples, which have 14 bits.
struct SamplePlane {
  var base: UnsafeMutableRawPointer
  /// In bytes; may be negative.
  var stride: Int
  var width: Int
  var height: Int
  var depth: Int
  /// The highest sample.
  var highest: Int

  var sampleBytes: Int { depth > 8 ? 2 : 1 }

  func part(x: Range<Int>, y: Range<Int>) -> SamplePlane {
    var part = self
    part.base += y.lowerBound * stride + x.lowerBound * sampleBytes
    part.width = x.count
    part.height = y.count
    return part
  }

  fileprivate var upsideDown: SamplePlane {
    var plane = self
    plane.base += (height - 1) * stride
    plane.stride = -stride
    return plane
  }
}

/// Takes planes to another size, place or angle. Where a plane is made smaller it is filtered, so that nothing is lost
/// between its samples: exactly along its rows and columns; at an angle it is first made as small as its sides become.
final class PlaneSampler {
  private let kernels = sheaf_resampling_best()
  private var filtered = Scratch()
  private var extended = Scratch()
  /// The latest filters, the oldest first: both planes of chroma need the same two, as do all frames of a picture that
  /// stays in its place.
  private var filters: [AxisFilter] = []

  /// Memory that is used again.
  private struct Scratch: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    deinit { memory.deallocate() }

    mutating func bytes(_ count: Int) -> UnsafeMutableRawPointer {
      if memory.count < count {
        memory.deallocate()
        memory = .allocate(byteCount: count + count / 4, alignment: 64)
      }
      return memory.baseAddress.unsafelyUnwrapped
    }
  }

  /// Writes the samples within `spans`, of which there is one for each row of `target`. A separable map writes all of
  /// the target.
  func sample(_ source: SamplePlane, _ map: PlaneMap, into target: SamplePlane, spans: [sheaf_span]) {
    if map.isSeparable {
      resample(source, map, into: target)
      return
    }
    // How far apart neighbouring samples of the source are in the result.
    let determinant = map.a * map.d - map.b * map.c
    let across = shrunk(source.width, by: (map.d * map.d + map.b * map.b).squareRoot() / abs(determinant))
    let down = shrunk(source.height, by: (map.a * map.a + map.c * map.c).squareRoot() / abs(determinant))
    let plane = extended(source, across, down)
    let fixed = FixedMap(
      map.scaled(across: Double(across) / Double(source.width), down: Double(down) / Double(source.height)))
    for (y, span) in spans.enumerated() where span.start < span.end {
      let (x, count) = (Int(span.start), span.end - span.start)
      let to = target.base + y * target.stride + x * target.sampleBytes
      let (u, v) = fixed.place(x, y)
      if source.depth > 8 {
        kernels?.pointee.sample16(
          to.assumingMemoryBound(to: UInt16.self), count, plane.base.assumingMemoryBound(to: UInt16.self),
          plane.stride, Int32(across), Int32(down), u, v, fixed.a, fixed.b, Int32(source.depth), Int32(source.highest))
      } else {
        kernels?.pointee.sample8(
          to.assumingMemoryBound(to: UInt8.self), count, plane.base.assumingMemoryBound(to: UInt8.self), plane.stride,
          Int32(across), Int32(down), u, v, fixed.a, fixed.b)
      }
    }
  }

  private func shrunk(_ side: Int, by scale: Double) -> Int {
    scale < 1 ? max(1, Int((Double(side) * scale).rounded(.up))) : side
  }

  /// The source at another size, with its edges repeated around it.
  private func extended(_ source: SamplePlane, _ width: Int, _ height: Int) -> SamplePlane {
    let margin = Int(SHEAF_MARGIN)
    let stride = ((width + 2 * margin) * source.sampleBytes + 63) & ~63
    var plane = source
    (plane.stride, plane.width, plane.height) = (stride, width, height)
    plane.base = extended.bytes(stride * (height + 2 * margin) + 64) + margin * stride + margin * source.sampleBytes
    if width == source.width, height == source.height {
      for row in 0..<height {
        (plane.base + row * stride).copyMemory(
          from: source.base + row * source.stride, byteCount: width * source.sampleBytes)
      }
    } else {
      let (across, down) = (Double(source.width) / Double(width), Double(source.height) / Double(height))
      resample(
        source, PlaneMap(a: across, b: 0, c: 0, d: down, u: across / 2 - 0.5, v: down / 2 - 0.5), into: plane)
    }
    sheaf_extend_edges(plane.base, stride, Int32(width), Int32(height), Int32(source.sampleBytes))
    return plane
  }

  private func resample(_ source: SamplePlane, _ map: PlaneMap, into target: SamplePlane) {
    // Rows are read from top to bottom.
    let isUpright = map.d >= 0
    let rows = isUpright ? source : source.upsideDown
    let offset = isUpright ? map.v : Double(source.height - 1) - map.v
    let across = filter(AxisFilter.Key(outputs: target.width, step: map.a, offset: map.u, size: source.width))
    let down = filter(AxisFilter.Key(outputs: target.height, step: abs(map.d), offset: offset, size: source.height))
    let scratch = filtered.bytes(2 * (Int(across.filter.count) * Int(down.filter.taps) + Int(across.filter.taps) + 32))
    withExtendedLifetime((across, down)) {
      var (ofRows, ofColumns) = (across.filter, down.filter)
      sheaf_resample(
        kernels, target.base, target.stride, Int32(target.width), Int32(target.height), &ofRows, &ofColumns, rows.base,
        rows.stride, Int32(source.width), Int32(source.height), Int32(source.depth), Int32(source.highest),
        scratch.assumingMemoryBound(to: Int16.self))
    }
  }

  private func filter(_ key: AxisFilter.Key) -> AxisFilter {
    if let known = filters.first(where: { $0.key == key }) { return known }
    if filters.count == 8 { filters.removeFirst() }
    let made = AxisFilter(key)
    filters.append(made)
    return made
  }
}

/// The weights with which a plane is resampled along one of its axes.
private final class AxisFilter {
  /// Output i is at the sample offset + step·i of `size`.
  struct Key: Equatable {
    var outputs: Int
    var step: Double
    var offset: Double
    var size: Int
  }

  let key: Key
  /// Valid as long as this object.
  let filter: sheaf_filter
  private let memory: UnsafeMutableRawBufferPointer

  init(_ key: Key) {
    self.key = key
    let taps = Int(sheaf_filter_taps(key.step, Int32(key.size)))
    let count = (key.outputs + 7) & ~7
    memory = .allocate(byteCount: count * 4 + count * taps * 2, alignment: 64)
    let base = memory.baseAddress.unsafelyUnwrapped
    let first = base.assumingMemoryBound(to: Int32.self)
    let weights = (base + count * 4).assumingMemoryBound(to: Int16.self)
    var filter = sheaf_filter(first: first, weights: weights, taps: Int32(taps), count: Int32(count))
    withUnsafeTemporaryAllocation(of: Double.self, capacity: taps) { numbers in
      sheaf_filter_fill(&filter, Int32(key.outputs), key.step, key.offset, Int32(key.size), numbers.baseAddress)
    }
    self.filter = filter
  }

  deinit { memory.deallocate() }
}

/// A map in units of 2^-32 of a sample. Sums wrap around; those of samples within the source do not.
private struct FixedMap {
  let a: Int64
  let b: Int64
  private let c: Int64
  private let d: Int64
  private let u: Int64
  private let v: Int64

  init(_ map: PlaneMap) {
    func fixed(_ number: Double) -> Int64 {
      let units = (number * 4_294_967_296).rounded()
      return Int64(max(-9e18, min(9e18, units)))
    }
    (a, b, c, d) = (fixed(map.a), fixed(map.b), fixed(map.c), fixed(map.d))
    (u, v) = (fixed(map.u), fixed(map.v))
  }

  func place(_ x: Int, _ y: Int) -> (u: Int64, v: Int64) {
    let (x, y) = (Int64(x), Int64(y))
    return (u &+ a &* x &+ c &* y, v &+ b &* x &+ d &* y)
  }
}

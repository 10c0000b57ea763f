import CKernels
import CompositionModel
import Glibc
import RenderTasks

/// Convolves planes with a Gaussian. Beyond its edges a plane continues with its outermost samples.
///
/// A wide Gaussian is applied to a reduced copy: cells of 2^n samples are averaged, convolved with what is left of the
/// Gaussian, and interpolated between. Averaging and interpolating are convolutions too, whose variances, in samples of
/// the copy, add up to 1/4.
final class GaussianBlur {
  /// A standard deviation up to this is not reduced, in samples. From half of it on the copy has all that is left.
  private static let greatestSigma = 6.0
  /// A smaller one has no weight besides the middle.
  private static let leastSigma = 0.2

  private var planes: [SampleStorage] = []
  private var counts: [Int] = []

  /// A larger one has the same effect: it is more than the side of any picture.
  private static let limit = 24576.0

  /// Blurs a picture and its coverage.
  /// - Parameter sigmaX: The standard deviation across in luma samples, and `sigmaY` that down.
  func apply(sigmaX: Double, sigmaY: Double, to work: FilterPicture) throws(RenderError) {
    let cell = work.planes.cell
    for plane in BlendPicture.Plane.allCases {
      if work.isOpaque, plane == .coverage || plane == .chromaCoverage { continue }
      try apply(
        work.planes.plane(plane), size: work.planes.rect(of: plane).size,
        sigmaX: plane.isChroma ? sigmaX / Double(cell.width) : sigmaX,
        sigmaY: plane.isChroma ? sigmaY / Double(cell.height) : sigmaY)
    }
  }

  /// Blurs a plane without padding.
  func apply(
    _ plane: UnsafeMutablePointer<UInt16>, size: PixelSize, sigmaX: Double, sigmaY: Double
  ) throws(RenderError) {
    let (across, down) = (Weights(sigmaX), Weights(sigmaY))
    if across.values.isEmpty && down.values.isEmpty { return }
    let reduced = PixelSize(width: across.reduced(size.width), height: down.reduced(size.height))
    let (stride, reducedStride) = (size.width * 2, reduced.width * 2)
    let (width, height) = (Int32(reduced.width), Int32(reduced.height))
    let line = try storage(2, count: max(reduced.width, size.width) + 2 * Int(SHEAF_LARGEST_RADIUS) + 64)
    let isReduced = across.shift + down.shift > 0
    var from = plane
    if isReduced {
      from = try storage(0, count: reduced.width * reduced.height)
      sheaf_reduce(
        from, reducedStride, plane, stride, Int32(size.width), Int32(size.height), Int32(across.shift),
        Int32(down.shift))
    }
    let other = try storage(1, count: reduced.width * reduced.height)
    if across.values.isEmpty {
      other.update(from: from, count: reduced.width * reduced.height)
    } else {
      sheaf_convolve_rows(
        FilterKernels.best, other, reducedStride, from, reducedStride, width, height, across.values,
        Int32(across.radius), line)
    }
    if down.values.isEmpty {
      from.update(from: other, count: reduced.width * reduced.height)
    } else {
      sheaf_convolve_columns(
        FilterKernels.best, from, reducedStride, other, reducedStride, width, height, down.values, Int32(down.radius))
    }
    guard isReduced else { return }
    sheaf_enlarge(
      FilterKernels.best, plane, stride, from, reducedStride, Int32(size.width), Int32(size.height),
      Int32(across.shift), Int32(down.shift), line)
  }

  /// Memory that is used again.
  private func storage(_ index: Int, count: Int) throws(RenderError) -> UnsafeMutablePointer<UInt16> {
    while planes.count <= index {
      planes.append(try SampleStorage(count: 1))
      counts.append(1)
    }
    if counts[index] < count {
      planes[index] = try SampleStorage(count: count)
      counts[index] = count
    }
    return planes[index].base
  }

  /// How one direction is convolved.
  private struct Weights {
    /// The copy is smaller by 2^shift.
    let shift: Int
    /// In 1/32768, which they add up to. Empty: the plane is left as it is.
    let values: [Int16]

    var radius: Int { values.count / 2 }

    init(_ wanted: Double) {
      let sigma = min(wanted, GaussianBlur.limit)
      var shift = 0
      while sigma / Double(1 << shift) > GaussianBlur.greatestSigma { shift += 1 }
      let scaled = sigma / Double(1 << shift)
      self.shift = shift
      let rest = shift == 0 ? scaled : (scaled * scaled - 0.25).squareRoot()
      guard sigma >= GaussianBlur.leastSigma else {
        values = []
        return
      }
      let radius = min(Int(SHEAF_LARGEST_RADIUS), Int((3.5 * rest).rounded(.up)))
      let side = (1...radius).map { exp(-Double($0 * $0) / (2 * rest * rest)) }
      let total = 1 + 2 * side.reduce(0, +)
      let rounded = side.map { Int16(($0 / total * 32768).rounded()) }
      let middle = 32768 - 2 * rounded.reduce(0) { $0 + Int($1) }
      values = rounded.reversed() + [Int16(min(middle, Int(Int16.max)))] + rounded
    }

    /// The samples of the copy along a side.
    func reduced(_ length: Int) -> Int {
      shift == 0 ? length : (length + (1 << shift) - 1) >> shift + 2
    }
  }
}

import CMedia
import CompositionModel
import Segmenter

/// Makes the colours of a picture transparent that are near to one in Cb and Cr. The coverage is found for each chroma
/// sample and interpolated between them for luma, so that edges are no steps.
struct ChromaKey {
  private let key: sheaf_key

  /// - Parameters:
  ///   - cb: The code of the colour's Cb, and `cr` that of its Cr.
  ///   - similarity: Distances are in parts of the range of Cb, whose distance is `scale`.
  init(cb: Int, cr: Int, depth: Int, similarity: Double, blend: Double, spill: Double, scale: Double) {
    let unit = scale * Double(Weight.one)
    let code = Double(1 << (14 - depth))
    key = sheaf_key(
      cb: Double(cb) * code, cr: Double(cr) * code, inner: similarity * unit, outer: (similarity + blend) * unit,
      spill: spill)
  }

  func apply(to work: inout FilterPicture) throws(RenderError) {
    let (planes, cell) = (work.planes, work.planes.cell)
    let (size, chroma) = (work.size, work.chromaSize)
    if !work.isOpaque { makeStraight(planes) }
    // A border in each direction that is subsampled, as `sheaf_enlarge` takes it.
    let (borderX, borderY) = (cell.horizontalShift > 0 ? 1 : 0, cell.verticalShift > 0 ? 1 : 0)
    let (width, height) = (chroma.width + 2 * borderX, chroma.height + 2 * borderY)
    let found = try SampleStorage(count: width * height)
    sheaf_filter_key(work.kernelPicture, key, found.base + borderY * width + borderX, width * 2)
    if borderX > 0 {
      for row in borderY..<(borderY + chroma.height) {
        found.base[row * width] = found.base[row * width + 1]
        found.base[row * width + width - 1] = found.base[row * width + width - 2]
      }
    }
    if borderY > 0 {
      found.base.update(from: found.base + width, count: width)
      (found.base + (height - 1) * width).update(from: found.base + (height - 2) * width, count: width)
    }
    let line = try SampleStorage(count: width + 64)
    let keyed = try SampleStorage(count: size.width * size.height)
    let stride = planes.strideInBytes(.coverage)
    sheaf_enlarge(
      FilterKernels.best, keyed.base, stride, found.base, width * 2, Int32(size.width), Int32(size.height),
      Int32(cell.horizontalShift), Int32(cell.verticalShift), line.base)
    // Of an opaque picture the coverage is one, and so this is what was found.
    multiply(planes, .coverage, by: keyed.base)
    sheaf_average16(
      planes.plane(.chromaCoverage), planes.strideInBytes(.chromaCoverage), planes.plane(.coverage), stride,
      Int32(size.width), Int32(size.height), Int32(cell.horizontalShift), Int32(cell.verticalShift))
    multiply(planes, .luma, by: planes.plane(.coverage))
    multiply(planes, .cb, by: planes.plane(.chromaCoverage))
    multiply(planes, .cr, by: planes.plane(.chromaCoverage))
    work = FilterPicture(planes: planes, isOpaque: false)
  }

  /// Divides the colours by the coverage.
  private func makeStraight(_ planes: BlendPicture) {
    let one = [UInt16](repeating: UInt16(Weight.one), count: planes.rect.size.width)
    for plane in [BlendPicture.Plane.luma, .cb, .cr] {
      let coverage = plane.isChroma ? BlendPicture.Plane.chromaCoverage : .coverage
      let (size, stride) = (planes.rect(of: plane).size, planes.strideInBytes(plane))
      sheaf_filter_rescale(
        planes.plane(plane), stride, planes.plane(plane), stride, planes.plane(coverage), stride, one, 0,
        Int32(size.width), Int32(size.height))
    }
  }

  private func multiply(_ planes: BlendPicture, _ plane: BlendPicture.Plane, by factor: UnsafePointer<UInt16>) {
    let (size, stride) = (planes.rect(of: plane).size, planes.strideInBytes(plane))
    sheaf_filter_fade(
      FilterKernels.best, planes.plane(plane), stride, factor, stride, factor, stride, Int32(size.width),
      Int32(size.height), 0)
  }
}

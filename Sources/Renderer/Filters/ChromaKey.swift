import CKernels
import CompositionModel
import RenderTasks

/// Makes the colours of a picture transparent that are near to one in Cb and Cr. The coverage is found for each pixel
/// (`sheaf_filter_key`), and that of a chroma sample is the weighted mean around its place.
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

  /// - Parameter site: Where the picture's chroma lies.
  func apply(to work: inout FilterPicture, site: ChromaSite) throws(RenderError) {
    let (planes, size) = (work.planes, work.size)
    let cell = ChromaCell(
      horizontalShift: planes.cell.horizontalShift, verticalShift: planes.cell.verticalShift, site: site)
    let subsampling = cell.subsampling(repeatsLeft: true, repeatsTop: true)
    let keyed = try SampleStorage(count: size.width * size.height)
    let stride = planes.strideInBytes(.coverage)
    let count = sheaf_filter_key_scratch(Int32(size.width))
    try SampleStorage.withFloats(count) {
      sheaf_filter_key(work.kernelPicture, key, subsampling, work.isOpaque ? 1 : 0, keyed.base, stride, $0)
    }
    if !work.isOpaque { makeStraight(planes) }
    sheaf_filter_spill(work.kernelPicture, key)
    // Of an opaque picture the coverage is one, and so this is what was found.
    multiply(planes, .coverage, by: keyed.base)
    sheaf_subsample16(
      planes.plane(.chromaCoverage), planes.strideInBytes(.chromaCoverage), planes.plane(.coverage), stride,
      Int32(size.width), Int32(size.height), subsampling)
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

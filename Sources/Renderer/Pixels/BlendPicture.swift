import CKernels
import CompositionModel
import RenderTasks

/// A picture with coverage, in the composition's luma and chroma, that can be drawn over any number of frames: the
/// blend planes that `sheaf_kernels.h` describes.
///
/// It consists of whole chroma cells of the frame. If the picture itself starts or ends within a cell, the rest of the
/// cell is transparent. The coverage of a chroma sample is that of the pixels around it (`sheaf_subsample16`). So a
/// picture may be at odd pixels, and its luma is exact there.
final class BlendPicture {
  /// In pixels of the frame; whole chroma cells.
  let rect: PixelRect
  let cell: ChromaCell
  private let samples: SampleStorage

  /// A transparent picture. `rect` starts on a chroma cell and ends on one or at the frame's edge.
  init(rect: PixelRect, cell: ChromaCell) throws(RenderError) {
    self.rect = rect
    self.cell = cell
    let (luma, chroma) = (rect.size, cell.chroma(PixelRect(rect.size)).size)
    samples = try SampleStorage(count: 2 * luma.width * luma.height + 3 * chroma.width * chroma.height)
  }

  /// Converts a picture that has the size of `rect`, which is all that it changes (`ChromaCell.reached`).
  convenience init(
    _ picture: RGBAPicture, rect: PixelRect, cell: ChromaCell, matrix: YCbCrMatrix
  ) throws(RenderError) {
    try self.init(rect: rect, cell: cell)
    let (width, height) = (Int32(rect.size.width), Int32(rect.size.height))
    let isSubsampled = cell.width * cell.height > 1
    // Chroma at full resolution.
    let full = isSubsampled ? try SampleStorage(count: 2 * rect.size.width * rect.size.height) : nil
    let fullPlanes = full.map { ($0.base, $0.base + rect.size.width * rect.size.height) }
    let stride = rect.size.width * 2
    var planes: [UnsafeMutablePointer<UInt16>?] = [
      plane(.luma), fullPlanes?.0 ?? plane(.cb), fullPlanes?.1 ?? plane(.cr), plane(.coverage),
    ]
    var rows = matrix.blendRows
    sheaf_blend_from_rgba(&planes, stride, picture.planes(), width, height, &rows)
    if let (cb, cr) = fullPlanes {
      subsample(cb, into: .cb)
      subsample(cr, into: .cr)
    }
    subsample(plane(.coverage), into: .chromaCoverage)
  }

  /// Makes a chroma plane from samples of all pixels of the picture. Those beyond it are zero; beyond the frame's edges
  /// they are repeated.
  func subsample(_ samples: UnsafePointer<UInt16>, into plane: Plane) {
    sheaf_subsample16(
      self.plane(plane), strideInBytes(plane), samples, rect.size.width * 2, Int32(rect.size.width),
      Int32(rect.size.height), cell.subsampling(repeatsLeft: rect.x == 0, repeatsTop: rect.y == 0))
  }

  enum Plane: Int, CaseIterable {
    case luma, coverage, cb, cr, chromaCoverage

    var isChroma: Bool { rawValue >= Plane.cb.rawValue }
  }

  /// In pixels of the frame, or of its chroma planes for a chroma plane.
  func rect(of plane: Plane) -> PixelRect { plane.isChroma ? cell.chroma(rect) : rect }

  func strideInBytes(_ plane: Plane) -> Int { rect(of: plane).size.width * 2 }

  func plane(_ plane: Plane) -> UnsafeMutablePointer<UInt16> {
    let luma = rect.size.width * rect.size.height
    let chroma = cell.chroma(rect).size
    let count = chroma.width * chroma.height
    switch plane {
    case .luma: return samples.base
    case .coverage: return samples.base + luma
    case .cb: return samples.base + 2 * luma
    case .cr: return samples.base + 2 * luma + count
    case .chromaCoverage: return samples.base + 2 * luma + 2 * count
    }
  }

  /// Sets the coverage to one everywhere.
  func coverAll() {
    for covered in [Plane.coverage, .chromaCoverage] {
      let size = rect(of: covered).size
      Kernels.best.fill16(
        plane(covered), strideInBytes(covered), Int32(size.width), Int32(size.height), Int32(Weight.one))
    }
  }

  /// The weighted sum of two pictures, of colour and of coverage. The weights sum up to one at most. Outside one of the
  /// pictures the sum is the other's share.
  static func sum(
    _ a: BlendPicture, weight weightA: Int, _ b: BlendPicture, weight weightB: Int
  ) throws(RenderError) -> BlendPicture {
    let rect = PixelRect(
      x: min(a.rect.x, b.rect.x)..<max(a.rect.columns.upperBound, b.rect.columns.upperBound),
      y: min(a.rect.y, b.rect.y)..<max(a.rect.rows.upperBound, b.rect.rows.upperBound))
    let sum = try BlendPicture(rect: rect, cell: a.cell)
    for plane in Plane.allCases {
      // The sum starts at zero, so adding each to its own part is right where they overlap and where they do not.
      for (picture, weight) in [(a, weightA), (b, weightB)] {
        let part = picture.rect(of: plane)
        let whole = sum.rect(of: plane)
        let to = sum.plane(plane) + (part.y - whole.y) * whole.size.width + (part.x - whole.x)
        Kernels.best.mix16(
          to, sum.strideInBytes(plane), picture.plane(plane), picture.strideInBytes(plane), to,
          sum.strideInBytes(plane), Int32(part.size.width), Int32(part.size.height), Int32(weight), Int32(Weight.one))
      }
    }
    return sum
  }
}

extension ChromaCell {
  /// How its chroma sample is made from samples of its pixels.
  func subsampling(repeatsLeft: Bool, repeatsTop: Bool) -> sheaf_subsampling {
    sheaf_subsampling(
      shift_x: Int32(horizontalShift), shift_y: Int32(verticalShift), place_x: site.across.kernelPlace,
      place_y: site.down.kernelPlace, repeats_left: repeatsLeft ? 1 : 0, repeats_top: repeatsTop ? 1 : 0)
  }

  /// The rows of pixels that a chroma sample is made from, counted from the first of its cell.
  var rowsOfSample: Range<Int> {
    switch site.down {
    case _ where verticalShift == 0: 0..<1
    case .first: -1..<2
    case .middle: 0..<2
    case .last: 0..<3
    }
  }
}

extension ChromaSite.Place {
  var kernelPlace: sheaf_place {
    switch self {
    case .first: SHEAF_FIRST
    case .middle: SHEAF_MIDDLE
    case .last: SHEAF_LAST
    }
  }
}

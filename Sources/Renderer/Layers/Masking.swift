import CKernels
import CompositionModel
import RenderTasks

/// The coverage that a mask gives, in 1/16384.
final class MaskPlane {
  let size: PixelSize
  fileprivate let samples: SampleStorage

  init(
    _ picture: RGBAPicture, _ channel: LayerMask.Channel, isInverted: Bool, _ matrix: YCbCrMatrix
  ) throws(RenderError) {
    size = picture.size
    samples = try SampleStorage(count: size.width * size.height)
    let space = matrix.codeSpace
    var (red, green, blue, alpha): (Float, Float, Float, Float)
    switch channel {
    case .alpha: (red, green, blue, alpha) = (0, 0, 0, 1)
    case .luma: (red, green, blue, alpha) = (space.red, space.green, space.blue, 0)
    }
    var weights = (red, green, blue, alpha)
    withUnsafeBytes(of: &weights) {
      sheaf_mask_plane(
        samples.base, picture.planes(), Int32(size.width), Int32(size.height),
        $0.assumingMemoryBound(to: Float.self).baseAddress, isInverted ? 1 : 0)
    }
  }
}

extension PicturePlacer {
  /// A picture with its coverage multiplied by a mask in its place.
  func masked(_ picture: BlendPicture, by mask: MaskPlane, _ placement: Placement) throws(RenderError) -> BlendPicture {
    guard let coverage = try coverage(of: mask, placement, in: picture.rect) else {
      return try BlendPicture(rect: picture.rect, cell: cell)
    }
    return try picture.multiplied(by: coverage, cell)
  }

  /// The coverage of a mask in a rectangle of the film. Nil if the mask has no area there.
  private func coverage(
    of mask: MaskPlane, _ placement: Placement, in rect: PixelRect
  ) throws(RenderError) -> SampleStorage? {
    guard let back = placement.matrix.inverse else { return nil }
    let coverage = try SampleStorage(count: rect.size.width * rect.size.height)
    func plane(_ base: UnsafeMutablePointer<UInt16>, _ size: PixelSize) -> SamplePlane {
      SamplePlane(
        base: UnsafeMutableRawPointer(base), stride: size.width * 2, width: size.width, height: size.height, depth: 14,
        highest: Weight.one)
    }
    let (x, y) = back.map(x: Double(rect.x) + 0.5, y: Double(rect.y) + 0.5)
    let whole = sheaf_span(
      start: 0, inner_start: 0, inner_end: Int32(rect.size.width), end: Int32(rect.size.width))
    sampler.sample(
      plane(mask.samples.base, mask.size),
      PlaneMap(a: back.a, b: back.b, c: back.c, d: back.d, u: x - 0.5, v: y - 0.5),
      into: plane(coverage.base, rect.size), spans: Array(repeating: whole, count: rect.size.height))
    return coverage
  }
}

extension BlendPicture {
  /// The picture with its coverage multiplied by that of each pixel of `rect`, in 1/16384.
  /// - Parameter cell: With the place of the film's chroma.
  func multiplied(by factors: SampleStorage, _ cell: ChromaCell) throws(RenderError) -> BlendPicture {
    let multiplied = try BlendPicture(rect: rect, cell: cell)
    let (width, height) = (rect.size.width, rect.size.height)
    let chroma = rect(of: .cb).size
    let ofChroma = try SampleStorage(count: chroma.width * chroma.height)
    sheaf_subsample16(
      ofChroma.base, chroma.width * 2, factors.base, width * 2, Int32(width), Int32(height),
      cell.subsampling(repeatsLeft: true, repeatsTop: true))
    for plane in Plane.allCases {
      let size = rect(of: plane).size
      sheaf_multiply16(
        multiplied.plane(plane), self.plane(plane), plane.isChroma ? ofChroma.base : factors.base,
        size.width * size.height)
    }
    return multiplied
  }
}

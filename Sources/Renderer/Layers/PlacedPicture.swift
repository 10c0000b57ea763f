import CKernels
import CompositionModel
import Media
import RenderTasks

/// Draws pictures of one source in their places: anywhere between the film's pixels, at any size and angle.
final class PicturePlacer {
  private let format: VideoTaskFormat
  /// The block of the film's luma samples that share one chroma sample.
  let cell: ChromaCell
  let sampler = PlaneSampler()

  init(_ format: VideoTaskFormat) {
    self.format = format
    cell = format.cell
  }

  /// One plane of the film: how many pixels its samples are apart, and where in its cell a sample lies.
  private struct Grid {
    let across: Int
    let down: Int
    let siteX: Double
    let siteY: Double

    /// The samples in a number of pixels.
    func columns(_ pixels: Int) -> Int { (pixels + across - 1) / across }
    func rows(_ pixels: Int) -> Int { (pixels + down - 1) / down }

    static let luma = Grid(across: 1, down: 1, siteX: 0.5, siteY: 0.5)

    static func chroma(_ cell: ChromaCell, _ site: ChromaSite) -> Grid {
      Grid(
        across: cell.width, down: cell.height, siteX: site.across.distance(in: cell.width),
        siteY: site.down.distance(in: cell.height))
    }
  }

  /// The part of the film that a placement touches, in pixels. Nil if it is outside the frame.
  private func touched(_ corners: [(x: Double, y: Double)]) -> PixelRect? {
    func range(_ places: [Double], _ side: Int) -> Range<Int>? {
      guard let least = places.min(), let most = places.max(), least < Double(side), most > 0 else { return nil }
      let start = Int(max(0, least).rounded(.down))
      return start..<max(start + 1, Int(min(Double(side), most).rounded(.up)))
    }
    guard let x = range(corners.map(\.x), format.size.width), let y = range(corners.map(\.y), format.size.height)
    else { return nil }
    return PixelRect(x: x, y: y)
  }

  static func corners(_ placement: Placement) -> [(x: Double, y: Double)] {
    // What products of fractions leave behind whole pixels has no meaning.
    placement.corners.map { (($0.x * 65536).rounded() / 65536, ($0.y * 65536).rounded() / 65536) }
  }

  /// An upright frame in the composition's format in its place. Nil if it is outside the film's frame.
  /// - Parameters:
  ///   - site: Where the frame's chroma lies.
  ///   - stored: from pixels of the frame to square pixels of the upright picture.
  func picture(
    _ frame: Frame, _ site: ChromaSite, _ stored: AffineMatrix, _ placement: Placement
  ) throws(RenderError) -> LayerPicture? {
    let toFilm = stored.then(placement.matrix)
    let corners = Self.corners(placement)
    guard let touched = touched(corners), let back = toFilm.inverse, back.isUsable else { return nil }
    let cells = cell.enclosing(touched, in: format.size)
    // A picture of whole cells has their chroma for itself. If its edges had a part of it only, what is below would
    // show between two pictures that adjoin.
    let coversCells = shape(corners, cells).isFull
    if coversCells, toFilm.isWhole(cell) {
      return .opaque(frame: frame, x: cells.x - Int(toFilm.tx), y: cells.y - Int(toFilm.ty), rect: cells)
    }
    let rect = coversCells ? cells : cell.reached(by: touched, in: format.size)
    let luma = shape(corners, rect)
    let chroma = coversCells ? Shape(full: cell.chroma(rect).size) : chroma(luma, in: rect)
    let chromaGrid = Grid.chroma(cell, cell.site)
    let ofChroma = Grid.chroma(cell, site)
    let target = try mapErrors(to: RenderError.during("placing a picture")) { () throws(MediaError) in
      try Frame(size: rect.size, format: frame.format, colour: format.colour)
    }
    let used = placement.sampled.used(stored, in: frame.size)
    try frame.withPlanes { from throws(RenderError) in
      try target.withMutablePlanes { to in
        for (source, target, own, grid, shape) in [
          (from.luma, to.luma, Grid.luma, Grid.luma, luma), (from.cb, to.cb, ofChroma, chromaGrid, chroma),
          (from.cr, to.cr, ofChroma, chromaGrid, chroma),
        ] {
          let depth = format.pixelFormat.bitDepth
          func plane(_ plane: Plane, _ size: PixelSize) -> SamplePlane {
            SamplePlane(
              base: plane.base, stride: plane.stride, width: grid.columns(size.width), height: grid.rows(size.height),
              depth: depth, highest: 1 << depth - 1)
          }
          sample(
            plane(source, frame.size), own, plane(target, rect.size), grid, back, used, rect, spans: shape.spans)
        }
      }
    }
    if coversCells { return .opaque(frame: target, x: 0, y: 0, rect: rect) }
    return .shaped(ShapedPicture(target, rect: rect, luma: luma, chroma: chroma))
  }

  /// A whole upright picture with alpha in its place. Nil if it is outside the film's frame.
  /// - Parameters:
  ///   - whole: all of the picture, at the origin.
  ///   - stored: from its pixels to square pixels of the upright picture.
  func picture(
    _ whole: BlendPicture, _ stored: AffineMatrix, _ placement: Placement
  ) throws(RenderError) -> LayerPicture? {
    let corners = Self.corners(placement)
    guard let touched = touched(corners), let back = stored.then(placement.matrix).inverse, back.isUsable else {
      return nil
    }
    let isSubsampled = whole.cell.width * whole.cell.height > 1
    let rect = cell.reached(by: touched, in: format.size)
    let luma = shape(corners, rect)
    let used = placement.sampled.used(stored, in: whole.rect.size)
    let chromaGrid = isSubsampled ? Grid.chroma(cell, cell.site) : .luma
    let chroma = isSubsampled ? chroma(luma, in: rect) : luma
    let placed = try BlendPicture(rect: rect, cell: whole.cell)
    for plane in [BlendPicture.Plane.coverage, .chromaCoverage, .luma, .cb, .cr] {
      // Without subsampling there is one coverage for both.
      if plane == .chromaCoverage, !isSubsampled { continue }
      func samples(_ picture: BlendPicture) -> SamplePlane {
        let size = picture.rect(of: plane).size
        return SamplePlane(
          base: UnsafeMutableRawPointer(picture.plane(plane)), stride: picture.strideInBytes(plane),
          width: size.width, height: size.height, depth: 14, highest: Weight.one)
      }
      let (grid, shape) = plane.isChroma ? (chromaGrid, chroma) : (.luma, luma)
      let size = placed.rect(of: plane).size
      sample(samples(whole), grid, samples(placed), grid, back, used, rect, spans: shape.spans)
      sheaf_cut_shape(
        placed.plane(plane), placed.strideInBytes(plane), Int32(size.width), Int32(size.height), shape.spans,
        shape.edges)
      if plane != .coverage, plane != .chromaCoverage {
        let coverage = plane.isChroma && isSubsampled ? BlendPicture.Plane.chromaCoverage : .coverage
        sheaf_limit_colour(placed.plane(plane), placed.plane(coverage), size.width * size.height)
      }
    }
    return .blend(isSubsampled ? placed : try placed.subsampled(cell))
  }

  private func shape(_ corners: [(x: Double, y: Double)], _ rect: PixelRect) -> Shape {
    Shape(corners.map { ($0.x - Double(rect.x), $0.y - Double(rect.y)) }, in: rect.size)
  }

  private func chroma(_ luma: Shape, in rect: PixelRect) -> Shape {
    cell.width * cell.height == 1 ? luma : Shape(chromaOf: luma, cell, in: rect)
  }

  /// - Parameters:
  ///   - own: The grid of the source, whose samples are as many pixels apart as those of the target.
  ///   - back: From pixels of the film to those of the source.
  private func sample(
    _ source: SamplePlane, _ own: Grid, _ target: SamplePlane, _ grid: Grid, _ back: AffineMatrix, _ used: PixelRect,
    _ rect: PixelRect, spans: [sheaf_span]
  ) {
    let (across, down) = (Double(grid.across), Double(grid.down))
    // The first sample of the target in the film, and from there in the source.
    let (x, y) = back.map(x: Double(rect.x) + grid.siteX, y: Double(rect.y) + grid.siteY)
    let map = PlaneMap(
      a: back.a, b: back.b * across / down, c: back.c * down / across, d: back.d, u: (x - own.siteX) / across,
      v: (y - own.siteY) / down)
    let columns = (used.x / grid.across)..<min(source.width, grid.columns(used.columns.upperBound))
    let rows = (used.y / grid.down)..<min(source.height, grid.rows(used.rows.upperBound))
    sampler.sample(
      source.part(x: columns, y: rows), map.from(x: columns.lowerBound, y: rows.lowerBound), into: target,
      spans: spans)
  }
}

extension AffineMatrix {
  /// Whether pixels are moved by whole chroma cells and nothing else.
  fileprivate func isWhole(_ cell: ChromaCell) -> Bool {
    func isWhole(_ distance: Double, _ side: Int) -> Bool { distance.remainder(dividingBy: Double(side)) == 0 }
    return a == 1 && b == 0 && c == 0 && d == 1 && isWhole(tx, cell.width) && isWhole(ty, cell.height)
  }

  /// Whether neighbouring pixels of the film are near enough in the picture. Those of a sliver are not, and it is not
  /// seen.
  fileprivate var isUsable: Bool {
    [a, b, c, d].allSatisfy { abs($0) <= 65536 }
  }
}

extension Placement {
  /// The part whose samples are used.
  fileprivate var sampled: Rectangle { isOverBlur ? visible : crop }
}

extension Rectangle {
  /// The pixels of a picture that a crop touches.
  /// - Parameter stored: from those to square pixels.
  func used(_ stored: AffineMatrix, in size: PixelSize) -> PixelRect {
    func range(_ start: Double, _ length: Double, _ scale: Double, _ side: Int) -> Range<Int> {
      let first = min(side - 1, max(0, Int((start / scale).rounded(.down))))
      return first..<max(first + 1, min(side, Int(((start + length) / scale).rounded(.up))))
    }
    return PixelRect(
      x: range(x - stored.tx, width, stored.a, size.width), y: range(y - stored.ty, height, stored.d, size.height))
  }
}

extension BlendPicture {
  /// A picture without subsampling as the film stores it.
  fileprivate func subsampled(_ cell: ChromaCell) throws(RenderError) -> BlendPicture {
    let picture = try BlendPicture(rect: rect, cell: cell)
    for plane in [Plane.luma, .coverage] {
      picture.plane(plane).update(from: self.plane(plane), count: rect.size.width * rect.size.height)
    }
    for (from, to) in [(Plane.cb, Plane.cb), (.cr, .cr), (.coverage, .chromaCoverage)] {
      picture.subsample(self.plane(from), into: to)
    }
    return picture
  }
}

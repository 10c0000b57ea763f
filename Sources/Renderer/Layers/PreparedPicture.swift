import CompositionModel
import Media
import RenderTasks

/// A source's picture as it is placed: upright, in the composition's format, with the filters of its clip applied.
struct PreparedPicture {
  /// All of an opaque frame, or a picture with coverage.
  let picture: LayerPicture
  /// From its luma samples to square pixels of the upright picture.
  let samples: AffineMatrix
  /// Where the chroma of an opaque frame lies.
  let site: ChromaSite

  /// What a picture is made of. One that moves without changing has the same for all its places.
  struct Key: Equatable {
    var pts: Int64
    var part: PixelRect
    var outer: PixelRect
    var size: PixelSize
    var filters: [Filter<Double>]
    /// Nil if no filter depends on them.
    var lengths: FilterLengths?
  }
}

/// Filters are applied to the cropped picture at its own resolution, before it is placed. Their lengths are in pixels
/// of the film as the picture is fitted. Beyond the crop, enlarged to whole chroma cells, its edges are repeated.
extension SourceFitter {
  /// The most samples of a picture over its blurred copy, unless the film has half as many.
  private static let greatestSheet = 1 << 24

  /// A frame with filters applied, over its blurred copy if its fit has one.
  func prepared(
    _ frame: Frame, _ placement: Placement, _ filters: [Filter<Double>], by chain: FilterChain
  ) throws(RenderError) -> PreparedPicture {
    let (whole, site): (LayerPicture, ChromaSite)
    if hasAlpha {
      (whole, site) = (.blend(try wholeBlend(frame)), cell.site)
    } else {
      let upright = try self.whole(frame)
      (whole, site) = (.whole(upright.frame), upright.site)
    }
    let grid = SampleGrid(whole, pictureSize)
    guard !filters.isEmpty || placement.isOverBlur else {
      return PreparedPicture(picture: whole, samples: grid.matrix, site: site)
    }
    if placement.isOverBlur { return try overBlur(whole, site, frame.pts, placement, filters, by: chain) }
    let isFree = !filters.contains(where: \.dependsOnPlace)
    // A still picture of which different parts are shown is filtered once.
    let part =
      isFree && isStill
      ? PixelRect(grid.size) : grid.cell.enclosing(placement.crop.used(grid.matrix, in: grid.size), in: grid.size)
    let lengths = isFree ? nil : grid.lengths(placement, filters, in: part)
    let key = PreparedPicture.Key(
      pts: frame.pts, part: part, outer: part, size: grid.size, filters: filters, lengths: lengths)
    if let latestPrepared, latestPrepared.key == key { return latestPrepared.prepared }
    let prepared = PreparedPicture(
      picture: try chain.apply(filters, to: whole.part(part), lengths, site: site), samples: grid.matrix(from: part),
      site: site)
    latestPrepared = (key, prepared)
    return prepared
  }

  /// A picture over a copy of itself that is blurred and fills the rectangle of the layer: one opaque picture.
  private func overBlur(
    _ whole: LayerPicture, _ site: ChromaSite, _ pts: Int64, _ placement: Placement, _ filters: [Filter<Double>],
    by chain: FilterChain
  ) throws(RenderError) -> PreparedPicture {
    guard case .opaque(var frame, _, _, _) = whole else {
      throw RenderError(.task, "the fit 'blur' of a picture with alpha")
    }
    var grid = SampleGrid(whole, pictureSize)
    let needed = grid.outer(placement)
    let most = Double(max(Self.greatestSheet, 2 * filmSize.width * filmSize.height))
    let side = Double(PixelSize.largestSide)
    let excess = max(
      Double(needed.size.width) / side, Double(needed.size.height) / side,
      (Double(needed.size.width) * Double(needed.size.height) / most).squareRoot())
    if excess > 1 {
      func smaller(_ side: Int, _ cell: Int) -> Int { max(1, Int(Double(side) / excess) / cell) * cell }
      grid.resize(
        PixelSize(
          width: smaller(grid.size.width, grid.cell.width), height: smaller(grid.size.height, grid.cell.height)))
    }
    let outer = grid.outer(placement)
    let part = grid.cell.enclosing(placement.crop.used(grid.matrix, in: grid.size), in: grid.size)
    let lengths = grid.lengths(placement, filters, in: outer)
    let key = PreparedPicture.Key(
      pts: pts, part: part, outer: outer, size: grid.size, filters: filters, lengths: lengths)
    if let latestPrepared, latestPrepared.key == key { return latestPrepared.prepared }
    if grid.size != frame.size { frame = try scaled(frame, PixelRect(frame.size), to: grid.size) }
    let radius =
      FilterChain.backgroundRadius
      * min(placement.visible.width * placement.fittedX, placement.visible.height * placement.fittedY)
    let back = try chain.apply([.blur(radius: radius)], to: filling(outer.size, with: part, of: frame), lengths)
    // The blurred picture shares its planes with nothing.
    guard case .opaque(let sheet, 0, 0, _) = back else {
      return PreparedPicture(picture: back, samples: grid.matrix, site: site)
    }
    let target = PixelRect(x: part.x - outer.x, y: part.y - outer.y, size: part.size)
    if let inside = target.intersection(PixelRect(outer.size)) {
      try frame.withPlanes { front throws(RenderError) in
        try sheet.withMutablePlanes {
          $0.copy(inside, from: front, x: inside.x + outer.x, y: inside.y + outer.y)
        }
      }
    }
    var picture = back
    if !filters.isEmpty { picture = try chain.apply(filters, to: picture, lengths, site: site) }
    let prepared = PreparedPicture(picture: picture, samples: grid.matrix(from: outer), site: site)
    latestPrepared = (key, prepared)
    return prepared
  }
}

extension SourceFitter {
  /// The middle of a part of a frame, enlarged to a size.
  private func filling(_ size: PixelSize, with part: PixelRect, of frame: Frame) throws(RenderError) -> LayerPicture {
    let (width, height) = (Double(size.width), Double(size.height))
    let scale = max(width / Double(part.size.width), height / Double(part.size.height))
    let middle = Rectangle(
      x: Double(part.x) + (Double(part.size.width) - width / scale) / 2,
      y: Double(part.y) + (Double(part.size.height) - height / scale) / 2, width: width / scale,
      height: height / scale)
    let matrix = AffineMatrix(a: scale, b: 0, c: 0, d: scale, tx: -middle.x * scale, ty: -middle.y * scale)
    let crop = Rectangle(
      x: Double(part.x), y: Double(part.y), width: Double(part.size.width), height: Double(part.size.height))
    let placement = Placement(crop: crop, visible: middle, matrix: matrix, rectangle: .identity)
    if let filled = try placer(size).picture(frame, cell.site, .identity, placement), case .opaque = filled {
      return filled
    }
    throw RenderError(.task, "a picture of \(part.size.width)x\(part.size.height) that does not fill its frame")
  }
}

/// The samples of a whole upright picture.
private struct SampleGrid {
  private(set) var size: PixelSize
  let cell: ChromaCell
  private let picture: PixelSize

  /// - Parameter picture: its size in square pixels.
  init(_ whole: LayerPicture, _ picture: PixelSize) {
    self.picture = picture
    (size, cell) = whole.sampling
  }

  mutating func resize(_ size: PixelSize) { self.size = size }

  /// Square pixels from one sample to the next.
  private var across: Double { Double(picture.width) / Double(size.width) }
  private var down: Double { Double(picture.height) / Double(size.height) }

  var matrix: AffineMatrix { matrix(from: PixelRect(size)) }

  /// From samples of a part to square pixels.
  func matrix(from part: PixelRect) -> AffineMatrix {
    AffineMatrix(a: across, b: 0, c: 0, d: down, tx: Double(part.x) * across, ty: Double(part.y) * down)
  }

  /// The samples of what a placement draws, in whole chroma cells. They may begin before the picture and end after it.
  func outer(_ placement: Placement) -> PixelRect {
    func range(_ start: Double, _ length: Double, _ step: Double, _ cell: Int) -> Range<Int> {
      let cells = step * Double(cell)
      let first = Int((start / cells + 1e-6).rounded(.down))
      return (first * cell)..<(max(first + 1, Int(((start + length) / cells - 1e-6).rounded(.up))) * cell)
    }
    let visible = placement.visible
    return PixelRect(
      x: range(visible.x, visible.width, across, cell.width), y: range(visible.y, visible.height, down, cell.height))
  }

  /// The lengths of filters in a part.
  func lengths(_ placement: Placement, _ filters: [Filter<Double>], in part: PixelRect) -> FilterLengths {
    var lengths = FilterLengths(part.size)
    (lengths.across, lengths.down) = (placement.fittedX * across, placement.fittedY * down)
    guard filters.contains(where: { $0.kind == .vignette }) else { return lengths }
    let visible = placement.visible
    lengths.seen = Rectangle(
      x: visible.x / across - Double(part.x), y: visible.y / down - Double(part.y), width: visible.width / across,
      height: visible.height / down)
    return lengths
  }
}

extension LayerPicture {
  /// The size and the chroma cell of a whole picture.
  fileprivate var sampling: (PixelSize, ChromaCell) {
    switch self {
    case .opaque(let frame, _, _, let rect):
      let shift = frame.format.chromaShift
      return (rect.size, ChromaCell(horizontalShift: shift.horizontal, verticalShift: shift.vertical))
    case .blend(let picture): return (picture.rect.size, picture.cell)
    case .shaped(let picture): return (picture.rect.size, ChromaCell(horizontalShift: 0, verticalShift: 0))
    }
  }

  /// A part of a whole picture, as a picture at the origin.
  fileprivate func part(_ part: PixelRect) throws(RenderError) -> LayerPicture {
    switch self {
    case .opaque(let frame, let x, let y, _):
      return .opaque(frame: frame, x: x + part.x, y: y + part.y, rect: PixelRect(part.size))
    case .blend(let picture): return .blend(try picture.part(part))
    case .shaped: return .blend(try blendPicture.part(part))
    }
  }
}

extension BlendPicture {
  /// The part of a picture at the origin that starts at a chroma cell, as a picture at the origin.
  fileprivate func part(_ part: PixelRect) throws(RenderError) -> BlendPicture {
    if part == rect { return self }
    let cut = try BlendPicture(rect: PixelRect(part.size), cell: cell)
    for plane in Plane.allCases {
      let (from, to) = (plane.isChroma ? cell.chroma(part) : part, cut.rect(of: plane))
      let stride = rect(of: plane).size.width
      for row in 0..<to.size.height {
        (cut.plane(plane) + row * to.size.width).update(
          from: self.plane(plane) + (from.y + row) * stride + from.x, count: to.size.width)
      }
    }
    return cut
  }
}

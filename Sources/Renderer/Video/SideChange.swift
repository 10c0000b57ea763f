import CompositionModel
import Media
import RenderTasks

/// How a transition changes one of its pictures before both are mixed.
enum SideChange: Equatable {
  case filter(Filter<Double>)
  /// From pixels of the frame to where they are drawn.
  case place(AffineMatrix)

  /// The changes at a progress between 0 and 1. Nil for a picture that stays as it is.
  static func of(
    _ kind: TransitionKind, progress: Double, size: PixelSize
  ) -> (from: SideChange?, to: SideChange?) {
    // 0 at both ends and 1 in the middle, of the frame's shorter side.
    let middle = (1 - abs(2 * progress - 1)) * Double(min(size.width, size.height))
    func both(_ filter: Filter<Double>) -> (SideChange?, SideChange?) {
      filter.changesNothing ? (nil, nil) : (.filter(filter), .filter(filter))
    }
    switch kind {
    case .blur(let amount): return both(.blur(radius: amount * middle))
    case .pixelate(let amount): return both(.pixelate(size: max(1, amount * middle)))
    case .zoom:
      let from = turned(scale: 1 + progress, size)
      return (.place(from), .place(place(ofB: kind, progress: progress, size: size)))
    case .spin: return (nil, .place(place(ofB: kind, progress: progress, size: size)))
    case .dissolve, .fade, .wipe, .slide, .push, .circle, .clock, .iris, .luma, .custom: return (nil, nil)
    }
  }

  /// Where B is drawn in a zoom or a spin.
  static func place(ofB kind: TransitionKind, progress: Double, size: PixelSize) -> AffineMatrix {
    kind == .spin
      ? turned(scale: progress, degrees: 360 * (progress - 1), size) : turned(scale: (1 + progress) / 2, size)
  }

  /// About the centre of the frame, clockwise.
  private static func turned(scale: Double, degrees: Double = 0, _ size: PixelSize) -> AffineMatrix {
    TransformComponents(rotation: degrees, scaleX: scale, scaleY: scale).matrix(in: Rectangle(size))
  }
}

extension AffineMatrix {
  /// The corners of a rectangle that is mapped, in order around it.
  func corners(of rectangle: Rectangle) -> [(x: Double, y: Double)] {
    let placement = Placement(crop: rectangle, visible: rectangle, matrix: self, rectangle: .identity)
    return PicturePlacer.corners(placement)
  }
}

/// Changes the pictures of transitions.
struct SideChanger {
  private let format: VideoTaskFormat
  private let filters: FilterChain
  private let placer: PicturePlacer

  /// How far beyond its frame a picture's edges are repeated, in pixels of the film: as far as the edge of the matte
  /// between both pictures reaches in chroma.
  private static let surround = 4.0

  init(_ format: VideoTaskFormat, _ filters: FilterChain) {
    self.format = format
    self.filters = filters
    placer = PicturePlacer(format)
  }

  /// The picture of the whole frame, changed. Nil if nothing of it is seen.
  func changed(
    _ side: Compositor.Weighted, by change: SideChange
  ) throws(RenderError) -> Compositor.Weighted? {
    let picture: LayerPicture?
    switch (change, side.picture) {
    case (.filter(let filter), .opaque(_, _, _, PixelRect(format.size))):
      picture = try filters.apply([filter], to: side.picture)
    case (.filter(let filter), _):
      picture = try filters.apply([filter], to: .blend(side.picture.blendPicture.sheet(format.size)))
    case (.place(let matrix), .opaque(let frame, let x, let y, PixelRect(format.size))):
      let stored = AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: -Double(x), ty: -Double(y))
      picture = try placer.picture(frame, format.cell.site, stored, placement(matrix))
    case (.place(let matrix), _):
      picture = try placer.picture(side.picture.blendPicture.sheet(format.size), .identity, placement(matrix))
    }
    return picture.map { Compositor.Weighted(picture: $0, weight: side.weight, blendMode: side.blendMode) }
  }

  private func placement(_ matrix: AffineMatrix) -> Placement {
    let whole = Rectangle(format.size)
    let scale = (matrix.a * matrix.a + matrix.b * matrix.b).squareRoot()
    let surround = Self.surround / scale
    let visible = Rectangle(
      x: -surround, y: -surround, width: whole.width + 2 * surround, height: whole.height + 2 * surround)
    return Placement(crop: whole, visible: visible, matrix: matrix, rectangle: .identity)
  }
}

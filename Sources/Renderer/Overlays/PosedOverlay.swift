import CompositionModel
import Media
import RenderTasks

/// Overlays that are cropped, filtered or transformed in their place: their pictures are drawn from their own pixels.
enum PosedOverlay {
  /// A picture of an overlay's source. Nil if nothing of it is in the frame.
  static func picture(
    _ frame: Frame, _ fitter: SourceFitter, width: Int?, height: Int?, _ placement: OverlayPlacement,
    _ pose: OverlayPose, by chain: FilterChain
  ) throws(RenderError) -> LayerPicture? {
    let own = fitter.pictureSize
    let size = own.overlaySize(width: width, height: height)
    let origin = placement.origin(of: size, in: fitter.filmSize)
    let rectangle = Rectangle(
      x: Double(origin.x), y: Double(origin.y), width: Double(size.width), height: Double(size.height))
    let (across, down) = (rectangle.width / Double(own.width), rectangle.height / Double(own.height))
    let fitted = AffineMatrix(a: across, b: 0, c: 0, d: down, tx: rectangle.x, ty: rectangle.y)
    let crop = pose.crop?.intersection(Rectangle(own)) ?? Rectangle(own)
    let matrix = fitted.then(pose.turn?.matrix(in: rectangle) ?? .identity)
    if crop.isEmpty || matrix.isSingular { return nil }
    return try fitter.picture(
      frame,
      Placement(crop: crop, visible: crop, matrix: matrix, rectangle: .identity, fittedX: across, fittedY: down),
      pose.filters, by: chain)
  }
}

/// A text that is transformed or filtered in its place. It is drawn once, at its own size.
final class PosedText {
  let text: StyledText
  private let fonts: FontSet
  private let placement: OverlayPlacement
  private let format: VideoTaskFormat
  private let placer: PicturePlacer
  private var drawn: Drawn?
  private var filtered: (filters: [Filter<Double>], picture: LayerPicture)?

  /// In pixels.
  private static let greatestSide = 30_000
  private static let greatestArea = 1 << 24

  /// The text with all that is drawn around it.
  private struct Drawn {
    /// Around the picture for filters, in pixels of the film.
    var margin: Int
    /// At the origin, without subsampling.
    var picture: BlendPicture
    /// From its pixels to the film.
    var matrix: AffineMatrix
    /// The text's place, about which it is turned.
    var rectangle: Rectangle
  }

  init(
    _ text: StyledText, fonts: FontSet, _ placement: OverlayPlacement, _ format: VideoTaskFormat
  ) {
    (self.text, self.fonts, self.placement, self.format) = (text, fonts, placement, format)
    placer = PicturePlacer(format)
  }

  /// Nil if nothing of it is in the frame.
  func picture(_ pose: OverlayPose, by chain: FilterChain) throws(RenderError) -> LayerPicture? {
    guard let drawn = try drawn(margin: pose.filters.reach) else { return nil }
    let shown = drawn.picture.rect.size
    var picture = LayerPicture.blend(drawn.picture)
    if !pose.filters.isEmpty {
      if let filtered, filtered.filters == pose.filters {
        picture = filtered.picture
      } else {
        picture = try chain.apply(pose.filters, to: picture)
        filtered = (pose.filters, picture)
      }
    }
    let whole = Rectangle(shown)
    let matrix = drawn.matrix.then(pose.turn?.matrix(in: drawn.rectangle) ?? .identity)
    if matrix.isSingular { return nil }
    return try placer.picture(
      picture.blendPicture, .identity,
      Placement(crop: whole, visible: whole, matrix: matrix, rectangle: .identity))
  }

  /// Nil if the text has no ink.
  private func drawn(margin: Int) throws(RenderError) -> Drawn? {
    if let drawn, drawn.margin >= margin { return drawn }
    let (block, origin, outer) = try Overlays.block(
      text, fonts: fonts, placement: placement, format: format)
    let all = block.extent.shifted(x: origin.x, y: origin.y)
    // A text that is larger than any credits is cut, so that it takes a bounded amount of memory.
    let side = max(all.size.width, all.size.height)
    let isLarge = side > Self.greatestSide || all.size.width * all.size.height > Self.greatestArea
    let near = PixelRect(format.size).grown(by: max(format.size.width, format.size.height) / 2)
    guard let extent = isLarge ? all.intersection(near) : all, !extent.isEmpty else { return nil }
    let rect = extent.grown(by: margin)
    let picture = try BlendPicture(
      block.draw(rect.shifted(x: -origin.x, y: -origin.y)), rect: PixelRect(rect.size),
      cell: ChromaCell(horizontalShift: 0, verticalShift: 0), matrix: YCbCrMatrix(format))
    let made = Drawn(
      margin: margin, picture: picture,
      matrix: AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: Double(rect.x), ty: Double(rect.y)),
      rectangle: Rectangle(
        x: Double(outer.x), y: Double(outer.y), width: Double(outer.size.width), height: Double(outer.size.height)))
    drawn = made
    filtered = nil
    return made
  }
}

extension [Filter<Double>] {
  /// How far beyond a picture its blur is seen, in pixels of the film; a multiple of 32.
  var reach: Int {
    var sum = 0.0
    for case .blur(let radius) in self { sum += 3 * radius }
    return Int((Swift.min(sum, 1024) / 32).rounded(.up)) * 32
  }
}

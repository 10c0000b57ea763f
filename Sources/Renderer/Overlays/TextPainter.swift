import CKernels
import CPango
import CompositionModel
import Glibc
import Media
import RenderTasks

/// Draws a text with its outline, shadow and box. From below: the box, the shadow of the letters and their outline, the
/// outline, the letters. The outline is outside of the letters, so that it does not show through letters that are
/// transparent.
struct TextPainter {
  private let style: StyledText

  init(_ style: StyledText) {
    self.style = style
  }

  /// The standard deviation of the shadow's blur.
  private var deviation: Double { (style.shadow?.blur ?? 0) / 2 }
  /// How far the blur reaches, in pixels: where less than a thousandth is left.
  private var reach: Int { Int((deviation * 3).rounded(.up)) }

  /// The rectangle of the box, for a block of lines at the origin.
  private func box(_ block: PixelSize) -> PixelRect? {
    guard let box = style.box, block.width > 0, block.height > 0 else { return nil }
    return PixelRect(x: 0, y: 0, size: block).grown(by: box.padding)
  }

  /// All that is drawn on, if the letters are drawn on `ink`.
  func extent(of ink: PixelRect, block: PixelSize) -> PixelRect {
    var all = ink
    if !ink.isEmpty {
      if let outline = style.outline { all = all.grown(by: Int(outline.width.rounded(.up)) + 1) }
      if let shadow = style.shadow { all = all.enclosing(all.shifted(x: shadow.x, y: shadow.y).grown(by: reach)) }
    }
    return box(block).map { all.isEmpty ? $0 : all.enclosing($0) } ?? all
  }

  /// - Parameters:
  ///   - rect: In pixels from the block's top left.
  ///   - letters: The letters within a rectangle, in their colour without its alpha.
  ///   - shape: The coverage of the letters with their outline.
  func draw(
    _ rect: PixelRect, block: PixelSize, letters: (PixelRect) throws(RenderError) -> RGBAPicture,
    shape: (PixelRect) throws(RenderError) -> CoverageMask
  ) throws(RenderError) -> RGBAPicture {
    let picture = try RGBAPicture(rect.size)
    let (width, height) = (Int32(rect.size.width), Int32(rect.size.height))
    if let box = style.box, let place = self.box(block) {
      let mask = try CoverageMask(roundedBox: place.shifted(x: -rect.x, y: -rect.y), radius: box.radius, rect.size)
      paint(mask, box.color, on: picture)
    }
    if let shadow = style.shadow {
      let around = rect.shifted(x: -shadow.x, y: -shadow.y).grown(by: reach)
      paint(try shape(around).blurred(deviation: deviation, reach: reach), shadow.color, on: picture)
    }
    let outline = try style.outline.map { outline throws(RenderError) in (try shape(rect), outline.color.premultiplied)
    }
    let text = try letters(rect)
    var colour = outline?.1 ?? [0, 0, 0, 0]
    sheaf_text_over(
      picture.planes(), text.planes(), UInt32(style.color.alpha) * 257, outline?.0.base, outline?.0.stride ?? 0,
      &colour,
      width, height)
    return picture
  }

  private func paint(_ mask: CoverageMask, _ color: Color, on picture: RGBAPicture) {
    var colour = color.premultiplied
    sheaf_paint_over(
      picture.planes(), mask.base, mask.stride, &colour, Int32(picture.size.width), Int32(picture.size.height))
  }
}

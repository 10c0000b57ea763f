import CPango
import CompositionModel
import Media
import Segmenter

/// A text set in lines, measured and ready to be drawn.
///
/// Each line is placed by its own width, and not by Pango's alignment, so that left, centre and right have the same meaning
/// for scripts that run from right to left. The block is as wide as its widest line and as high as its lines. Ink may extend
/// beyond it, as that of tall and slanted glyphs does, and is never cut. It is drawn with the fonts that were found for it
/// when the film was planned: the machine's own fonts and their settings have no effect.
final class TextBlock {
  private struct Line {
    /// Valid as long as the layout exists.
    let line: OpaquePointer
    /// In Pango's units, from the block's top left.
    let x: Int
    let baseline: Int
  }

  /// With the fonts that it is set in.
  private let text: TextLayout
  private var layout: OpaquePointer { text.layout }
  private var lines: [Line] = []
  private let color: Color
  /// The block's size in pixels, rounded up.
  private(set) var size = PixelSize(width: 0, height: 0)
  /// The pixels that are drawn on, relative to the block's top left, with a margin of a pixel for soft edges.
  private(set) var ink = PixelRect(x: 0, y: 0, size: PixelSize(width: 0, height: 0))

  /// Sets a text in lines of at most `wrapWidth` pixels. Lines break between words, or within a word longer than a line.
  /// - Parameters:
  ///   - fonts: The fonts of this text.
  ///   - inputs: The fonts' files by digest.
  convenience init(
    _ text: StyledText, fonts: TextFonts, inputs: [String: any ByteSource], wrapWidth: Int
  ) throws(RenderError) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let set = try FontSet(fonts, of: text.text, inputs: inputs)
    let layout = try TextLayout(text.fontRequest, map: set.map, size: text.size, families: set.families)
    self.init(text, layout: layout, wrapWidth: wrapWidth)
  }

  /// - Parameter layout: Of the same text at the same size.
  init(_ text: StyledText, layout: TextLayout, wrapWidth: Int) {
    color = text.color
    self.text = layout
    pango_layout_set_width(layout.layout, Int32(clamping: wrapWidth * Int(PANGO_SCALE)))
    measure(alignment: text.alignment)
  }

  private func measure(alignment: StyledText.Alignment) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    var found: [(line: OpaquePointer, baseline: Int, width: Int, ink: PangoRectangle)] = []
    guard let iterator = pango_layout_get_iter(layout) else { return }
    defer { pango_layout_iter_free(iterator) }
    repeat {
      guard let line = pango_layout_iter_get_line_readonly(iterator) else { continue }
      var (ink, logical) = (PangoRectangle(), PangoRectangle())
      pango_layout_line_get_extents(line, &ink, &logical)
      found.append((OpaquePointer(line), Int(pango_layout_iter_get_baseline(iterator)), Int(logical.width), ink))
    } while pango_layout_iter_next_line(iterator) != 0

    var whole = PangoRectangle()
    pango_layout_get_extents(layout, nil, &whole)
    let unit = Int(PANGO_SCALE)
    let width = found.map(\.width).max() ?? 0
    size = PixelSize(width: (width + unit - 1) / unit, height: (Int(whole.height) + unit - 1) / unit)
    var (left, top, right, bottom) = (Int.max, Int.max, Int.min, Int.min)
    for (line, baseline, lineWidth, ink) in found {
      let x =
        switch alignment {
        case .left: 0
        case .center: (width - lineWidth) / 2
        case .right: width - lineWidth
        }
      lines.append(Line(line: line, x: x, baseline: baseline))
      guard ink.width > 0, ink.height > 0 else { continue }
      left = min(left, x + Int(ink.x))
      top = min(top, baseline + Int(ink.y))
      right = max(right, x + Int(ink.x + ink.width))
      bottom = max(bottom, baseline + Int(ink.y + ink.height))
    }
    guard left < right else { return }
    func down(_ value: Int) -> Int { Int((Double(value) / Double(unit)).rounded(.down)) }
    ink = PixelRect(x: (down(left) - 1)..<(down(right) + 2), y: (down(top) - 1)..<(down(bottom) + 2))
  }

  /// Draws the part of the text within `rect`, in pixels from the block's top left, without the colour's alpha.
  func draw(_ rect: PixelRect) throws(RenderError) -> RGBAPicture {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let surface = cairo_image_surface_create(
      CAIRO_FORMAT_ARGB32, Int32(clamping: rect.size.width), Int32(clamping: rect.size.height))
    defer { cairo_surface_destroy(surface) }
    let cairo = cairo_create(surface)
    defer { cairo_destroy(cairo) }
    cairo_set_source_rgb(cairo, Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255)
    for line in lines {
      cairo_move_to(
        cairo, Double(line.x) / Double(PANGO_SCALE) - Double(rect.x),
        Double(line.baseline) / Double(PANGO_SCALE) - Double(rect.y))
      pango_cairo_show_layout_line(cairo, UnsafeMutablePointer(line.line))
    }
    let status = cairo_status(cairo)
    guard status == CAIRO_STATUS_SUCCESS else {
      throw RenderError(
        .infrastructure,
        "a text of \(rect.size.width)x\(rect.size.height) pixels could not be drawn: \(String(cString: cairo_status_to_string(status)))"
      )
    }
    cairo_surface_flush(surface)
    let picture = try RGBAPicture(rect.size)
    if let data = cairo_image_surface_get_data(surface) {
      picture.split(argb32: data, stride: Int(cairo_image_surface_get_stride(surface)))
    }
    return picture
  }
}

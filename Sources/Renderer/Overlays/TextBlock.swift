import CPango
import CompositionModel
import Segmenter

/// A text set in lines, measured and ready to be drawn.
///
/// Each line is placed by its own width, and not by Pango's alignment, so that left, centre and right have the same meaning
/// for scripts that run from right to left. The block is as wide as its widest line and as high as its lines. Ink may extend
/// beyond it, as that of tall and slanted glyphs does, and is never cut. Glyphs are drawn without hinting and with grey
/// antialiasing, so that they do not depend on the machine's font settings.
final class TextBlock {
  private struct Line {
    /// Valid as long as the layout exists.
    let line: OpaquePointer
    /// In Pango's units, from the block's top left.
    let x: Int
    let baseline: Int
  }

  /// Released in deinit.
  private let layout: OpaquePointer
  private var lines: [Line] = []
  private let color: Color
  /// The block's size in pixels, rounded up.
  private(set) var size = PixelSize(width: 0, height: 0)
  /// The pixels that are drawn on, relative to the block's top left, with a margin of a pixel for soft edges.
  private(set) var ink = PixelRect(x: 0, y: 0, size: PixelSize(width: 0, height: 0))

  /// Sets a text in lines of at most `wrapWidth` pixels. Lines break between words, or within a word longer than a line.
  init(_ text: StyledText, wrapWidth: Int) throws(RenderError) {
    color = text.color
    guard let map = pango_cairo_font_map_new() else { throw TextBlock.noEngine }
    defer { sheaf_pango_release(UnsafeMutableRawPointer(map)) }
    guard let context = pango_font_map_create_context(map) else { throw TextBlock.noEngine }
    defer { sheaf_pango_release(UnsafeMutableRawPointer(context)) }
    TextBlock.fixOptions(of: context)
    guard let layout = pango_layout_new(context) else { throw TextBlock.noEngine }
    self.layout = layout
    let content = text.text
    pango_layout_set_text(layout, content, Int32(clamping: content.utf8.count))
    let font = pango_font_description_new()
    defer { pango_font_description_free(font) }
    pango_font_description_set_family(font, text.font)
    pango_font_description_set_absolute_size(font, text.size * Double(PANGO_SCALE))
    pango_font_description_set_weight(font, text.isBold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL)
    pango_font_description_set_style(font, text.isItalic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL)
    pango_layout_set_font_description(layout, font)
    pango_layout_set_width(layout, Int32(clamping: wrapWidth * Int(PANGO_SCALE)))
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
    // A broken word gets no hyphen, so that the text is shown as written.
    let attributes = pango_attr_list_new()
    defer { pango_attr_list_unref(attributes) }
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
    pango_layout_set_attributes(layout, attributes)
    measure(alignment: text.alignment)
  }

  deinit {
    sheaf_pango_release(UnsafeMutableRawPointer(layout))
  }

  private static var noEngine: RenderError {
    RenderError(.infrastructure, "the text engine (Pango) did not start")
  }

  private static func fixOptions(of context: OpaquePointer) {
    let options = cairo_font_options_create()
    defer { cairo_font_options_destroy(options) }
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
    pango_cairo_context_set_font_options(context, options)
    pango_cairo_context_set_resolution(context, 72)
    pango_context_set_round_glyph_positions(context, 0)
    // By default the language comes from the environment, and with it the forms of Han characters.
    pango_context_set_language(context, pango_language_from_string("en"))
  }

  private func measure(alignment: StyledText.Alignment) {
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

import CPango
import CompositionModel
import Media
import RenderTasks

/// A text set in lines, measured and ready to be drawn.
///
/// Each line is placed by its own width, and not by Pango's alignment, so that left, centre and right have the same
/// meaning for scripts that run from right to left. The block is as wide as its widest line and as high as its lines.
/// Ink may extend beyond it, as that of tall and slanted glyphs does, and is never cut; so may its outline and shadow.
/// It is drawn with the fonts that were found for it when the film was planned: the machine's own fonts and their
/// settings have no effect.
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
  private let style: StyledText
  /// The block's size in pixels, rounded up.
  private(set) var size = PixelSize(width: 0, height: 0)
  /// The pixels that letters are drawn on, relative to the block's top left, with a margin of a pixel for soft edges.
  private(set) var ink = PixelRect(x: 0, y: 0, size: PixelSize(width: 0, height: 0))
  /// The pixels that anything is drawn on.
  var extent: PixelRect { TextPainter(style).extent(of: ink, block: size) }

  /// Sets a text in lines of at most `wrapWidth` pixels. Lines break between words, or within a word longer than a
  /// line.
  /// - Parameters:
  ///   - fonts: Those of this text, or of one that has its characters.
  convenience init(_ text: StyledText, fonts: FontSet, wrapWidth: Int) throws(RenderError) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let layout = try TextLayout(
      text.fontRequest, map: fonts.map, size: text.size, families: fonts.families(of: text.text),
      letterSpacing: text.letterSpacing ?? 0)
    self.init(text, layout: layout, wrapWidth: wrapWidth)
  }

  /// - Parameter layout: The layout of the same text at the same size.
  init(_ text: StyledText, layout: TextLayout, wrapWidth: Int) {
    style = text
    self.text = layout
    pango_layout_set_width(layout.layout, Int32(clamping: wrapWidth * Int(PANGO_SCALE)))
    pango_layout_set_justify(layout.layout, text.alignment == .justify ? 1 : 0)
    if let seen = text.seenBytes { hide(from: seen) }
    measure(alignment: text.alignment, lineSpacing: text.lineSpacing ?? 1)
  }

  /// Hides the glyphs of what comes after so many bytes of the text. What a glyph is the form of together, as of
  /// ligatures, is seen with its first letter.
  private func hide(from seen: Int) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    var lines = pango_layout_get_lines(layout)
    while let link = lines {
      lines = link.pointee.next
      var runs = link.pointee.data?.assumingMemoryBound(to: PangoLayoutLine.self).pointee.runs
      while let run = runs {
        runs = run.pointee.next
        guard let glyphItem = run.pointee.data?.assumingMemoryBound(to: PangoGlyphItem.self),
          let item = glyphItem.pointee.item, let glyphs = glyphItem.pointee.glyphs
        else { continue }
        for index in 0..<Int(glyphs.pointee.num_glyphs)
        where Int(item.pointee.offset) + Int(glyphs.pointee.log_clusters[index]) >= seen {
          glyphs.pointee.glyphs[index].glyph = sheaf_glyph_empty
        }
      }
    }
  }

  private func measure(alignment: StyledText.Alignment, lineSpacing: Double) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    var found: [(line: OpaquePointer, baseline: Int, width: Int, ink: PangoRectangle)] = []
    let first = Int(pango_layout_get_baseline(layout))
    // How much lower the last line is because of the spacing.
    var added = 0
    guard let iterator = pango_layout_get_iter(layout) else { return }
    defer { pango_layout_iter_free(iterator) }
    repeat {
      guard let line = pango_layout_iter_get_line_readonly(iterator) else { continue }
      var (ink, logical) = (PangoRectangle(), PangoRectangle())
      pango_layout_line_get_extents(line, &ink, &logical)
      let baseline = Int(pango_layout_iter_get_baseline(iterator))
      let spaced = lineSpacing == 1 ? baseline : first + Int((Double(baseline - first) * lineSpacing).rounded())
      added = spaced - baseline
      found.append((OpaquePointer(line), spaced, Int(logical.width), ink))
    } while pango_layout_iter_next_line(iterator) != 0

    var whole = PangoRectangle()
    pango_layout_get_extents(layout, nil, &whole)
    let unit = Int(PANGO_SCALE)
    let width = found.map(\.width).max() ?? 0
    let height = max(0, Int(whole.height) + added)
    size = PixelSize(width: (width + unit - 1) / unit, height: (height + unit - 1) / unit)
    var (left, top, right, bottom) = (Int.max, Int.max, Int.min, Int.min)
    for (line, baseline, lineWidth, ink) in found {
      let x =
        switch alignment {
        case .left: 0
        case .center: (width - lineWidth) / 2
        case .right: width - lineWidth
        case .justify: sheaf_line_runs_from_right(UnsafeMutablePointer(line)) != 0 ? width - lineWidth : 0
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

  /// Draws the part of the text within `rect`, in pixels from the block's top left. A text without outline, shadow and
  /// box is drawn without its colour's alpha.
  func draw(_ rect: PixelRect) throws(RenderError) -> RGBAPicture {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    guard style.isDecorated else { return try letters(rect) }
    return try TextPainter(style).draw(rect, block: size, letters: letters, shape: shape)
  }

  /// The letters in the text's colour, without its alpha.
  private func letters(_ rect: PixelRect) throws(RenderError) -> RGBAPicture {
    let canvas = CairoCanvas(rect.size, CAIRO_FORMAT_ARGB32)
    let color = style.color
    cairo_set_source_rgb(canvas.cairo, Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255)
    drawLines(on: canvas, rect) { pango_cairo_show_layout_line(canvas.cairo, UnsafeMutablePointer($0)) }
    let picture = try RGBAPicture(rect.size)
    let (data, stride) = try canvas.pixels()
    picture.split(argb32: data, stride: stride)
    return picture
  }

  /// The coverage of the letters with their outline.
  private func shape(_ rect: PixelRect) throws(RenderError) -> CoverageMask {
    let canvas = CairoCanvas(rect.size, CAIRO_FORMAT_A8)
    cairo_set_source_rgba(canvas.cairo, 0, 0, 0, 1)
    drawLines(on: canvas, rect) { pango_cairo_show_layout_line(canvas.cairo, UnsafeMutablePointer($0)) }
    guard let outline = style.outline, outline.width > 0 else { return try CoverageMask(canvas) }
    drawRuns(on: canvas, rect, areColored: false) { pango_cairo_glyph_string_path(canvas.cairo, $0, $1) }
    cairo_set_line_width(canvas.cairo, 2 * outline.width)
    cairo_set_line_join(canvas.cairo, CAIRO_LINE_JOIN_ROUND)
    cairo_set_line_cap(canvas.cairo, CAIRO_LINE_CAP_ROUND)
    cairo_stroke(canvas.cairo)
    let mask = try CoverageMask(canvas)
    // Pictures have no path to follow.
    let margin = Int(outline.width.rounded(.up)) + 1
    let around = rect.grown(by: margin)
    let pictures = CairoCanvas(around.size, CAIRO_FORMAT_A8)
    let count = drawRuns(on: pictures, around, areColored: true) {
      pango_cairo_show_glyph_string(pictures.cairo, $0, $1)
    }
    if count > 0 { try mask.add(CoverageMask(pictures), grownBy: outline.width, margin: margin) }
    return mask
  }

  private func drawLines(on canvas: CairoCanvas, _ rect: PixelRect, _ draw: (OpaquePointer) -> Void) {
    for line in lines {
      cairo_move_to(
        canvas.cairo, Double(line.x) / Double(PANGO_SCALE) - Double(rect.x),
        Double(line.baseline) / Double(PANGO_SCALE) - Double(rect.y))
      draw(line.line)
    }
  }

  /// Calls `draw`, with the canvas's point at its start, for each run of glyphs whose font has pictures, or whose has
  /// none. Returns how many there are.
  @discardableResult
  private func drawRuns(
    on canvas: CairoCanvas, _ rect: PixelRect, areColored: Bool,
    _ draw: (UnsafeMutablePointer<PangoFont>?, UnsafeMutablePointer<PangoGlyphString>) -> Void
  ) -> Int {
    var count = 0
    for line in lines {
      var x = line.x
      var next = UnsafeMutablePointer<PangoLayoutLine>(line.line).pointee.runs
      while let link = next {
        next = link.pointee.next
        guard let run = link.pointee.data?.assumingMemoryBound(to: PangoGlyphItem.self), let item = run.pointee.item,
          let glyphs = run.pointee.glyphs
        else { continue }
        defer { x += Int(pango_glyph_string_get_width(glyphs)) }
        guard let font = item.pointee.analysis.font else { continue }
        let isColored = sheaf_font_pattern(font)?.boolean(FC_COLOR) ?? false
        guard isColored == areColored else { continue }
        count += 1
        cairo_move_to(
          canvas.cairo, Double(x) / Double(PANGO_SCALE) - Double(rect.x),
          Double(line.baseline) / Double(PANGO_SCALE) - Double(rect.y))
        draw(font, glyphs)
      }
    }
    return count
  }
}

import CPango
import CompositionModel

/// Measures a text in a layout whose lines are not wrapped, and finds where they may be.
enum TextRuler {
  /// - Parameter size: The height of the em square in pixels.
  static func measure(_ layout: OpaquePointer, size: Double) -> TextMeasure? {
    guard let iterator = pango_layout_get_iter(layout) else { return nil }
    defer { pango_layout_iter_free(iterator) }
    let unit = Double(PANGO_SCALE) * size
    let advances = Advances(layout, unit: unit)
    var lines: [Double] = []
    var words: [[TextMeasure.Word]] = []
    repeat {
      var logical = PangoRectangle()
      pango_layout_iter_get_line_extents(iterator, nil, &logical)
      lines.append(Double(logical.width) / unit)
      if let line = pango_layout_iter_get_line_readonly(iterator) {
        let start = Int(line.pointee.start_index)
        words.append(advances.words(inBytes: start..<start + Int(line.pointee.length)))
      }
    } while pango_layout_iter_next_line(iterator) != 0
    var whole = PangoRectangle()
    pango_layout_get_extents(layout, nil, &whole)
    return TextMeasure(
      lines: lines, lineHeight: Double(whole.height) / unit / Double(lines.count),
      words: words.count == lines.count ? words : nil)
  }

  /// How wide each character of a layout is, in the order of the text.
  private struct Advances {
    private let layout: OpaquePointer
    private let unit: Double
    /// Where each character starts, in bytes, and where the last one ends.
    private let starts: [Int]
    private var widths: [Double]

    init(_ layout: OpaquePointer, unit: Double) {
      (self.layout, self.unit) = (layout, unit)
      let text = pango_layout_get_text(layout).map { String(cString: $0) } ?? ""
      var starts = [0]
      for scalar in text.unicodeScalars { starts.append(starts[starts.count - 1] + UTF8.width(scalar)) }
      self.starts = starts
      widths = Array(repeating: 0, count: starts.count)
      guard let iterator = pango_layout_get_iter(layout) else { return }
      defer { pango_layout_iter_free(iterator) }
      repeat {
        guard let run = pango_layout_iter_get_run_readonly(iterator), let item = run.pointee.item else { continue }
        let count = Int(item.pointee.num_chars)
        var own = Array(repeating: Int32(0), count: count)
        pango_glyph_item_get_logical_widths(run, pango_layout_get_text(layout), &own)
        let first = starts.partitionPoint { Int(item.pointee.offset) <= $0 }
        for index in 0..<count where first + index < widths.count { widths[first + index] = Double(own[index]) }
      } while pango_layout_iter_next_run(iterator) != 0
    }

    /// The words of a line.
    func words(inBytes line: Range<Int>) -> [TextMeasure.Word] {
      var count: Int32 = 0
      guard let attributes = pango_layout_get_log_attrs_readonly(layout, &count) else { return [] }
      let first = starts.partitionPoint { line.lowerBound <= $0 }
      let last = min(starts.partitionPoint { line.upperBound <= $0 }, Int(count))
      var words: [TextMeasure.Word] = []
      var (place, letters) = (0.0, 0)
      for index in first..<max(first, last) {
        if words.isEmpty || sheaf_may_wrap(attributes, Int32(index)) != 0 {
          words.append(.init(start: place / unit, end: place / unit, first: letters, last: letters))
        }
        place += widths[index]
        if sheaf_begins_letter(attributes, Int32(index)) != 0 { letters += 1 }
        if sheaf_is_white(attributes, Int32(index)) == 0 {
          words[words.count - 1].end = place / unit
          words[words.count - 1].last = letters
        }
      }
      return words
    }
  }
}

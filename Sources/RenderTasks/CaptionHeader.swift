import CompositionModel

extension CaptionStyle {
  /// The head of a script with these styles. Lengths are pixels of the frame.
  static func header(_ styles: [(name: String, style: CaptionStyle)], _ frame: PixelSize) -> String {
    """
    [Script Info]
    ScriptType: v4.00+
    PlayResX: \(frame.width)
    PlayResY: \(frame.height)
    ScaledBorderAndShadow: yes
    WrapStyle: 0

    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
    Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, \
    MarginV, Encoding
    \(styles.enumerated().map { $1.style.lines(named: $1.name, number: $0) }.joined(separator: "\n"))

    [Events]
    Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

    """
  }

  /// Where else than by its anchor captions of the style have another margin.
  var rows: [Anchor.Row] {
    [Anchor.Row.top, .bottom].filter { $0 != anchor.row && margin(of: $0) != margin(of: anchor.row) }
  }

  /// The line of a style, and those for captions that tags place where the margin is another one.
  private func lines(named name: String, number: Int) -> String {
    let others = rows.map { line(named: CaptionScript.styleName(name, $0), number, margin: margin(of: $0)) }
    return ([line(named: name, number, margin: margin(of: anchor.row))] + others).joined(separator: "\n")
  }

  /// The encoding -1 lets each line run from the side where its script begins.
  private func line(named name: String, _ number: Int, margin vertical: Int) -> String {
    func written(_ color: Color) -> String {
      let parts = [255 - color.alpha, color.blue, color.green, color.red]
      return "&H" + parts.map(\.hexadecimal).joined()
    }
    let (place, angle) =
      isVertical == true ? (VerticalCaptions.key(of: anchor), VerticalCaptions.angle) : (anchor.key, 0)
    let (bold, italic, side, padding) = (isBold ? -1 : 0, isItalic ? -1 : 0, sideMargin ?? margin, box?.padding ?? 0)
    // libass has a rectangle behind a caption as a kind of its shadow.
    let (back, kind) = box == nil ? (written(outlineColor), 1) : (PlannedCaptions.Box.mark(number), 4)
    let margins = [edges?.left ?? side, edges?.right ?? side, vertical].map { "\($0 + padding)" }
    return """
      Style: \(name),sans-serif,\(size),\(written(color)),\(written(color)),\(written(outlineColor)),\
      \(back),\(bold),\(italic),0,0,100,100,0,\(angle),\(kind),\(outline),\(padding),\(place),\
      \(margins.joined(separator: ",")),-1
      """
  }
}

extension Anchor {
  /// The key of a number pad that is at the same place, by which scripts name it.
  var key: Int {
    switch self {
    case .bottomLeft: 1
    case .bottom: 2
    case .bottomRight: 3
    case .left: 4
    case .center: 5
    case .right: 6
    case .topLeft: 7
    case .top: 8
    case .topRight: 9
    }
  }
}

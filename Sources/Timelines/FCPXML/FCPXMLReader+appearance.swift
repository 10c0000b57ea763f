import CompositionModel
import EditDocument

// How clips look and sound, and titles.

extension FCPXMLReader {
  mutating func setAppearance(of clip: inout TimelineClip, _ element: XMLElement) throws(TimeError) {
    for child in element.children {
      let shown = "the \(child.name) of '\(clip.name)'"
      switch child.name {
      case "adjust-conform":
        switch child["type"] {
        case "fill": clip.settings.fit = .cover
        case "none": clip.settings.fit = Fit.none
        default: break
        }
      case "adjust-volume":
        if let level = child["amount"].flatMap({ FCPXMLLevel.factor($0) }) {
          if level > 10 { note(child, shown, "20 dB: a volume is at most that") }
          if level != 1 { clip.settings.volume = .constant(min(10, level)) }
        }
        try takeFades(child, &clip)
        noteKeyframes(child, shown)
      case "adjust-blend":
        if let amount = child["amount"].flatMap({ Double($0) }), amount < 1 { clip.settings.opacity = max(0, amount) }
        if child["mode"] != nil { note(child, shown, "its blend mode is not taken") }
        try takeFades(child, &clip)
        noteKeyframes(child, shown)
      case "adjust-transform":
        clip.settings.transform = transform(child)
        noteKeyframes(child, shown)
      case "adjust-stabilization":
        // A generated picture or a timeline has no camera.
        guard child["enabled"] != "0", case .media = clip.source else { continue }
        clip.settings.stabilize = Document.Stabilize()
      case let name where name.hasPrefix("adjust-"):
        if child["enabled"] != "0" { note(child, shown, "not taken: a document has no equal for it") }
      case let name where name.hasPrefix("filter-"):
        if child["enabled"] != "0" {
          let effect = child["name"] ?? child["ref"].flatMap { resources[$0]?["name"] } ?? ""
          note(child, "the effect '\(effect)' of '\(clip.name)'", "not taken: what it does is in Final Cut Pro alone")
        }
      default: break
      }
    }
  }

  private mutating func noteKeyframes(_ element: XMLElement, _ shown: String) {
    guard element.children("param").contains(where: { !$0.isFade }) else { return }
    note(element, shown, "as it begins: its changes in time are not taken")
  }

  private mutating func takeFades(_ element: XMLElement, _ clip: inout TimelineClip) throws(TimeError) {
    for fade in element.children("param").filter(\.isFade).flatMap(\.children) {
      guard let duration = try Self.time(fade["duration"]), .zero < duration else { continue }
      let made = Document.Fade(try duration.documentTime)
      if fade.name == "fadeIn" { clip.settings.fadeIn = made } else { clip.settings.fadeOut = made }
    }
  }

  /// Positions are in hundredths of the frame's height from its centre, upwards, and angles counterclockwise.
  private func transform(_ element: XMLElement) -> Document.Transform? {
    func pair(_ text: String?) -> (Double, Double)? {
      let numbers = (text ?? "").split(separator: " ").compactMap { Double($0) }.filter(\.isFinite)
      return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
    }
    var parts = Document.TransformParts()
    if let rotation = element["rotation"].flatMap({ Double($0) }), rotation.isFinite, rotation != 0 {
      parts.rotate = -rotation
    }
    if let (x, y) = pair(element["scale"]), (x, y) != (1, 1) { parts.scale = Document.TransformParts.Scale(x: x, y: y) }
    if let (x, y) = pair(element["position"]), (x, y) != (0, 0) {
      let shape = size.map { Double($0.height) / Double($0.width) } ?? 9.0 / 16
      parts.translate = Document.Point(x: .percent(x * shape), y: .percent(-y))
    }
    return parts == Document.TransformParts() ? nil : .parts(parts)
  }

  // MARK: Titles

  mutating func addTitle(
    _ element: XMLElement, _ duration: Rational, at place: Rational, _ lanes: inout FCPXMLLanes
  ) throws(TimeError) {
    let name = element["name"] ?? ""
    let runs = element.children("text").flatMap { $0.children("text-style") }
    let text = runs.map(\.text).joined().trimmed
    guard !text.isEmpty else {
      note(element, "the title '\(name)'", "not taken: it has no text")
      return
    }
    var title = TimelineTitle(text, start: place, duration: duration, place: element.place)
    let definition = element.children("text-style-def").first { $0["id"] == runs.first?["ref"] }
    if let style = definition?.child("text-style") ?? runs.first {
      title.font = style["font"]
      title.isBold = style["bold"] == "1" || style["fontFace"]?.contains("Bold") == true
      title.isItalic = style["italic"] == "1" || style["fontFace"]?.contains("Italic") == true
      title.align = style["alignment"].flatMap { StyledText.Alignment(rawValue: $0) }
      title.color = style["fontColor"].flatMap { text in
        Color(parts: text.split(separator: " ").compactMap { Double($0) })
      }
    }
    lanes.titles.append(title)
    note(
      element, "the title '\(name)'",
      "a text in the centre: its place, its size and its motion are in Final Cut Pro alone")
  }
}

extension XMLElement {
  /// Whether a parameter does nothing but fade in or out.
  fileprivate var isFade: Bool {
    !children.isEmpty && children.allSatisfy { ["fadeIn", "fadeOut"].contains($0.name) }
  }
}

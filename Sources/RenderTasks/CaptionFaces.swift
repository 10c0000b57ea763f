/// What decides the fonts of a part of a text.
struct CaptionFace: Hashable {
  var font: String
  var isBold: Bool
  var isItalic: Bool
}

/// The faces of a script's styles.
struct CaptionFaces {
  private var faces: [String: CaptionFace] = [:]
  private let standard: CaptionFace

  init(default face: CaptionFace) {
    standard = face
  }

  /// Reads the styles of a script's head.
  init(_ header: String) {
    var names: [String] = []
    var isStyles = false
    var first: CaptionFace?
    for line in header.split(whereSeparator: \.isNewline) {
      let line = line.trimming
      if line.hasPrefix("[") { isStyles = line.lowercased().hasPrefix("[v4") }
      guard isStyles, let colon = line.firstIndex(of: ":") else { continue }
      let values = line[line.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false).map {
        String($0.trimming)
      }
      switch line[..<colon].lowercased() {
      case "format": names = values.map { $0.lowercased() }
      case "style":
        func value(_ name: String) -> String? {
          names.firstIndex(of: name).flatMap { values.indices.contains($0) ? values[$0] : nil }
        }
        guard let name = value("name"), let font = value("fontname") else { continue }
        let face = CaptionFace(
          font: font.isEmpty ? "sans-serif" : font, isBold: (Int(value("bold") ?? "") ?? 0) != 0,
          isItalic: (Int(value("italic") ?? "") ?? 0) != 0)
        first = first ?? face
        faces[Self.key(name)] = face
      default: break
      }
    }
    standard =
      faces[Self.key("Default")] ?? first ?? CaptionFace(font: "sans-serif", isBold: false, isItalic: false)
  }

  private static func key(_ name: some StringProtocol) -> String { String(name.drop { $0 == "*" }) }

  func face(_ style: some StringProtocol) -> CaptionFace { faces[Self.key(style)] ?? standard }

  /// The number after a tag's letter. What follows it is no matter.
  private func number(_ tag: Substring) -> Int? {
    Int(tag.dropFirst().drop(while: \.isWhitespace).prefix { $0.isASCII && ($0.isNumber || $0 == "-") })
  }

  /// The face after override tags.
  /// - Parameters:
  ///   - base: that of the latest `\r`, to which a tag without a value returns.
  ///   - own: that of the event's style.
  func face(
    after tags: String, from face: CaptionFace, base: inout CaptionFace, own: CaptionFace
  ) -> CaptionFace {
    var face = face
    for tag in tags.dropFirst().dropLast().split(separator: "\\") {
      let tag = tag.trimming
      if tag.hasPrefix("fn") {
        let name = tag.dropFirst(2).trimming
        face.font = name.isEmpty ? base.font : String(name)
      } else if tag.hasPrefix("r") {
        base = faces[Self.key(tag.dropFirst().trimming)] ?? own
        face = base
      } else if tag == "b" || tag == "i" {
        if tag == "b" { face.isBold = base.isBold } else { face.isItalic = base.isItalic }
      } else if tag.hasPrefix("b"), let weight = number(tag) {
        face.isBold = weight == 1 || weight >= 600
      } else if tag.hasPrefix("i"), let value = number(tag) {
        face.isItalic = value != 0
      }
    }
    return face
  }
}

extension Substring {
  fileprivate var trimming: Substring {
    let rest = drop(while: \.isWhitespace)
    return rest.lastIndex { !$0.isWhitespace }.map { rest[...$0] } ?? ""
  }
}

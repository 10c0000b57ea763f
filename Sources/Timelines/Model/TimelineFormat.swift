/// The formats of editors' timelines.
package enum TimelineFormat: String, Sendable, CaseIterable {
  case openTimelineIO = "OpenTimelineIO"
  case editDecisionList = "CMX 3600"
  case finalCutPro = "FCPXML"
  case mlt = "MLT"

  /// That in which a file of this name is written. Nil: none is.
  package init?(written path: String) {
    let formats: [String: TimelineFormat] = [
      ".otio": .openTimelineIO, ".edl": .editDecisionList, ".fcpxml": .finalCutPro, ".mlt": .mlt,
    ]
    guard let format = formats.first(where: { path.lowercased().hasSuffix($0.key) })?.value else { return nil }
    self = format
  }

  /// That of a file's content.
  init(content: [UInt8]) throws(TimelineError) {
    let head = String(decoding: content.prefix(4096), as: UTF8.self)
    let first = head.unicodeScalars.first { !$0.properties.isWhitespace && $0 != "\u{FEFF}" }
    switch first {
    case "{": self = .openTimelineIO
    case "<" where head.contains("<fcpxml"): self = .finalCutPro
    case "<" where head.contains("<mlt"): self = .mlt
    case "<" where head.contains("<xmeml"):
      throw TimelineError("", "it is XML of Final Cut Pro 7, which is not read; export FCPXML or OpenTimelineIO")
    case _ where Self.isDecisionList(head): self = .editDecisionList
    default: throw TimelineError("", "it is no timeline that can be read; \(Self.readable)")
    }
  }

  /// Whether the lines are those of an EDL.
  private static func isDecisionList(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split(whereSeparator: \.isWhitespace)
      return ["TITLE:", "FCM:"].contains(words.first)
        || words.count >= 8 && words[0].allSatisfy(\.isNumber) && words.suffix(4).allSatisfy { $0.count >= 11 }
    }
  }

  package static let writable =
    "OpenTimelineIO (.otio), FCPXML 1.10 (.fcpxml), MLT (.mlt) and EDLs of CMX 3600 (.edl) are written"
  static let withoutRate =
    "neither the document nor its media state how many frames a second the timeline has: give --rate"
  package static let readable =
    "OpenTimelineIO (.otio, .otiod), FCPXML (.fcpxml, .fcpxmld), MLT (.mlt, .kdenlive, .xml) and EDLs of CMX 3600 (.edl, with --rate) are read"
}

package import CompositionModel
import SystemSupport

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

/// A file of an editor's timeline.
package struct TimelineFile: Sendable {
  package let timeline: Timeline
  /// What is not taken, of the format.
  package let notes: [TimelineNote]
  /// The folder that the paths in it are relative to, absolute.
  package let folder: String

  /// The most bytes of a file.
  static let greatestByteCount = 64 << 20

  /// - Parameters:
  ///   - path: A file, or the folder of a bundle.
  ///   - rate: Frames a second, in place of the file's own. Nil: that of the file.
  package init(_ path: String, rate: Rational? = nil) throws(TimelineError) {
    let file = Directories.isFolder(path) ? try Self.content(ofBundle: path) : path
    let bytes: [UInt8]
    let own: String
    do throws(SystemError) {
      bytes = try OpenFile.contents(of: file, limit: Self.greatestByteCount)
      own = try Directories.resolve(Directories.parent(of: file))
    } catch {
      throw TimelineError("", "the timeline cannot be read: \(error)")
    }
    var read = try Self.read(bytes, rate: rate)
    if let rate { read.timeline.rate = rate }
    (timeline, notes) = (read.timeline, read.notes)
    // MLT states the folder of its media, which may have been on another machine.
    folder = read.folder.flatMap { Directories.isFolder($0) ? $0 : nil } ?? own
  }

  private static func content(ofBundle path: String) throws(TimelineError) -> String {
    for name in ["content.otio", "Info.fcpxml"] {
      let file = MediaLocator.join(path, name)
      if MediaLocator.isFile(file) { return file }
    }
    throw TimelineError("", "the folder is no bundle of a timeline: it has no content.otio and no Info.fcpxml")
  }

  /// The name of a file without its extension.
  package static func name(ofPath path: String) -> String { MediaPath.stem(MediaPath.name(of: path)) }

  package static func isFile(_ path: String) -> Bool { MediaLocator.isFile(path) }

  /// What of a timeline a file of a format has: its tracks.
  package static func part(of timeline: Timeline, in format: TimelineFormat) -> Timeline {
    guard format == .editDecisionList else { return timeline }
    var part = timeline
    part.tracks = EDLWriter.tracks(of: timeline).map { timeline.tracks[$0] }
    return part
  }

  /// Throws if a time has no exact place in the format, or the format needs a rate that nothing states.
  package static func write(
    _ timeline: Timeline, as format: TimelineFormat = .openTimelineIO
  ) throws(TimelineError) -> (bytes: [UInt8], notes: [TimelineNote]) {
    switch format {
    case .openTimelineIO: try OTIOWriter.write(timeline)
    case .editDecisionList: try EDLWriter.write(timeline)
    case .finalCutPro: try FCPXMLWriter.write(timeline)
    case .mlt: try MLTWriter.write(timeline)
    }
  }

  /// - Returns: Also the folder of the media, if the file states one.
  static func read(
    _ bytes: [UInt8], rate: Rational?
  ) throws(TimelineError) -> (timeline: Timeline, notes: [TimelineNote], folder: String?) {
    switch try TimelineFormat(content: bytes) {
    case .openTimelineIO:
      let (timeline, notes) = try OTIOReader.read(bytes)
      return (timeline, notes, nil)
    case .editDecisionList:
      let (timeline, notes) = try EDLReader.read(bytes, rate: rate)
      return (timeline, notes, nil)
    case .finalCutPro:
      let (timeline, notes) = try FCPXMLReader.read(XMLElement.read(bytes))
      return (timeline, notes, nil)
    case .mlt: return try MLTReader.read(XMLElement.read(bytes), rate: rate)
    }
  }
}

package import CompositionModel
import SystemSupport

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

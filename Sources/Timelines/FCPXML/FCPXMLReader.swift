import CompositionModel
import EditDocument

/// Reads Final Cut Pro's XML, 1.8 to 1.11: the first project, or the first compound clip if there is none.
struct FCPXMLReader {
  var notes: [TimelineNote] = []
  var resources: [String: XMLElement] = [:]
  /// Of the sequence that is read.
  var rate: Rational?
  var size: PixelSize?
  /// Documents in documents; a compound clip may be within another, but not within itself.
  var depth = 0

  static func read(_ root: XMLElement) throws(TimelineError) -> (timeline: Timeline, notes: [TimelineNote]) {
    var reader = FCPXMLReader()
    for resource in root.child("resources")?.children ?? [] {
      if let id = resource["id"] { reader.resources[id] = resource }
    }
    if let version = root["version"], !version.hasPrefix("1.") {
      throw TimelineError(root.place, "FCPXML \(version) is not read; export it as 1.11 or an older version")
    }
    let projects = Self.all("project", in: root)
    for other in projects.dropFirst() {
      reader.note(other, "the project '\(other["name"] ?? "")'", "not taken: only the first one is read")
    }
    let sequences = projects.compactMap { $0.child("sequence") } + Self.all("sequence", in: root)
    guard let sequence = sequences.first else { throw TimelineError("", "the file has no project") }
    do throws(TimeError) {
      var timeline = try reader.timeline(sequence)
      timeline.name = projects.first?["name"] ?? ""
      return (timeline, reader.notes)
    } catch {
      throw TimelineError(error)
    }
  }

  /// The elements of a name, wherever they are.
  private static func all(_ name: String, in element: XMLElement) -> [XMLElement] {
    element.children.flatMap { $0.name == name ? [$0] : all(name, in: $0) }
  }

  mutating func note(_ element: XMLElement, _ item: String, _ reason: String) {
    let note = TimelineNote(element.place, item, reason)
    if !notes.contains(note) { notes.append(note) }
  }

  /// A sequence, or an angle of a multicam clip, as a timeline of its own.
  mutating func timeline(_ sequence: XMLElement) throws(TimeError) -> Timeline {
    let outer = (rate, size)
    defer { (rate, size) = outer }
    if let format = sequence["format"].flatMap({ resources[$0] }) {
      if let duration = try Self.time(format["frameDuration"]), .zero < duration { rate = try .one / duration }
      if let width = format["width"].flatMap({ Int($0) }), let height = format["height"].flatMap({ Int($0) }) {
        size = PixelSize(width: width, height: height)
      }
    }
    var timeline = Timeline(name: sequence["name"] ?? "", rate: rate)
    (timeline.size, timeline.startTime) = (size, try Self.time(sequence["tcStart"]))
    var lanes = FCPXMLLanes()
    let spine = sequence.child("spine")?.children ?? sequence.children
    _ = try add(spine, at: .zero, lane: 0, to: &lanes)
    timeline.tracks = try lanes.tracks()
    (timeline.markers, timeline.titles) = (lanes.markers, lanes.titles)
    return timeline
  }

  // MARK: Times

  /// `1001/30000s`, `5s`. Nil: it is not there, or no time.
  static func time(_ text: String?) throws(TimeError) -> Rational? {
    guard let text else { return nil }
    let parts = text.trimmed.drop { $0 == "+" }.filter { $0 != "s" }.split(separator: "/")
    switch parts.count {
    case 1: return TimelineRates.decimal(parts[0])
    case 2:
      guard let numerator = Int64(parts[0]), let denominator = Int64(parts[1]) else { return nil }
      return try Rational(Int128(numerator), Int128(denominator))
    default: return nil
    }
  }
}

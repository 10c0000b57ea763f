import CompositionModel
import EditDocument

/// Reads Final Cut Pro's XML, 1.8 to 1.11: the first project, or the first compound clip if there is none.
struct FCPXMLReader {
  private var notes = TimelineNotes()
  /// Where the reader is, for errors.
  var place = ""
  /// Elements that were read, of compound clips each time that they are used.
  var count = 0
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
      return (timeline, reader.notes.all)
    } catch {
      throw TimelineError(error, at: reader.place)
    }
  }

  /// The elements of a name, wherever they are.
  private static func all(_ name: String, in element: XMLElement) -> [XMLElement] {
    element.children.flatMap { $0.name == name ? [$0] : all(name, in: $0) }
  }

  mutating func note(_ element: XMLElement, _ item: String, _ reason: String) {
    notes.add(element.place, item, reason)
  }

  /// A sequence, or an angle of a multicam clip, as a timeline of its own.
  mutating func timeline(_ sequence: XMLElement) throws(TimeError) -> Timeline {
    let outer = (rate, size)
    defer { (rate, size) = outer }
    if let format = sequence["format"].flatMap({ resources[$0] }) {
      place = format.place
      if let duration = try Self.time(format["frameDuration"]), .zero < duration {
        let own = try Rational.one / duration
        if TimelineRates.allowed.contains(own) {
          rate = own
        } else {
          note(format, "the format '\(format["name"] ?? "")'", "of another rate: one is from 1 to 1000 frames a second")
        }
      }
      if let width = format["width"], let height = format["height"] {
        if let own = PixelSize(width: width, height: height) {
          size = own
        } else {
          note(format, "the size \(width.shortened) x \(height.shortened)", "not taken: it is no size of a film")
        }
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

  /// `1001/30000s`, `5s`. Nil: it is not there. Throws for what is no time.
  static func time(_ text: String?) throws(TimeError) -> Rational? {
    guard let text else { return nil }
    let parts = text.trimmed.drop { $0 == "+" }.filter { $0 != "s" }.split(separator: "/")
    var time: Rational?
    switch parts.count {
    case 1: time = TimelineRates.decimal(parts[0])
    case 2:
      if let numerator = Int64(parts[0]), let denominator = Int64(parts[1]) {
        time = try Rational(Int128(numerator), Int128(denominator))
      }
    default: break
    }
    guard let time else { throw .notNumeric }
    guard time.magnitude <= TimelineRates.longest else { throw .overflow }
    return time
  }
}

extension PixelSize {
  /// Nil: it is no size of a film.
  init?(width: String, height: String) {
    guard let width = Int32(width), let height = Int32(height), (2...Self.largestSide).contains(Int(width)),
      (2...Self.largestSide).contains(Int(height)), Int(width) * Int(height) <= Self.largestArea
    else { return nil }
    self.init(width: Int(width), height: Int(height))
  }
}

import CompositionModel
import EditDocument
import FoundationEssentials

/// Reads the XML of MLT, which melt, Kdenlive and Shotcut write.
struct MLTReader {
  var notes: [TimelineNote] = []
  /// Producers, chains, playlists and tractors by their names.
  var services: [String: XMLElement] = [:]
  let rate: Rational
  /// Tractors in tractors; none is within itself.
  var depth = 0

  static func read(
    _ root: XMLElement, rate: Rational?
  ) throws(TimelineError) -> (timeline: Timeline, notes: [TimelineNote], folder: String?) {
    let profile = root.child("profile")
    var own: Rational?
    if let numerator = profile?["frame_rate_num"].flatMap({ Int32($0) }),
      let denominator = profile?["frame_rate_den"].flatMap({ Int32($0) }), numerator > 0, denominator > 0
    {
      own = Rational(numerator, over: denominator)
    }
    // Without a profile it has that of the program: MLT's is PAL.
    var reader = MLTReader(rate: rate ?? own ?? Rational(25))
    reader.collect(root)
    if profile == nil, rate == nil {
      reader.note(root, "the profile", "25 frames a second, as MLT has it without one: give --rate for another")
    }
    let played = root.children.last { element in
      ["tractor", "playlist", "producer", "chain"].contains(element.name) && element["id"] != "main_bin"
    }
    guard let played else { throw TimelineError("", "the file has no producer, playlist or tractor") }
    do throws(TimeError) {
      var timeline = try reader.timeline(reader.innermost(played))
      timeline.name = root["title"] ?? ""
      timeline.rate = reader.rate
      if let width = profile?["width"].flatMap({ Int($0) }), let height = profile?["height"].flatMap({ Int($0) }) {
        timeline.size = PixelSize(width: width, height: height)
      }
      timeline.markers += try reader.guides(root)
      return (timeline, reader.notes, root["root"])
    } catch {
      throw TimelineError(error)
    }
  }

  private init(rate: Rational) { self.rate = rate }

  private mutating func collect(_ element: XMLElement) {
    for child in element.children {
      if let id = child["id"] { services[id] = child }
      collect(child)
    }
  }

  mutating func note(_ element: XMLElement, _ item: String, _ reason: String) {
    let note = TimelineNote(element.place, item, reason)
    if !notes.contains(note) { notes.append(note) }
  }

  /// Kdenlive's project is a tractor whose one track is that of the sequence.
  private func innermost(_ tractor: XMLElement) -> XMLElement {
    let tracks = Self.tracks(of: tractor)
    guard tractor.name == "tractor", tracks.count == 1, let inner = tracks[0]["producer"].flatMap({ services[$0] }),
      inner.name == "tractor"
    else { return tractor }
    return innermost(inner)
  }

  static func tracks(of tractor: XMLElement) -> [XMLElement] {
    tractor.children("track") + tractor.children("multitrack").flatMap { $0.children("track") }
  }

  // MARK: Times

  /// Frames of a count, or of a clock such as `00:00:01.500`.
  func frames(_ text: String?) -> Int? {
    guard let text else { return nil }
    if let count = Int(text) { return count }
    let fields = text.split(separator: ":").map { $0.replacing(",", with: ".") }
    var total = Rational.zero
    do throws(TimeError) {
      for field in fields {
        guard let number = TimelineRates.decimal(field) else { return nil }
        total = try total * Rational(60) + number
      }
      return Int(clamping: try (total * rate).rounded)
    } catch {
      return nil  // The caller has what a missing time means.
    }
  }

  func seconds(_ frames: Int) throws(TimeError) -> Rational { try Rational(frames) / rate }

  /// The frames from `in` to `out`, which is the last one.
  /// - Parameter service: What it plays. Its own frames count from its `in`.
  func range(of element: XMLElement, in service: XMLElement? = nil) -> Range<Int>? {
    let isProducer = service.map { ["producer", "chain"].contains($0.name) } ?? false
    let origin = isProducer ? frames(service?["in"]) ?? 0 : 0
    let length = frames(service?.property("length")).map { $0 - 1 }
    let first = frames(element["in"]).map { origin + $0 } ?? frames(service?["in"]) ?? 0
    let last = frames(element["out"]).map { origin + $0 } ?? frames(service?["out"]) ?? length
    guard let last, first <= last else { return nil }
    return first..<last + 1
  }

  // MARK: Markers

  /// The guides of Kdenlive.
  private func guides(_ root: XMLElement) throws(TimeError) -> [TimelineMarker] {
    struct Guide: Decodable {
      var pos: Int
      var comment: String?
    }
    var markers: [TimelineMarker] = []
    for element in root.children {
      for property in element.children("property")
      where ["kdenlive:docproperties.guides", "kdenlive:sequenceproperties.guides"].contains(property["name"]) {
        let guides = (try? JSONDecoder().decode([Guide].self, from: Data(property.text.utf8))) ?? []
        for guide in guides where !markers.contains(where: { $0.name == guide.comment }) {
          markers.append(
            TimelineMarker(name: guide.comment ?? "", time: try seconds(guide.pos), place: property.place))
        }
      }
    }
    return markers
  }
}

extension XMLElement {
  /// The value of one of MLT's properties.
  func property(_ name: String) -> String? {
    children("property").first { $0["name"] == name }?.text.trimmed ?? self[name]
  }
}

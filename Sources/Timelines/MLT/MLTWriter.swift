import CompositionModel
import EditDocument

/// Writes the XML of MLT: a tractor of the film's tracks over black, each of which is a playlist, or two if clips of it
/// overlap.
struct MLTWriter {
  var notes = TimelineNotes()
  let frames: TimelineFrames
  /// Producers, playlists and tractors, each after those that it has.
  private(set) var services: [XMLNode] = []
  private var producers: [MLTProducer: String] = [:]
  private var nested: [Timeline: String] = [:]

  static func write(_ timeline: Timeline) throws(TimelineError) -> (bytes: [UInt8], notes: [TimelineNote]) {
    guard let rate = timeline.rate else { throw TimelineError("", TimelineFormat.withoutRate) }
    do throws(TimeError) {
      var writer = MLTWriter(frames: TimelineFrames(rate: rate))
      let profile = writer.profile(timeline.size ?? timeline.largestPicture)
      let tractor = try writer.film(timeline)
      writer.services.append(tractor)
      let root = XMLNode(
        "mlt", ["LC_NUMERIC": "C", "version": "7.12.0", "title": timeline.name, "producer": "film"],
        [profile] + writer.services)
      return (root.document(), writer.notes.all)
    } catch {
      throw TimelineError(error)
    }
  }

  private init(frames: TimelineFrames) { self.frames = frames }

  private mutating func profile(_ size: PixelSize?) -> XMLNode {
    let chosen = size ?? PixelSize(width: 1920, height: 1080)
    if size == nil {
      notes.add("/videoComposition", "the size", "1920 x 1080: MLT has one, and the document leaves it to its media")
    }
    return XMLNode(
      "profile",
      [
        "description": "\(chosen.width)x\(chosen.height)", "width": "\(chosen.width)", "height": "\(chosen.height)",
        "progressive": "1", "sample_aspect_num": "1", "sample_aspect_den": "1", "display_aspect_num": "\(chosen.width)",
        "display_aspect_den": "\(chosen.height)", "frame_rate_num": "\(frames.rate.numerator)",
        "frame_rate_den": "\(frames.rate.denominator)", "colorspace": "709",
      ])
  }

  // MARK: Tractors

  private mutating func film(_ timeline: Timeline) throws(TimeError) -> XMLNode {
    let length = max(1, try nearest(timeline.duration, "", "the end of the film"))
    services.append(
      XMLNode(
        "producer", ["id": "black", "in": "0", "out": "\(length - 1)"],
        Self.properties([
          ("length", "\(length)"), ("resource", "black"), ("mlt_service", "color"), ("mlt_image_format", "rgba"),
        ])))
    var film = try tractor(timeline, id: "film", over: ["black"])
    film.attributes += [("in", "0"), ("out", "\(length - 1)")]
    if !timeline.markers.isEmpty {
      var guides: [JSONValue] = []
      for marker in timeline.markers {
        let frame = try nearest(marker.time, marker.place, "the marker '\(marker.name)'")
        let text = JSONValue(content: .string(marker.name))
        guides.append(["comment": text, "pos": JSONValue(integerLiteral: frame), "type": 0])
      }
      film.children.insert(
        XMLNode(
          "property", ["name": "kdenlive:sequenceproperties.guides"],
          text: JSONValue(content: .array(guides)).formatted()), at: 0)
    }
    return film
  }

  /// - Parameter below: What is under its tracks.
  private mutating func tractor(
    _ timeline: Timeline, id: String, over below: [String]
  ) throws(TimeError) -> XMLNode {
    var (tracks, transitions) = (below.map { XMLNode("track", ["producer": $0]) }, [XMLNode]())
    let video = timeline.tracks.filter { $0.type == .video }
    for track in video + timeline.tracks.filter({ $0.type == .audio }) {
      let number = tracks.count
      let hide = track.type == .audio ? "video" : track.hasSound ? nil : "audio"
      tracks.append(XMLNode("track", ["producer": try service(of: track), "hide": hide]))
      guard number > 0 else { continue }
      let ends = [("a_track", "0"), ("b_track", "\(number)")]
      if track.type == .audio || track.hasSound {
        transitions.append(
          XMLNode(
            "transition", [:],
            Self.properties(ends + [("mlt_service", "mix"), ("sum", "1"), ("always_active", "1")])))
      }
      if track.type == .video {
        transitions.append(
          XMLNode(
            "transition", [:],
            Self.properties(
              ends + [
                ("mlt_service", "composite"), ("progressive", "1"), ("distort", "0"), ("fill", "1"),
                ("always_active", "1"),
              ])))
      }
    }
    return XMLNode("tractor", ["id": id], tracks + transitions)
  }

  /// The tractor of a timeline within another.
  mutating func nested(_ timeline: Timeline) throws(TimeError) -> String {
    if let known = nested[timeline] { return known }
    for marker in timeline.markers {
      notes.add(marker.place, "the marker '\(marker.name)'", "not taken: those of the film are")
    }
    if let rate = timeline.rate, rate != frames.rate {
      notes.add(
        "", "the rate of the document '\(timeline.name)'",
        "\(TimelineRates.text(frames.rate)) frames a second: MLT has one for all")
    }
    let id = "sequence\(nested.count)"
    nested[timeline] = id
    var tractor = try tractor(timeline, id: id, over: [])
    let length = max(1, try nearest(timeline.duration, "", "the end of '\(timeline.name)'"))
    tractor.attributes += [("in", "0"), ("out", "\(length - 1)")]
    tractor.children.insert(XMLNode("property", ["name": "kdenlive:clipname"], text: timeline.name), at: 0)
    services.append(tractor)
    return id
  }

  // MARK: Services

  mutating func add(_ service: XMLNode) { services.append(service) }

  mutating func producer(_ producer: MLTProducer) -> String {
    if let known = producers[producer] { return known }
    let id = "producer\(producers.count)"
    producers[producer] = id
    services.append(producer.element(id))
    return id
  }

  static func properties(_ values: [(String, String)]) -> [XMLNode] {
    values.map { XMLNode("property", ["name": $0.0], text: $0.1) }
  }

  mutating func nearest(_ time: Rational, _ place: String, _ item: String) throws(TimeError) -> Int {
    let (count, isExact) = try frames.nearest(time)
    if !isExact { notes.add(place, item, "moved to the nearest frame: MLT counts frames") }
    return count
  }
}

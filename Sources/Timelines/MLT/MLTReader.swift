import CompositionModel
import EditDocument

/// Reads the XML of MLT, which melt, Kdenlive and Shotcut write.
struct MLTReader {
  var notes = TimelineNotes()
  /// Where the reader is, for errors.
  var place = ""
  /// Entries that were read, of sequences each time that they are used.
  var count = 0
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
    own = own.flatMap { TimelineRates.allowed.contains($0) ? $0 : nil }
    // Without a profile it has that of the program: MLT's is PAL.
    var reader = MLTReader(rate: rate ?? own ?? Rational(25))
    reader.collect(root)
    if own == nil, rate == nil {
      reader.note(
        profile ?? root, "the profile",
        "25 frames a second, as MLT has it without one that states its rate: give --rate for another")
    }
    let played = root.children.last { element in
      ["tractor", "playlist", "producer", "chain"].contains(element.name) && element["id"] != "main_bin"
    }
    guard let played else { throw TimelineError("", "the file has no producer, playlist or tractor") }
    do throws(TimeError) {
      var timeline = try reader.timeline(reader.innermost(played))
      timeline.name = root["title"] ?? ""
      timeline.rate = reader.rate
      if let profile { timeline.size = reader.size(of: profile) }
      timeline.markers += try reader.guides(root)
      return (timeline, reader.notes.all, root["root"])
    } catch {
      throw TimelineError(error, at: reader.place)
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
    notes.add(element.place, item, reason)
  }

  private mutating func size(of profile: XMLElement) -> PixelSize? {
    guard let width = profile["width"], let height = profile["height"] else { return nil }
    guard let size = PixelSize(width: width, height: height) else {
      note(profile, "the size \(width.shortened) x \(height.shortened)", "not taken: it is no size of a film")
      return nil
    }
    let (x, y) = (profile["sample_aspect_num"] ?? "1", profile["sample_aspect_den"] ?? "1")
    if x != y { note(profile, "the pixels of \(x.shortened):\(y.shortened)", "square: those of a film are") }
    if profile["progressive"] == "0" { note(profile, "the fields", "whole frames: a film has no fields") }
    return size
  }

  /// Kdenlive's project is a tractor whose one track is that of the sequence.
  private func innermost(_ tractor: XMLElement) -> XMLElement {
    var (outer, seen): (XMLElement, Set<String>) = (tractor, [])
    while true {
      let tracks = Self.tracks(of: outer)
      guard outer.name == "tractor", tracks.count == 1, let id = tracks[0]["producer"], seen.insert(id).inserted,
        let inner = services[id], inner.name == "tractor"
      else { return outer }
      outer = inner
    }
  }

  static func tracks(of tractor: XMLElement) -> [XMLElement] {
    tractor.children("track") + tractor.children("multitrack").flatMap { $0.children("track") }
  }

  // MARK: Times

  /// Frames of a count, or of a clock such as `00:00:01.500`.
  func frames(_ text: String?) -> Int? {
    guard let text else { return nil }
    if let count = Int(text) { return count.magnitude <= Self.mostFrames ? count : nil }
    let fields = text.split(separator: ":").map { $0.replacing(",", with: ".") }
    var total = Rational.zero
    do throws(TimeError) {
      for field in fields {
        guard let number = TimelineRates.decimal(field) else { return nil }
        total = try total * Rational(60) + number
      }
      let count = Int(clamping: try (total * rate).rounded)
      return count.magnitude <= Self.mostFrames ? count : nil
    } catch {
      return nil  // The caller has what a missing time means.
    }
  }

  /// More than a film has, so that sums of some can be computed.
  private static let mostFrames = 1_000_000_000

  func seconds(_ frames: Int) throws(TimeError) -> Rational { try Rational(frames) / rate }

  /// The frames from `in` to `out`, which is the last one.
  /// - Parameter service: What it plays. Its own frames count from its `in`.
  func range(of element: XMLElement, in service: XMLElement? = nil) -> Range<Int>? {
    let isProducer = service.map { ["producer", "chain"].contains($0.name) } ?? false
    let origin = isProducer ? frames(service?["in"]) ?? 0 : 0
    let length = frames(service?.property("length")).map { $0 - 1 }
    for attribute in ["in", "out"] where element[attribute] != nil && frames(element[attribute]) == nil { return nil }
    let first = frames(element["in"]).map { origin + $0 } ?? frames(service?["in"]) ?? 0
    let last = frames(element["out"]).map { origin + $0 } ?? frames(service?["out"]) ?? length
    guard let last, first <= last else { return nil }
    return first..<last + 1
  }
}

extension XMLElement {
  /// The value of one of MLT's properties.
  func property(_ name: String) -> String? {
    children("property").first { $0["name"] == name }?.text.trimmed ?? self[name]
  }
}

import CompositionModel

/// The text of an overlay that comes from a metadata track.
struct TrackText: Sendable {
  var written: Document.TrackText
  /// The frames that show it, if not all texts are counted that its numbers may become.
  var frames: Frames?

  var track: TrackID { written.track }
  private var decimals: Int { written.decimals ?? 0 }
  private var rounding: NumberRounding { written.rounding ?? .nearest }
  private var prefix: String { written.prefix ?? "" }
  private var suffix: String { written.suffix ?? "" }

  /// The frames of a film that show an overlay.
  struct Frames: Sendable {
    /// On the film's timeline; the film may end earlier. Nil: from its start to its end.
    var over: Document.TimeRange?
    var duration: MediaTime
  }

  static let instead = [
    "digits": "did you mean 'decimals'?", "format": "give 'decimals', 'prefix' and 'suffix'",
    "unit": "did you mean 'suffix'?", "before": "did you mean 'prefix'?", "after": "did you mean 'suffix'?",
    "precision": "did you mean 'decimals'?", "id": "did you mean 'track'?", "round": "did you mean 'rounding'?",
  ]
  static let greatestDecimals = 6
  static let hint = "state the 'frameRate' of 'videoComposition', so that only those of the frames are counted"
  /// The most overlays of a film whose texts come from metadata tracks.
  static let greatestOverlayCount = 100
  /// The most different texts of these overlays together: the fonts of each are found.
  static let greatestCount = 5000
  /// The most frames, and values of tracks, of which the numbers are computed to count the texts.
  static let greatestFrameCount = 100_000
  /// The most changes of all texts that come from metadata tracks.
  static let greatestChanges = 200_000

  /// A text's value as whole units of its last decimal.
  private func units(_ number: Double) -> Int {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    return Int(rounding.rounded(number * scale))
  }

  private func text(units: Int) -> String {
    let digits = "\(units.magnitude)"
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    let number = decimals == 0 ? padded : padded.dropLast(decimals) + "." + padded.suffix(decimals)
    return prefix + (units < 0 ? "-" : "") + number + suffix
  }

  /// The texts that the values of a track may become, each once. Nil: more than `limit`.
  func texts(of track: Document.MetadataTrack, limit: Int = greatestCount) -> [String]? {
    var seen: Set<String> = []
    var texts: [String] = []
    func add(_ text: String) -> Bool {
      if seen.insert(text).inserted { texts.append(text) }
      return texts.count <= limit
    }
    /// All that are written for the numbers between two.
    func add(from: Double, to: Double) -> Bool {
      let (low, high) = (units(min(from, to)), units(max(from, to)))
      return high - low < limit && (low...high).allSatisfy { add(text(units: $0)) }
    }
    // Each number goes to the next one in order of time, so that all between the least and the greatest may be shown.
    if track.interpolation == .linear {
      let numbers = track.values.flatMap { item -> [Double] in
        if case .number(let from, let to) = item.content { [from, to] } else { [] }
      }
      guard let least = numbers.min(), let greatest = numbers.max() else { return [] }
      return add(from: least, to: greatest) ? texts : nil
    }
    for item in track.values {
      let isWithin =
        switch item.content {
        case .text(let text): add(prefix + text + suffix)
        case .number(let from, let to): add(from: from, to: to)
        }
      guard isWithin else { return nil }
    }
    return texts
  }

  /// The texts that the frames show, each once. Nil: more than `limit`, or times that cannot be used.
  /// - Parameter frameCount: Reduced by the number of values and frames, which must not be above it.
  func texts(
    of track: Document.MetadataTrack, in frames: Frames, limit: Int, frameCount: inout Int
  ) -> [String]? {
    guard track.values.count <= frameCount else { return nil }
    frameCount -= track.values.count
    do {
      guard let placed = try track.placed(frameDuration: frames.duration), let last = placed.last else { return nil }
      // After the last value nothing changes.
      let all = try MediaTimeRange(start: .zero, end: max(.zero, last.over.end) + frames.duration)
      let written = try frames.over.map { over throws(TimeError) in try over.resolved(frameDuration: frames.duration) }
      // A range that ends before its start is found when the film is laid out.
      guard let range = written ?? all else { return [] }
      let count = try (range.duration / frames.duration).ceiling
      guard count <= Int128(frameCount) else { return nil }
      frameCount -= Int(count)
      let items = try placed.indices.compactMap { number throws(TimeError) in
        try track.value(number, of: placed, until: range.end)
      }
      let shown = try texts(
        of: MetadataTrack(id: track.id, items: items), within: range, frameDuration: frames.duration)
      var seen: Set<String> = []
      let texts = shown.map(\.text).filter { seen.insert($0).inserted }
      return texts.count <= limit ? texts : nil
    } catch {
      return nil
    }
  }

  /// The texts of a range of time, one after the other. A number that changes is written anew at the times of the
  /// composition's frames.
  func texts(
    of track: MetadataTrack, within range: MediaTimeRange, frameDuration: MediaTime
  ) throws(TimeError) -> [(over: MediaTimeRange, text: String)] {
    var texts: [(over: MediaTimeRange, text: String)] = []
    func add(_ text: String, from start: MediaTime, to end: MediaTime) throws(TimeError) {
      guard start < end else { return }
      if let last = texts.last, last.text == text, last.over.end == start {
        texts[texts.count - 1].over = try MediaTimeRange(start: last.over.start, end: end)
      } else {
        texts.append((try MediaTimeRange(start: start, end: end), text))
      }
    }
    let first = track.items.partitionPoint { range.start < $0.over.end }
    for item in track.items[first...].prefix(while: { $0.over.start < range.end }) {
      let start = max(item.over.start, range.start)
      let end = min(item.over.end, range.end)
      switch item.content {
      case .text(let text): try add(prefix + text + suffix, from: start, to: end)
      case .number(let from, let to) where from == to: try add(text(units: units(from)), from: start, to: end)
      case .number:
        func time(of frame: Int128) throws(TimeError) -> MediaTime {
          max(start, try frameDuration * Rational(frame))
        }
        func shown(in frame: Int128) throws(TimeError) -> Int {
          units(try item.value(at: time(of: frame)).number ?? 0)
        }
        let last = try (end / frameDuration).ceiling
        var frame = try (start / frameDuration).floor
        while frame < last {
          let units = try shown(in: frame)
          // The numbers rise or fall, so that a text that is left does not come again.
          var (same, next) = (frame, last)
          while next - same > 1 {
            let middle = same + (next - same) / 2
            if try shown(in: middle) == units { same = middle } else { next = middle }
          }
          try add(text(units: units), from: time(of: frame), to: min(end, time(of: next)))
          frame = next
        }
      }
    }
    return texts
  }
}

extension DocumentReader {
  /// Reads an overlay's text that comes from a metadata track.
  /// - Parameters:
  ///   - over: The overlay's. Nil if it has none, or one that cannot be used.
  ///   - isAlwaysShown: Whether it has none.
  mutating func trackText(_ value: JSONValue, over: Document.TimeRange?, isAlwaysShown: Bool) -> TrackText? {
    let found = problems.count
    guard let fields = fields(value, TrackTextKeys.table) else { return nil }
    let track = metadataReference(fields["track"])
    var written = Document.TrackText(track ?? "")
    read(fields, TrackTextKeys.properties, into: &written)
    var text = TrackText(written: written)
    trackTextOverlayCount += 1
    guard trackTextOverlayCount <= TrackText.greatestOverlayCount else {
      problems.add(
        value.pointer, "at most \(TrackText.greatestOverlayCount) overlays may have texts of metadata tracks")
      return nil
    }
    if isOfPart { return problems.count == found && track != nil ? text : nil }
    guard let track, let entry = metadataTracks.first(where: { $0.id == track }) else { return nil }
    for key in ["decimals", "rounding"] where entry.hasTexts && fields.has(key) {
      problems.add(fields.pointer.key(key), "'\(key)' is for numbers; the track '\(track.shortened)' has texts")
    }
    // A range that cannot be used has a problem of its own, and without it the texts are not known.
    guard over != nil || isAlwaysShown else { return nil }
    let limit = TrackText.greatestCount - trackTextCount
    // Where a range is that counts from something else is not known yet: the frames of the whole film are counted.
    let counted = over?.origins.isEmpty == true ? over : nil
    if let texts = text.texts(of: entry, limit: limit) {
      trackTextCount += texts.count
    } else if let frames = frameDuration.map({ TrackText.Frames(over: counted, duration: $0) }),
      let texts = text.texts(of: entry, in: frames, limit: limit, frameCount: &trackTextFrames)
    {
      text.frames = frames
      trackTextCount += texts.count
    } else {
      let hints =
        ((written.decimals ?? 0) > 0 ? ["give fewer 'decimals'"] : []) + (frameDuration == nil ? [TrackText.hint] : [])
      problems.add(
        value.pointer,
        "the film would have more than \(TrackText.greatestCount) different texts of metadata tracks"
          + (hints.isEmpty ? "" : "; " + hints.joined(separator: ", or ")))
    }
    return problems.count == found ? text : nil
  }
}

extension ExaminedDocument {
  func metadataTrack(_ id: TrackID) -> Document.MetadataTrack? { metadataTracks.first { $0.id == id } }

  /// The texts that an overlay shows at any time, each once.
  func texts(of overlay: OverlayEntry) -> [StyledText] {
    guard case .text(let text, _, let source) = overlay.content else { return [] }
    guard let source else { return [text] }
    var frameCount = TrackText.greatestFrameCount
    let texts = metadataTrack(source.track).flatMap { track in
      guard let frames = source.frames else { return source.texts(of: track) }
      return source.texts(of: track, in: frames, limit: TrackText.greatestCount, frameCount: &frameCount)
    }
    return (texts ?? []).map { string in
      var styled = text
      styled.text = string
      return styled
    }
  }
}

extension Lowering {
  /// A text overlay of a metadata track, as one for each text. Where the track has no value nothing is drawn.
  mutating func overlays(_ overlay: Overlay, of source: TrackText, at pointer: JSONPointer) -> [Overlay] {
    guard case .text(var text) = overlay.content, let track = metadata.first(where: { $0.id == source.track }) else {
      return []
    }
    let frameDuration = frameDuration
    let shown = exact(at: pointer.key("text")) { () throws(TimeError) in
      try source.texts(of: track, within: overlay.over, frameDuration: frameDuration)
    }
    textChanges += shown?.count ?? 0
    guard textChanges <= TrackText.greatestChanges else {
      problems.add(
        pointer.key("text"),
        "the texts of metadata tracks change more than \(TrackText.greatestChanges) times; round numbers to fewer "
          + "decimals, or show the text for a shorter time")
      return []
    }
    return (shown ?? []).filter { !$0.text.isEmpty }.map { over, string in
      text.text = string
      var part = overlay
      (part.content, part.over) = (.text(text), over)
      return part
    }
  }
}

import CompositionModel

/// The captions of a list of the document, as those of a file without styles.
struct ListedCaptions {
  /// Of their description.
  static let container = "cues"
  /// The most captions of a list: a title at each second of a day is less.
  static let greatestCount = 100_000

  private let cues: [Document.Captions.Cue]

  init(_ cues: [Document.Captions.Cue]) { self.cues = cues }

  /// The texts, each at a time of its own.
  var untimed: CaptionsFormat {
    format(cues.indices.map { Int64($0)..<Int64($0) + 1 })
  }

  /// - Parameter times: Of each, in milliseconds.
  func format(_ times: [Range<Int64>]) -> CaptionsFormat {
    let events = zip(cues, times).enumerated().map { number, cue in
      CaptionEvent(
        start: cue.1.lowerBound, end: cue.1.upperBound,
        fields: "\(number),0,Default,,0,0,0,,\(Self.text(of: cue.0))")
    }
    return CaptionsFormat(header: CaptionsFormat.plainHeader, hasStyles: false, events: events)
  }

  private static func text(of cue: Document.Captions.Cue) -> String {
    (cue.speaker.map(CaptionVoices.mark) ?? "") + CaptionText.escaped(cue.text)
  }
}

extension DocumentReader {
  /// Reads `cues` of captions.
  mutating func cues(_ value: JSONValue) -> [Document.Captions.Cue] {
    let written = items(value, "captions, such as {\"over\": \"1..3\", \"text\": \"Hello\"}")
    if case .array = value.content, written.isEmpty { problems.addShape(value.pointer, "there are no captions in it") }
    guard written.count <= ListedCaptions.greatestCount else {
      problems.add(
        value.pointer, "\(written.count) captions; a list has at most \(ListedCaptions.greatestCount)")
      return []
    }
    return written.compactMap { item in
      guard let fields = fields(item, CueKeys.table) else { return nil }
      let (over, text) = (read(fields, CueKeys.over), read(fields, CueKeys.text))
      guard let over, let text else { return nil }
      var cue = Document.Captions.Cue(over: over, text)
      cue.pointer = item.pointer
      cue.speaker = read(fields, CueKeys.speaker)
      return cue
    }
  }
}

extension Lowering {
  /// Describes the captions of a list, as those of an asset that the document does not name.
  mutating func addListed(_ entry: CaptionsEntry) {
    guard entry.isList, let id = entry.asset else { return }
    var times: [Range<Int64>] = []
    for cue in entry.written.cues {
      let place = cue.pointer.key(CueKeys.over.name)
      guard let range = resolve(cue.over, at: place, on: .own(end: nil, "the captions")) else { continue }
      let bounds = exact(at: place) { () throws(TimeError) in
        try [range.start, range.end].map { time throws(TimeError) in
          Int64(clamping: try (time.exact * Rational(1000)).rounded)
        }
      }
      guard let bounds else { continue }
      guard bounds[0] < bounds[1] else {
        problems.add(place, "the caption is shown for less than a millisecond")
        continue
      }
      // The fonts of a list are found before its times are known.
      if let last = times.last, bounds[0] < last.lowerBound {
        problems.add(place, "the captions of a list are in the order of their starts; this one starts before another")
      }
      times.append(bounds[0]..<bounds[1])
    }
    guard times.count == entry.written.cues.count, let end = times.map(\.upperBound).max() else { return }
    let duration = MediaTime(value: end, timescale: 1000)
    guard
      let range = exact(
        at: entry.pointer,
        { () throws(TimeError) in
          try MediaTimeRange(start: .zero, duration: duration)
        })
    else { return }
    var track = TrackDescription(
      index: 0, type: .subtitle, codec: ListedCaptions.container, timebase: MediaTime(value: 1, timescale: 1000),
      range: range)
    track.captions = entry.listed.format(times)
    track.packetCount = times.count
    assets[id] = AssetDescription(container: ListedCaptions.container, duration: duration, tracks: [track])
  }
}

import CompositionModel
import EditDocument

/// Reads an edit decision list of CMX 3600. It states no frame rate, so the caller does.
struct EDLReader {
  private(set) var notes = TimelineNotes()
  private let rate: Rational
  /// Whether the timecodes that follow leave out numbers: `FCM: DROP FRAME`.
  private var dropsFrames = false
  private var title = ""
  private var events: [Event] = []
  /// Markers by their timecode on the record side.
  private var markers: [(frame: Int, name: String, place: String)] = []

  /// A line of an event: what is recorded from one source.
  struct Event {
    var number: String
    var reel: String
    /// The names of its tracks.
    var tracks: [String]
    var transition: EDLTransition
    /// In frames.
    var source: Range<Int>
    var record: Range<Int>
    var clipName: String?
    var path: String?
    /// Frames of the source a second of the record side, relative to their rate.
    var speed: Rational?
    var place: String

    var isBlack: Bool { ["BL", "BLACK", "BLK"].contains(reel.uppercased()) }
  }

  static func read(
    _ bytes: [UInt8], rate: Rational?
  ) throws(TimelineError) -> (timeline: Timeline, notes: [TimelineNote]) {
    guard let rate else {
      throw TimelineError("", "an EDL does not state how many frames a second its timecodes count: give --rate")
    }
    // Old programs write other encodings than UTF-8; bytes that are not of it are replaced.
    let lines = String(decoding: bytes, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    var reader = EDLReader(rate: rate)
    for (index, line) in lines.enumerated() {
      reader.read(String(line.drop { $0.isWhitespace || $0 == "\u{FEFF}" }), at: "line \(index + 1)")
    }
    guard !reader.events.isEmpty else { throw TimelineError("", "there is no event of an EDL in it") }
    do throws(TimeError) {
      var timeline = try EDLTracks(reader.events, rate: rate).timeline(&reader.notes)
      timeline.name = reader.title
      let start = reader.events.map(\.record.lowerBound).min() ?? 0
      timeline.markers = try reader.markers.map { marker throws(TimeError) in
        TimelineMarker(
          name: marker.name, time: try Rational(marker.frame - start) / rate, place: marker.place)
      }
      return (timeline, reader.notes.all)
    } catch {
      throw TimelineError(error)
    }
  }

  private init(rate: Rational) { self.rate = rate }

  private mutating func read(_ line: String, at place: String) {
    let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
    guard let first = words.first else { return }
    switch first.uppercased() {
    case "TITLE:": title = line.dropFirst(6).trimmed
    case "FCM:": dropsFrames = line.uppercased().contains("DROP FRAME") && !line.uppercased().contains("NON")
    case "M2": readSpeed(words, at: place)
    case "*", "**": readComment(line.drop { $0 == "*" }.trimmed, at: place)
    case "EFFECTS" where line.uppercased().contains("CROSS DISSOLVE"): break
    default:
      if first.first == "*" { return readComment(line.drop { $0 == "*" }.trimmed, at: place) }
      if first.allSatisfy({ $0.isASCII && $0.isNumber }), words.count >= 8 { return readEvent(words, at: place) }
      notes.add(place, "'\(line.shortened)'", "not taken: it is no event, and no comment that is read")
    }
  }

  /// `002 REEL V D 024 SOURCE-IN SOURCE-OUT RECORD-IN RECORD-OUT`
  private mutating func readEvent(_ words: [String], at place: String) {
    let marks = words.suffix(4).contains { $0.contains(";") }
    let times = words.suffix(4).compactMap { frame($0, marks: marks) }
    let name = "the event \(words[0])"
    guard times.count == 4, times[0] <= times[1], times[2] <= times[3] else {
      let rate = TimelineRates.text(rate)
      notes.add(place, name, "not taken: its last four words are no timecodes in order at \(rate) frames a second")
      return
    }
    let kind = words[3]
    let length = length(of: words, times[2]..<times[3], at: place)
    guard let transition = EDLTransition(kind, length: length) else {
      notes.add(place, name, "not taken: it is a '\(kind)', and cuts, dissolves and wipes are read")
      return
    }
    if case .wipe(_, nil, _) = transition {
      notes.add(place, name, "a dissolve: the wipe '\(kind)' has no equal in a document")
    }
    let tracks = Self.tracks(words[2])
    if tracks.isEmpty { notes.add(place, name, "not taken: '\(words[2])' is no track") }
    events.append(
      Event(
        number: words[0], reel: words[1], tracks: tracks, transition: transition, source: times[0]..<times[1],
        record: times[2]..<times[3], place: place))
  }

  /// The frames of an event's transition, which are at most its own.
  private mutating func length(of words: [String], _ record: Range<Int>, at place: String) -> Int {
    guard let kind = words[3].uppercased().first, ["D", "W"].contains(kind) else { return 0 }
    let name = "the transition of the event \(words[0])"
    guard words.count > 8, let length = Int(words[4]), length >= 0 else {
      notes.add(place, name, "a cut: it has no number of frames")
      return 0
    }
    guard length > record.count else { return length }
    notes.add(place, name, "\(record.count) frames long: so many are recorded, and not \(words[4])")
    return record.count
  }

  /// The tracks that an event's channels are: `V`, `A`, `AA`, `A2/V`, `B`, which is sound and picture.
  private static func tracks(_ channels: String) -> [String] {
    var tracks: [String] = []
    for part in channels.uppercased().split(separator: "/") {
      switch part {
      case "V": tracks.append("V")
      case "B": tracks += ["V", "A"]
      case "A", "A1", "AA": tracks.append("A")
      case _ where ["V", "A"].contains(part.prefix(1)) && Int(part.dropFirst()) != nil: tracks.append(String(part))
      default: break
      }
    }
    return tracks
  }

  /// `M2 REEL 012.5 TIMECODE`: frames a second, of the last event of that reel.
  private mutating func readSpeed(_ words: [String], at place: String) {
    let number = words.count > 2 ? words.dropFirst(2).lazy.compactMap { TimelineRates.decimal($0) }.first : nil
    // A transition has two lines, each with a reel of its own.
    let index = linesOfLastEvent.last { events[$0].reel == (words.count > 1 ? words[1] : "") } ?? events.indices.last
    guard let number, number.magnitude <= Rational(1_000_000), let index else {
      notes.add(place, "the speed", "not taken: it has no number, or no event is before it")
      return
    }
    do throws(TimeError) {
      events[index].speed = try EDLSpeed.factor(number, rate: rate)
    } catch {
      notes.add(place, "the speed", "not taken: \(error)")
    }
  }

  private mutating func readComment(_ text: String, at place: String) {
    guard let colon = text.firstIndex(of: ":") else {
      guard text.uppercased() == "FREEZE FRAME", let last = events.indices.last else {
        if !text.isEmpty { notes.add(place, "the comment '\(text.shortened)'", "not taken: it is not seen") }
        return
      }
      events[last].speed = .zero
      return
    }
    let value = text[text.index(after: colon)...].trimmed
    let lines = linesOfLastEvent
    switch text[..<colon].trimmed.uppercased() {
    case "FROM CLIP NAME": if let first = lines.first { events[first].clipName = value }
    case "TO CLIP NAME": if let last = lines.last { events[last].clipName = value }
    case "SOURCE FILE", "SOURCE FILE PATH", "MEDIA FILE": if let last = lines.last { events[last].path = value }
    case "LOC":
      // `01:00:02:00 RED name`
      let words = value.split(separator: " ", maxSplits: 2).map(String.init)
      guard let frame = words.first.flatMap({ frame($0) }) else {
        notes.add(place, "the marker '\(value.shortened)'", "not taken: it has no timecode")
        return
      }
      markers.append((frame, words.count > 2 ? words[2].trimmed : "", place))
    default:
      notes.add(place, "'\(text.shortened)'", "not taken: comments with the names of clips and files are read")
    }
  }

  /// The lines of the last event: those of a transition have one number.
  private var linesOfLastEvent: Range<Int> {
    guard let last = events.last else { return 0..<0 }
    var first = events.count - 1
    while first > 0, events[first - 1].number == last.number { first -= 1 }
    return first..<events.count
  }

  /// The number of a timecode's frame. Nil: it is none.
  /// - Parameter marks: Whether the event marks drop-frame timecodes by a semicolon, so that one without counts all.
  private func frame(_ text: String, marks: Bool = false) -> Int? {
    guard let last = text.lastIndex(where: { ":;.,".contains($0) }) else { return nil }
    let frames = text[text.index(after: last)...]
    let isDrop = text.contains { ";,".contains($0) } || dropsFrames && !marks
    let plain = text[..<last].map { $0 == ";" || $0 == "," || $0 == "." ? ":" : $0 }
    return Timecode(String(plain) + (isDrop ? ";" : ":") + frames, rate: rate)?.frame
  }
}

extension StringProtocol {
  var trimmed: String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}

extension TimelineRates {
  /// As people write it: `25`, `23.976`.
  static func text(_ rate: Rational) -> String {
    rate.denominator == 1 ? "\(rate)" : plain((rate.approximate * 1000).rounded() / 1000)
  }
}

import CompositionModel
import EditDocument

/// Reads an edit decision list of CMX 3600. It states no frame rate, so the caller does.
struct EDLReader {
  private(set) var notes: [TimelineNote] = []
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
      return (timeline, reader.notes)
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
      notes.append(TimelineNote(place, "'\(line.shortened)'", "not taken: it is no event, and no comment that is read"))
    }
  }

  /// `002 REEL V D 024 SOURCE-IN SOURCE-OUT RECORD-IN RECORD-OUT`
  private mutating func readEvent(_ words: [String], at place: String) {
    let times = words.suffix(4).compactMap { frame($0) }
    let name = "the event \(words[0])"
    guard times.count == 4, times[0] <= times[1], times[2] <= times[3] else {
      let rate = TimelineRates.text(rate)
      notes.append(
        TimelineNote(place, name, "not taken: its last four words are no timecodes in order at \(rate) frames a second")
      )
      return
    }
    let kind = words[3]
    let length = words.count > 8 ? Int(words[4]) : nil
    guard let transition = EDLTransition(kind, length: length) else {
      notes.append(TimelineNote(place, name, "not taken: it is a '\(kind)', and cuts, dissolves and wipes are read"))
      return
    }
    if case .wipe(_, nil, _) = transition {
      notes.append(TimelineNote(place, name, "a dissolve: the wipe '\(kind)' has no equal in a document"))
    }
    let tracks = Self.tracks(words[2])
    if tracks.isEmpty { notes.append(TimelineNote(place, name, "not taken: '\(words[2])' is no track")) }
    events.append(
      Event(
        number: words[0], reel: words[1], tracks: tracks, transition: transition, source: times[0]..<times[1],
        record: times[2]..<times[3], place: place))
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
    let index = events.lastIndex { $0.reel == (words.count > 1 ? words[1] : "") } ?? events.indices.last
    guard let number, let index else {
      notes.append(TimelineNote(place, "the speed", "not taken: it has no number, or no event is before it"))
      return
    }
    do throws(TimeError) {
      // A whole number counts frames of the nominal rate.
      let isWhole = number.denominator == 1
      let own = try isWhole ? number : number < .zero ? -TimelineRates.snapped(-number) : TimelineRates.snapped(number)
      events[index].speed = try own / (isWhole ? Rational(rate.rounded) : rate)
    } catch {
      notes.append(TimelineNote(place, "the speed", "not taken: \(error)"))
    }
  }

  private mutating func readComment(_ text: String, at place: String) {
    guard let colon = text.firstIndex(of: ":") else {
      if text.uppercased() == "FREEZE FRAME", let last = events.indices.last { events[last].speed = .zero }
      return
    }
    let value = text[text.index(after: colon)...].trimmed
    let numbers = events.last.map { last in events.indices.filter { events[$0].number == last.number } } ?? []
    switch text[..<colon].trimmed.uppercased() {
    case "FROM CLIP NAME": if let first = numbers.first { events[first].clipName = value }
    case "TO CLIP NAME": if let last = numbers.last { events[last].clipName = value }
    case "SOURCE FILE", "SOURCE FILE PATH", "MEDIA FILE": if let last = numbers.last { events[last].path = value }
    case "LOC":
      // `01:00:02:00 RED name`
      let words = value.split(separator: " ", maxSplits: 2).map(String.init)
      guard let frame = words.first.flatMap({ frame($0) }) else { return }
      markers.append((frame, words.count > 2 ? words[2].trimmed : "", place))
    case "COMMENT", "AUDIO LEVEL AT", "REEL AX IS CLIP": break
    default:
      notes.append(
        TimelineNote(place, "'\(text.shortened)'", "not taken: comments with the names of clips and files are read"))
    }
  }

  /// The number of a timecode's frame. Nil: it is none.
  private func frame(_ text: String) -> Int? {
    guard let last = text.lastIndex(where: { ":;.,".contains($0) }) else { return nil }
    let frames = text[text.index(after: last)...]
    let isDrop = dropsFrames || text.contains { ";,".contains($0) }
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

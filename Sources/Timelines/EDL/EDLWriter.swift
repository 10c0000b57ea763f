import CompositionModel

/// Writes an edit decision list of CMX 3600: one track of pictures and at most four of sound.
struct EDLWriter {
  private var events: EDLEvents
  private let frames: TimelineFrames
  private let dropsFrames: Bool
  /// The timecode of the first frame.
  private let start: Int
  private var output = ""
  private var number = 0

  private static let soundChannels = ["A", "A2", "A3", "A4"]

  static func write(_ timeline: Timeline) throws(TimelineError) -> (bytes: [UInt8], notes: [TimelineNote]) {
    guard let rate = timeline.rate else { throw TimelineError("", TimelineFormat.withoutRate) }
    do throws(TimeError) {
      var writer = try EDLWriter(timeline, rate)
      try writer.write(timeline)
      return (Array(writer.output.utf8), writer.events.notes.all)
    } catch {
      throw TimelineError(error)
    }
  }

  private init(_ timeline: Timeline, _ rate: Rational) throws(TimeError) {
    events = EDLEvents(rate: rate)
    let (frames, drops) = (TimelineFrames(rate: rate), Timecode.dropsFrames(rate))
    let hour = Timecode("01:00:00\(drops ? ";" : ":")00", rate: rate)?.frame ?? 0
    (self.frames, dropsFrames) = (frames, drops)
    start = try timeline.startTime.map { time throws(TimeError) in try frames.nearest(time).count } ?? hour
  }

  private mutating func write(_ timeline: Timeline) throws(TimeError) {
    output = "TITLE: \(line(timeline.name))\nFCM: \(dropsFrames ? "DROP" : "NON-DROP") FRAME\n"
    var made: [(order: Int, channel: String, event: EDLEvent)] = []
    for (order, (channel, track)) in channels(of: timeline).enumerated() {
      if !track.name.isEmpty, track.name != channel {
        events.notes.add("", "the name of the track '\(track.name)'", "'\(channel)': an EDL has no other names")
      }
      made += try events.events(of: track, to: channel == "V" ? timeline.duration : nil).map { (order, channel, $0) }
    }
    made.sort { ($0.event.record.lowerBound, $0.order) < ($1.event.record.lowerBound, $1.order) }
    var markers: [(frame: Int, name: String)] = []
    for marker in timeline.markers {
      markers.append((try events.nearest(marker.time, marker.place, "the marker '\(marker.name)'"), marker.name))
    }
    markers.sort { $0.frame < $1.frame }
    var marker = 0
    for (index, (_, channel, event)) in made.enumerated() {
      try write(event, on: channel)
      let next = index + 1 < made.count ? made[index + 1].event.record.lowerBound : .max
      while marker < markers.count, markers[marker].frame < next {
        let time = try timecode(start + markers[marker].frame, dropsFrames)
        output += "* LOC: \(time) GREEN   \(line(markers[marker].name))\n"
        marker += 1
      }
    }
  }

  private mutating func channels(of timeline: Timeline) -> [(channel: String, track: TimelineTrack)] {
    var sounds = Self.soundChannels[...]
    var channels: [(String, TimelineTrack)] = []
    let taken = Self.tracks(of: timeline)
    for (index, track) in timeline.tracks.enumerated() where !track.clips.isEmpty {
      if taken.contains(index) {
        channels.append((track.type == .video ? "V" : sounds.removeFirst(), track))
      } else {
        let reason = track.type == .video ? "one of pictures, the lowest one" : "\(Self.soundChannels.count) of sound"
        events.notes.add("", "the track '\(track.name)'", "not taken: of tracks an EDL has \(reason)")
      }
    }
    return channels
  }

  /// The numbers of the tracks that an EDL has.
  static func tracks(of timeline: Timeline) -> [Int] {
    let filled = timeline.tracks.indices.filter { !timeline.tracks[$0].clips.isEmpty }
    return Array(
      filled.filter { timeline.tracks[$0].type == .video }.prefix(1)
        + filled.filter { timeline.tracks[$0].type == .audio }.prefix(soundChannels.count))
  }

  // MARK: Lines

  private mutating func write(_ event: EDLEvent, on channel: String) throws(TimeError) {
    number += 1
    if let transition = event.transition, event.length > 0 {
      try write(event.outgoing, 0, "C", event.record.lowerBound..<event.record.lowerBound, on: channel)
      let length = String("000\(event.length)".suffix(max(3, "\(event.length)".count)))
      try write(event.source, event.record.count, "\(transition.padded(to: 4)) \(length)", event.record, on: channel)
      if let from = event.outgoing { output += "* FROM CLIP NAME: \(line(from.name))\n" }
      if let source = event.source { output += "* TO CLIP NAME: \(line(source.name))\n" }
    } else {
      try write(event.source, event.record.count, "C", event.record, on: channel)
      if let source = event.source { output += "* FROM CLIP NAME: \(line(source.name))\n" }
    }
    guard let source = event.source else { return }
    if !source.path.isEmpty { output += "* SOURCE FILE: \(line(source.path))\n" }
    guard source.speed != .one else { return }
    let speed = try EDLSpeed.number(source.speed, rate: frames.rate).text
    let begin = try timecode(source.start, source.dropsFrames, of: source)
    output += "M2   \(source.reel.padded(to: 8)) \(speed)                \(begin)\n"
    if source.speed == .zero { output += "* FREEZE FRAME\n" }
  }

  /// - Parameter count: Frames of the film.
  private mutating func write(
    _ source: EDLSource?, _ count: Int, _ transition: String, _ record: Range<Int>, on channel: String
  ) throws(TimeError) {
    let drops = source?.dropsFrames ?? dropsFrames
    let begin = source?.start ?? 0
    // A picture that stands still is one frame of its source.
    var length = try source?.length(of: count) ?? count
    if let source, source.speed == .zero, count > 0 { length = 1 }
    let times = [
      try timecode(begin, drops, of: source), try timecode(begin + length, drops, of: source),
      try timecode(start + record.lowerBound, dropsFrames), try timecode(start + record.upperBound, dropsFrames),
    ]
    let event = String("000\(number)".suffix(max(3, "\(number)".count)))
    output += "\(event)  \((source?.reel ?? "BL").padded(to: 8)) \(channel.padded(to: 5)) "
    output += "\(transition.padded(to: 8)) \(times.joined(separator: " "))\n"
  }

  /// A timecode is one of a day. Throws for a time of the film that is not.
  private mutating func timecode(
    _ frame: Int, _ drops: Bool, of source: EDLSource? = nil
  ) throws(TimeError) -> String {
    if let code = Timecode(frame: frame, rate: frames.rate, dropsFrames: drops) { return code.text }
    guard let source else { throw .overflow }
    events.notes.add(
      source.place, "the start of the clip '\(source.name)'", "midnight: its time in its source is no time of a day")
    return Timecode(frame: 0, rate: frames.rate, dropsFrames: drops)?.text ?? ""
  }

  /// A name on one line.
  private func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}

extension String {
  /// With spaces after it, up to so many characters.
  fileprivate func padded(to count: Int) -> String { self + String(repeating: " ", count: max(0, count - self.count)) }
}

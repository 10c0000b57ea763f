import CompositionModel
import EditDocument

/// The items of a sequence by lanes: 0 is the primary storyline, and what is in a higher lane is above it.
struct FCPXMLLanes {
  /// Items one after the other, from a time on.
  struct Run {
    var lane: Int
    var type: MediaType
    /// The name of the track: the role of its sound.
    var name: String
    var start: Rational
    var items: [TimelineItem]
  }

  var runs: [Run] = []
  var markers: [TimelineMarker] = []
  var titles: [TimelineTitle] = []

  /// A track for each lane, and another for what overlaps it. Sound has tracks by its roles.
  func tracks() throws(TimeError) -> [TimelineTrack] {
    var made: [(lane: Int, track: TimelineTrack, end: Rational)] = []
    let ordered = runs.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
    for (_, run) in ordered where run.items.contains(where: { if case .clip = $0 { true } else { false } }) {
      var index: Int?
      for (number, other) in made.enumerated()
      where other.track.type == run.type && (run.type == .audio ? other.track.name == run.name : other.lane == run.lane)
      {
        if other.end <= run.start {
          index = number
          break
        }
      }
      if index == nil {
        var track = TimelineTrack(name: run.type == .audio ? run.name : "", type: run.type)
        track.hasSound = run.type == .video
        made.append((run.lane, track, .zero))
      }
      let place = index ?? made.count - 1
      let gap = try run.start - made[place].end
      if .zero < gap { made[place].track.items.append(.gap(gap)) }
      made[place].track.items += run.items
      made[place].end = max(made[place].end, run.start)
      for item in run.items { made[place].end = try made[place].end + item.duration }
    }
    for index in made.indices { made[index].track.dropSound() }
    let video = made.filter { $0.track.type == .video }.enumerated()
      .sorted { ($0.element.lane, $0.offset) < ($1.element.lane, $1.offset) }
    return video.map(\.element.track) + made.filter { $0.track.type == .audio }.map(\.track)
  }
}

extension TimelineTrack {
  /// Has the track say that no clip of it is heard, in place of each of them.
  fileprivate mutating func dropSound() {
    guard type == .video, clips.allSatisfy({ $0.settings.sound == .drop }) else { return }
    hasSound = false
    for (index, item) in items.enumerated() {
      guard case .clip(var clip) = item else { continue }
      clip.settings.sound = nil
      items[index] = .clip(clip)
    }
  }
}

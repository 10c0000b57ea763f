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
    var made: [(lane: Int, track: TimelineTrack)] = []
    let ordered = runs.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
    for (_, run) in ordered where run.items.contains(where: { if case .clip = $0 { true } else { false } }) {
      var index: Int?
      for (number, other) in made.enumerated()
      where other.track.type == run.type && (run.type == .audio ? other.track.name == run.name : other.lane == run.lane)
      {
        if try other.track.duration <= run.start {
          index = number
          break
        }
      }
      if index == nil {
        var track = TimelineTrack(name: run.type == .audio ? run.name : "", type: run.type)
        track.hasSound = run.type == .video
        made.append((run.lane, track))
      }
      let place = index ?? made.count - 1
      let gap = try run.start - made[place].track.duration
      if .zero < gap { made[place].track.items.append(.gap(gap)) }
      made[place].track.items += run.items
    }
    let video = made.filter { $0.track.type == .video }.enumerated()
      .sorted { ($0.element.lane, $0.offset) < ($1.element.lane, $1.offset) }
    return video.map(\.element.track) + made.filter { $0.track.type == .audio }.map(\.track)
  }
}

import CompositionModel
import EditDocument

// A track of a timeline as one of a document: clips that overlap by their transitions.

extension DocumentOfTimeline {
  /// A clip of a track that has something to show.
  private struct Placed {
    var clip: TimelineClip
    var asset: AssetID
    /// When it starts, without what only its transition shows.
    var place: Rational
    var room: Room
  }

  /// What a transition makes of the clips beside it.
  private struct Edge {
    var transition: TimelineTransition
    /// Whether it is between two clips; otherwise the one beside it appears or disappears.
    var isBetweenClips: Bool
    /// How much earlier the clip after it starts.
    var head: Rational
    /// How much later the clip before it ends.
    var tail: Rational
  }

  /// Nil: it has no clip. Otherwise also its markers on the time of the timeline, and when its last clip ends.
  mutating func track(
    _ track: TimelineTrack, _ part: inout DocumentPart
  ) throws(TimeError) -> (track: Document.MediaTrack, markers: [TimelineMarker], end: Rational)? {
    var made = Document.MediaTrack(
      track.type == .video ? nil : track.type, id: track.name.isEmpty ? nil : part.names.track(track.name))
    if track.type == .video, !track.hasSound { made.sound = false }
    var (markers, end): ([TimelineMarker], Rational) = ([], .zero)
    let placed = try placed(track, &part)
    let edges = try edges(of: track, placed)
    for index in track.items.indices {
      guard let item = placed[index] else { continue }
      let (entrance, exit) = (edges[index - 1], edges[index + 1])
      let (head, tail) = (entrance?.head ?? .zero, exit?.tail ?? .zero)
      var clip = try clip(item.clip, item.asset, head: head, tail: tail, &part)
      let start = try item.place - head
      if entrance?.isBetweenClips != true, start != end { clip.at = try start.documentTime }
      try setEdges(of: &clip, entrance, exit, on: track.type)
      if entrance?.isBetweenClips == true, clip.fadeIn != nil {
        note(item.clip.place, "the fade of '\(item.clip.name)'", "not taken: the clip before it gives way to it")
        clip.fadeIn = nil
      }
      if exit?.isBetweenClips == true, clip.fadeOut != nil {
        note(item.clip.place, "the fade of '\(item.clip.name)'", "not taken: it gives way to the clip after it")
        clip.fadeOut = nil
      }
      made.clips.append(clip)
      for var marker in item.clip.markers {
        marker.time = try marker.time + item.place
        markers.append(marker)
      }
      end = try item.place + item.clip.duration + tail
    }
    return made.clips.isEmpty ? nil : (made, markers, end)
  }

  /// The clips by their number among the items.
  private mutating func placed(
    _ track: TimelineTrack, _ part: inout DocumentPart
  ) throws(TimeError) -> [Int: Placed] {
    var (placed, place): ([Int: Placed], Rational) = ([:], .zero)
    for (index, item) in track.items.enumerated() {
      if case .clip(let clip) = item {
        if track.type == .audio, clip.motion == .frozen {
          note(clip.place, "the clip '\(clip.name)'", "a gap: a picture that stands still has no sound")
        } else if let asset = try asset(of: clip, &part) {
          placed[index] = Placed(clip: clip, asset: asset, place: place, room: try room(of: clip))
        }
      }
      place = try place + item.duration
    }
    return placed
  }

  private mutating func edges(of track: TimelineTrack, _ placed: [Int: Placed]) throws(TimeError) -> [Int: Edge] {
    var edges: [Int: Edge] = [:]
    for (index, item) in track.items.enumerated() {
      guard case .transition(let transition) = item else { continue }
      let (left, right) = (placed[index - 1], placed[index + 1])
      let name = "the transition '\(transition.name)'"
      guard left != nil || right != nil else {
        note(transition.place, name, "not taken: there is no clip beside it")
        continue
      }
      var edge = Edge(
        transition: transition, isBetweenClips: left != nil && right != nil, head: .zero, tail: .zero)
      if let left { edge.tail = min(transition.after, left.room.tail ?? transition.after) }
      if let right {
        // Nothing starts before the timeline does.
        edge.head = min(transition.before, right.room.head ?? transition.before, right.place)
      }
      let wanted = try (left == nil ? .zero : transition.after) + (right == nil ? .zero : transition.before)
      let missing = try wanted - edge.head - edge.tail
      if .zero < missing {
        note(
          transition.place, name,
          "shorter by \(seconds(try MediaTime(missing))): the clips beside it have no more of their media there, or the film no more time"
        )
      }
      let isLeft = try edge.isBetweenClips ? .zero < edge.head + edge.tail : true
      if isLeft { edges[index] = edge }
    }
    return edges
  }

  private func setEdges(
    of clip: inout Document.Clip, _ entrance: Edge?, _ exit: Edge?, on type: MediaType
  ) throws(TimeError) {
    func style(_ edge: Edge) -> Document.TransitionStyle {
      type == .audio ? Document.TransitionStyle() : edge.transition.style
    }
    func transition(_ edge: Edge, _ duration: Rational) throws(TimeError) -> Document.ClipTransition {
      var made = Document.ClipTransition(duration: try duration.documentTime, style: style(edge))
      made.sound = edge.transition.curve
      return made
    }
    func isPlain(_ edge: Edge) -> Bool { [nil, .dissolve].contains(style(edge).kind) }
    if let entrance {
      if entrance.isBetweenClips {
        clip.transition = try transition(entrance, entrance.head + entrance.tail)
      } else {
        let duration = try entrance.head + entrance.transition.after
        if isPlain(entrance) {
          clip.fadeIn = Document.Fade(try duration.documentTime, curve: entrance.transition.curve)
        } else {
          clip.in = try transition(entrance, duration)
        }
      }
    }
    if let exit, !exit.isBetweenClips {
      let duration = try exit.transition.before + exit.tail
      if isPlain(exit) {
        clip.fadeOut = Document.Fade(try duration.documentTime, curve: exit.transition.curve)
      } else {
        clip.out = try transition(exit, duration)
      }
    }
  }
}

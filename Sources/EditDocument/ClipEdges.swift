import CompositionModel

// A clip that appears from nothing, or disappears, is in a transition with the lane of its track that has no clip then.

extension Document {
  /// How a clip begins or ends by itself.
  enum Edge: Hashable, Sendable {
    case fade(Fade)
    case transition(ClipTransition)

    var pointer: JSONPointer {
      switch self {
      case .fade(let fade): fade.pointer
      case .transition(let transition): transition.pointer
      }
    }

    /// Of a fade a dissolve.
    fileprivate var style: TransitionStyle {
      switch self {
      case .fade: TransitionStyle()
      case .transition(let transition): transition.style
      }
    }

    fileprivate var curve: FadeCurve? {
      switch self {
      case .fade(let fade): fade.curve
      case .transition(let transition): transition.sound
      }
    }
  }
}

extension DocumentReader {
  /// A time, or an object with a `duration`.
  mutating func fade(_ value: JSONValue) -> Document.Fade? {
    var fade = Document.Fade(0)
    if case .object = value.content {
      let found = problems.count
      guard let fields = fields(value, FadeKeys.table) else { return nil }
      read(fields, FadeKeys.properties, into: &fade)
      guard problems.count == found else { return nil }
    } else {
      guard let duration = time(value) else { return nil }
      fade.duration = duration
    }
    fade.pointer = value.pointer
    return fade
  }

  /// A transition from nothing, or to it. Its length is in an object, because a time here is most likely meant as one
  /// of the asset.
  mutating func edge(_ value: JSONValue) -> Document.ClipTransition? {
    switch value.content {
    case .object: return clipTransition(value, .video)
    case .string(let text) where text.first?.isLetter == true: return clipTransition(value, .video)
    default:
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a kind of transition, such as \"wipe\", or an object with 'kind' and 'duration'; the "
          + "part of the asset is 'use', and the length of a dissolve is 'fadeIn' or 'fadeOut'")
      return nil
    }
  }
}

extension Document.Fade {
  /// The duration if nothing else is said, or an object.
  var json: JSONValue { curve == nil ? duration.json : .object(self, FadeKeys.properties) }
}

extension Lowering {
  /// The transitions of a clip from nothing and to it, as far as it has them. Nil and a problem if one has no place.
  /// - Parameters:
  ///   - end: That of its last turn.
  ///   - transitionEnd: The end of the transition from the clip before it.
  ///   - lane: The track of the composition that it is on.
  ///   - empty: The other lane of its track, which has no clip at these times.
  mutating func edges(
    of clip: ClipEntry, from start: MediaTime, to end: MediaTime, after transitionEnd: MediaTime?, lane: TrackID,
    empty: TrackID
  ) -> [LoweredTransition]? {
    var edges: [LoweredTransition] = []
    var free = transitionEnd ?? start
    for (edge, isStart) in [(clip.entrance, true), (clip.exit, false)] {
      guard let edge else { continue }
      checkMatte(edge.style, at: edge.pointer)
      guard let length = length(of: edge) else { return nil }
      let times = exact(at: edge.pointer) { () throws(TimeError) in
        let first = isStart ? start : try (end - length).place
        return (
          start: first, end: isStart ? try (start + length).place : end, lasting: try end - start,
          used: try free - start
        )
      }
      guard let times else { return nil }
      guard free <= times.start, times.end <= end else {
        problems.add(
          edge.pointer,
          "\(seconds(length)) are longer than the clip"
            + (times.used == .zero
              ? ", which lasts \(seconds(times.lasting))"
              : " has left: it lasts \(seconds(times.lasting)), and its beginning takes \(seconds(times.used))"))
        return nil
      }
      guard
        let range = exact(
          at: edge.pointer, { () throws(TimeError) in try MediaTimeRange(start: times.start, end: times.end) })
      else { return nil }
      free = times.end
      edges.append(
        LoweredTransition(
          from: isStart ? empty : lane, to: isStart ? lane : empty, style: edge.style, range: range,
          pointer: edge.pointer, curve: edge.curve, edge: isStart ? .start : .end))
    }
    return edges
  }

  private mutating func length(of edge: Document.Edge) -> MediaTime? {
    switch edge {
    case .transition(let transition): return length(of: transition)
    case .fade(let fade):
      guard let length = resolve(fade.duration, at: fade.pointer) else { return nil }
      if length != .zero { return length }
      problems.add(fade.pointer, "a fade must last longer than 0")
      return nil
    }
  }

  /// Reports a clip that disappears by itself although the next one takes its place. Returns whether it is none.
  mutating func checkHasNoExit(_ clip: ClipEntry, before transition: Document.ClipTransition) -> Bool {
    guard let exit = clip.exit else { return true }
    problems.add(
      exit.pointer,
      "the clip after it (\(transition.pointer.text)) has a 'transition', in which this one gives way to it: leave out "
        + "one of them")
    return false
  }
}

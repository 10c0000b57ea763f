import CompositionModel

/// A clip with all that is shown of it, also in its transitions.
struct WholeClip {
  var clip: TimelineClip
  /// On the time of its track.
  var start: Rational
  /// From the clip before it, which ends when the transition does.
  var transition: TimelineTransition?
  /// Those beside which there is no other clip: the picture comes from nothing, and becomes nothing.
  var fadeIn: TimelineTransition?
  var fadeOut: TimelineTransition?

  var end: Rational {
    get throws(TimeError) { try start + clip.duration }
  }
}

extension TimelineTrack {
  /// Its clips, of which the one before a transition ends after the one after it has begun.
  var wholeClips: [WholeClip] {
    get throws(TimeError) {
      var (whole, place): ([WholeClip], Rational) = ([], .zero)
      for (index, item) in items.enumerated() {
        let begin = place
        place = try place + item.duration
        guard case .clip(let clip) = item else { continue }
        let (entrance, exit) = (transition(at: index - 1), transition(at: index + 1))
        let (isAfterClip, isBeforeClip) = (isClip(at: index - 2), isClip(at: index + 2))
        let head = isAfterClip ? entrance?.before ?? .zero : .zero
        let tail = isBeforeClip ? exit?.after ?? .zero : .zero
        guard let all = try clip.trimmed(head: -head, tail: -tail) else { continue }
        var made = WholeClip(clip: all, start: try begin - head)
        if isAfterClip { made.transition = entrance } else { made.fadeIn = entrance }
        if !isBeforeClip { made.fadeOut = exit }
        whole.append(made)
      }
      return whole
    }
  }

  func transition(at index: Int) -> TimelineTransition? {
    guard items.indices.contains(index), case .transition(let transition) = items[index] else { return nil }
    return transition
  }

  func isClip(at index: Int) -> Bool {
    guard items.indices.contains(index), case .clip = items[index] else { return false }
    return true
  }
}

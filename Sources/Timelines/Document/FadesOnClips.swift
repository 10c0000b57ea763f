import CompositionModel
import EditDocument

extension TimelineTrack {
  /// The same with each transition that is not between two clips as a fade of the clip beside it, as formats have it
  /// that cannot tell a transition from nothing beside a clip from one between both.
  func fadesOnClips(_ notes: inout TimelineNotes) throws(TimeError) -> TimelineTrack {
    var track = self
    track.items = []
    for (index, item) in items.enumerated() {
      switch item {
      case .gap(.zero): break
      case .gap: track.items.append(item)
      case .transition:
        if isClip(at: index - 1), isClip(at: index + 1) { track.items.append(item) }
      case .clip(var clip):
        if let fade = transition(at: index - 1), !isClip(at: index - 2) {
          clip.settings.fadeIn = try Self.fade(fade, &notes)
        }
        if let fade = transition(at: index + 1), !isClip(at: index + 2) {
          clip.settings.fadeOut = try Self.fade(fade, &notes)
        }
        track.items.append(.clip(clip))
      }
    }
    return track
  }

  private static func fade(
    _ transition: TimelineTransition, _ notes: inout TimelineNotes
  ) throws(TimeError) -> Document.Fade {
    if ![nil, .dissolve].contains(transition.style.kind) {
      notes.add(transition.place, "the transition '\(transition.name)'", "a fade: beside no other clip there are fades")
    }
    return Document.Fade(try transition.duration.documentTime, curve: transition.curve)
  }
}

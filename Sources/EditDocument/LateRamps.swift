import CompositionModel

/// Warnings about ramps that begin when there is nothing left to change.
extension Lowering {
  /// Ramps on the film's timeline that begin after the film, or after what they change.
  func addLateRamps(to warnings: inout ProblemList) {
    guard filmIsKnown, !film.isEmpty else { return }
    for entry in document.audioMix.tracks {
      let last = soundEnd(of: entry.track)
      for ramp in entry.volume + entry.pan {
        let isLate = addLate(ramp, end: film.end, "the film, which is \(seconds(film.duration)) long", to: &warnings)
        guard !isLate, let last, last < film.end else { continue }
        addLate(ramp, end: last, "the last clip of '\(entry.track.shortened)', which ends at \(last)", to: &warnings)
      }
    }
    let ofTracks = document.tracks.flatMap(\.filters)
    for filter in document.videoComposition.filters + ofTracks {
      for ramp in filter.ramps {
        addLate(ramp, end: film.end, "the film, which is \(seconds(film.duration)) long", to: &warnings)
      }
    }
    for instruction in document.videoComposition.instructions ?? [] {
      guard let written = instruction.over, let over = known(written),
        case .layers(let layers) = instruction.content
      else { continue }
      let ramps = layers.flatMap { $0.ramps + ($0.filters ?? []).flatMap(\.ramps) }
      for ramp in ramps + instruction.filters.flatMap(\.ramps) {
        addLate(ramp, end: min(over.end, film.end), "its instruction, which ends at \(over.end)", to: &warnings)
      }
    }
  }

  /// When the last clip of an audio track ends. Nil: it has none.
  private func soundEnd(of id: TrackID) -> MediaTime? {
    tracks.first { track in
      track.entry.type == .audio ? track.entry.id == id : TrackEntry.audioTrack(of: track.entry.id) == id
    }?.clips.entries.map(\.range.end).max()
  }

  /// A value that is set when everything has ended changes nothing, and is nothing that is missed.
  @discardableResult
  private func addLate(_ ramp: Document.Ramp, end: MediaTime, _ what: String, to warnings: inout ProblemList) -> Bool {
    // A time that cannot be computed is a problem, and there are no warnings then.
    let start: MediaTime?
    let isSet: Bool
    switch ramp.when {
    case .over(let written): (start, isSet) = (known(written)?.start, false)
    case .at(let written): (start, isSet) = (known(written), true)
    }
    guard let start, isSet ? end < start : end <= start else { return false }
    warnings.add(
      ramp.pointer, "\(isSet ? "this value is set at" : "this ramp begins at") \(start), not before the end of \(what)")
    return true
  }
}

extension Document.Filter {
  /// The ramps of all its parameters.
  fileprivate var ramps: [Document.Ramp] {
    parameters.flatMap { (parameter) -> [Document.Ramp] in if case .ramps(let ramps) = parameter { ramps } else { [] } }
  }
}

/// A ramp of the document with its times known.
struct PlacedRamp {
  var ramp: Ramp
  var pointer: JSONPointer
}

extension Lowering {
  /// The opacity of something that shows during `range`: its ramps, which are on its own time and within it, times a
  /// constant. Nil where there was a problem.
  mutating func rampList(
    _ local: [PlacedRamp], opacity: Double, within range: MediaTimeRange, owner: String
  ) -> RampList? {
    let found = problems.count
    for entry in local where range.duration < entry.ramp.over.end || entry.ramp.over.start < .zero {
      problems.add(
        entry.pointer,
        "the ramp at \(entry.ramp.over) goes beyond \(owner), which lasts \(seconds(range.duration)); "
          + "its times count from the start of \(owner)")
    }
    guard problems.count == found else { return nil }
    return scaled(local.map(\.ramp), by: opacity, from: .zero).flatMap { ramps in
      exactly(at: local.first?.pointer ?? .root) { () throws(TimeError) in try ramps.shifted(by: range.start) }
    }
  }

  /// The ramps times a constant that holds from `start` on. (Before the first ramp a value is 1, so the constant is a
  /// value set at the start.)
  func scaled(_ ramps: [Ramp], by opacity: Double, from start: MediaTime) -> RampList? {
    var scaled = ramps.map { Ramp(over: $0.over, from: $0.from * opacity, to: $0.to * opacity) }
    let first = min(start, scaled.first?.over.start ?? start)
    if opacity != 1, scaled.first?.over.start != first {
      scaled.insert(Ramp(over: MediaTimeRange(emptyAt: first), from: opacity, to: opacity), at: 0)
    }
    return RampList(scaled)
  }

  /// Ramps in order of time; those that overlap are problems. Nil where there was one.
  mutating func timeline(_ entries: [RampEntry]) -> [PlacedRamp]? {
    let found = problems.count
    var ramps: [PlacedRamp] = []
    for entry in entries {
      let range: MediaTimeRange?
      switch entry.place {
      case .over(let written): range = resolve(written, at: entry.pointer.key("over"))
      case .at(let written):
        range = resolve(written, at: entry.pointer.key("at")).map { MediaTimeRange(emptyAt: $0) }
      }
      if let range {
        ramps.append(PlacedRamp(ramp: Ramp(over: range, from: entry.from, to: entry.to), pointer: entry.pointer))
      }
    }
    let order = ramps.indices.sorted { a, b in
      let (first, second) = (ramps[a].ramp.over, ramps[b].ramp.over)
      return first.start == second.start ? a < b : first.start < second.start
    }
    let sorted = order.map { ramps[$0] }
    for (earlier, later) in zip(sorted, sorted.dropFirst())
    where later.ramp.over.start < earlier.ramp.over.end || later.ramp.over.start == earlier.ramp.over.start {
      problems.add(
        later.pointer,
        "the ramp at \(later.ramp.over) overlaps the one at \(earlier.ramp.over) (\(earlier.pointer.text)); "
          + "a value has one ramp at a time")
    }
    return problems.count == found ? sorted : nil
  }

  /// Volumes on composition time (FEATURES F22, F23).
  mutating func lowerAudioMix() -> AudioMix {
    var mix = AudioMix()
    for (track, entries) in document.audioMix {
      if let ramps = timeline(entries), !ramps.isEmpty { mix.volumes[track] = RampList(ramps.map(\.ramp)) }
    }
    return mix
  }
}

/// The volumes of a track as written: a member of `audioMix`.
struct VolumeEntry: Sendable {
  var track: TrackID
  /// On the composition's timeline.
  var ramps: [RampEntry]
}

extension RampEntry.Quantity {
  /// 1 leaves the samples as they are.
  static let volume = Self(key: "volume", range: 0...10, notYet: ["pitch", "pan"])
}

extension DocumentReader {
  /// Reads `audioMix`. The tracks must be declared already.
  mutating func audioMix(_ value: JSONValue?) -> [VolumeEntry] {
    members(value, "volumes by track, such as {\"music\": 0.5}").map { track, value in
      checkTrack(track, .audio, at: value.pointer)
      if case .number = value.content {
        // The same volume from beginning to end.
        let volume = number(value, in: RampEntry.Quantity.volume.range)
        let ramp = volume.map { RampEntry(place: .at(.seconds(.zero)), from: $0, to: $0, pointer: value.pointer) }
        return VolumeEntry(track: track, ramps: ramp.map { [$0] } ?? [])
      }
      return VolumeEntry(track: track, ramps: ramps(value, of: .volume))
    }
  }
}

extension Lowering {
  /// The volumes on the composition's timeline.
  mutating func lowerAudioMix() -> AudioMix {
    var mix = AudioMix()
    for entry in document.audioMix {
      if let ramps = timeline(entry.ramps), !ramps.isEmpty {
        mix.volumes[entry.track] = RampList(ramps.map(\.ramp))
      }
    }
    for track in tracks where !track.transitions.isEmpty && (track.entry.type == .audio || track.entry.hasSound) {
      let volume = track.audioLanes.first.flatMap { mix.volumes[$0] }
      for (lane, id) in zip(track.clips.lanes, track.audioLanes) {
        mix.volumes[id] = volume
        mix.fades[id] = track.fades(lane.id)
      }
    }
    return mix
  }
}

import CompositionModel

/// Makes the sound task: every audio track of the composition, whole.
struct AudioPlanner {
  let edit: Edit
  let sources: SourceLookup

  func task(_ encoder: AudioSettings) throws(PlanError) -> AudioTask {
    var opened: [PlannedAudioSource] = []
    var tracks: [PlannedAudioTrack] = []
    for track in edit.composition.tracks where track.type == .audio && !track.clips.isEmpty {
      var clips: [PlannedAudioClip] = []
      for clip in track.clips {
        let (asset, description) = try sources.track(of: clip)
        guard let audio = description.audio else {
          throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the sound of '\(clip.asset)'")
        }
        let source = PlannedAudioSource(
          digest: asset.digest, track: description.index, timebase: description.timebase, origin: description.origin,
          audio: audio)
        let index = opened.firstIndex(of: source) ?? opened.count
        if index == opened.count { opened.append(source) }
        clips.append(PlannedAudioClip(source: index, sourceRange: clip.source, targetRange: clip.target))
      }
      tracks.append(PlannedAudioTrack(volume: edit.audioMix.volumes[track.id] ?? .one, clips: clips))
    }
    let sampleCount = try timed("the sound's length") { () throws(TimeError) in
      try (edit.composition.duration.exact * Rational(encoder.sampleRate)).rounded
    }
    guard let sampleCount = Int64(exactly: sampleCount) else {
      throw PlanError(.time(.overflow), "the sound's length")
    }
    return AudioTask(encoder: encoder, sampleCount: sampleCount, tracks: tracks, sources: opened)
  }
}

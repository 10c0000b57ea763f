package import CompositionModel

/// The whole audio of the output, mixed and encoded by one task.
package struct AudioTask: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// round(duration · sampleRate) samples of each channel.
  package var sampleCount: Int64
  package var tracks: [PlannedAudioTrack]
  /// In the order of the task's inputs.
  package var sources: [PlannedAudioSource]

  package init(
    encoder: AudioSettings, sampleCount: Int64, tracks: [PlannedAudioTrack], sources: [PlannedAudioSource]
  ) {
    self.encoder = encoder
    self.sampleCount = sampleCount
    self.tracks = tracks
    self.sources = sources
  }
}

/// An audio track: its clips and its volume.
package struct PlannedAudioTrack: Sendable, Hashable, Codable {
  /// On the composition's timeline.
  package var volume: RampList
  /// With which the volume is multiplied, on the composition's timeline. Nil for a track without cross-fades.
  package var fades: RampList?
  package var clips: [PlannedAudioClip]

  package init(volume: RampList, fades: RampList? = nil, clips: [PlannedAudioClip]) {
    self.volume = volume
    self.fades = fades
    self.clips = clips
  }
}

/// A clip of an audio track.
package struct PlannedAudioClip: Sendable, Hashable, Codable {
  /// Index in `AudioTask.sources`.
  package var source: Int
  /// On the asset's timeline.
  package var sourceRange: MediaTimeRange
  /// On the composition's timeline. It fills the output's samples [round(start·rate), round(end·rate)).
  package var targetRange: MediaTimeRange
  /// True: the last sample is heard first. Nil: forwards.
  package var isReversed: Bool?

  package init(source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange) {
    self.source = source
    self.sourceRange = sourceRange
    self.targetRange = targetRange
  }
}

/// One audio track of one asset.
package struct PlannedAudioSource: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal.
  package var digest: String
  /// The stream's index in the file.
  package var track: Int
  /// Seconds a tick of the stored timestamps.
  package var timebase: MediaTime
  /// The stored timestamp of the asset's time zero.
  package var origin: Int64
  /// The track's. Nil if there are none.
  package var discontinuities: [Discontinuity]?
  package var audio: AudioFormat

  package init(
    digest: String, track: Int, timebase: MediaTime, origin: Int64, discontinuities: [Discontinuity]? = nil,
    audio: AudioFormat
  ) {
    self.discontinuities = discontinuities
    self.digest = digest
    self.track = track
    self.timebase = timebase
    self.origin = origin
    self.audio = audio
  }
}

/// Makes the audio task of an edit, with every audio track of the composition.
struct AudioPlanner {
  let edit: Edit
  let sources: SourceLookup

  func task(_ encoder: AudioSettings) throws(PlanError) -> AudioTask {
    var used: [PlannedAudioSource] = []
    var indices: [PlannedAudioSource: Int] = [:]
    var tracks: [PlannedAudioTrack] = []
    for track in edit.composition.tracks where track.type == .audio && !track.clips.isEmpty {
      var clips: [PlannedAudioClip] = []
      for clip in track.clips {
        let (asset, description) = try sources.track(of: clip)
        guard let audio = description.audio else {
          throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the audio of '\(clip.asset)'")
        }
        let source = PlannedAudioSource(
          digest: asset.digest, track: description.index, timebase: description.timebase, origin: description.origin,
          discontinuities: description.discontinuities, audio: audio)
        let index = indices[source] ?? used.count
        if index == used.count {
          used.append(source)
          indices[source] = index
        }
        guard clip.retiming?.speed == nil else {
          throw PlanError(.changingSpeed(asset: clip.asset), "the audio of '\(clip.asset)' at \(clip.target.start)")
        }
        clips.append(PlannedAudioClip(source: index, sourceRange: clip.source, targetRange: clip.target))
        if clip.retiming.isReversed { clips[clips.count - 1].isReversed = true }
      }
      tracks.append(
        PlannedAudioTrack(
          volume: edit.audioMix.volumes[track.id] ?? .one, fades: edit.audioMix.fades[track.id], clips: clips))
    }
    let sampleCount = try mapErrors(to: PlanError.time("the audio's length")) { () throws(TimeError) in
      try (edit.composition.duration.exact * Rational(encoder.sampleRate)).rounded
    }
    guard let sampleCount = Int64(exactly: sampleCount) else {
      throw PlanError(.time(.overflow), "the audio's length")
    }
    return AudioTask(encoder: encoder, sampleCount: sampleCount, tracks: tracks, sources: used)
  }
}

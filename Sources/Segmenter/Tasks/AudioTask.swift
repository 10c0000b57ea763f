package import CompositionModel

/// The whole audio of the output, mixed and encoded by one task.
package struct AudioTask: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// Samples of each channel: round(end · sampleRate) - round(start · sampleRate) for an output from `start` to `end` of
  /// the composition.
  package var sampleCount: Int64
  package var tracks: [PlannedAudioTrack]
  /// In the order of the task's inputs.
  package var sources: [PlannedAudioSource]
  /// The sample of the composition, round(start · sampleRate), that is the output's first. Nil: 0.
  package var firstSample: Int64?

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
  /// On the composition's timeline. It fills the composition's samples [round(start·rate), round(end·rate)).
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
    let (range, samples) = try exportedSamples(rate: encoder.sampleRate)
    var used: [PlannedAudioSource] = []
    var indices: [PlannedAudioSource: Int] = [:]
    var tracks: [PlannedAudioTrack] = []
    for track in edit.composition.tracks where track.type == .audio && !track.clips.isEmpty {
      var clips: [PlannedAudioClip] = []
      for clip in track.clips where clip.target.start < range.end && range.start < clip.target.end {
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
    var task = AudioTask(encoder: encoder, sampleCount: Int64(samples.count), tracks: tracks, sources: used)
    if samples.lowerBound > 0 { task.firstSample = samples.lowerBound }
    return task
  }

  /// What is exported of the composition, as a range of time and as samples.
  private func exportedSamples(rate: Int) throws(PlanError) -> (range: MediaTimeRange, samples: Range<Int64>) {
    let (range, first, end) = try mapErrors(to: PlanError.time("the audio's length")) { () throws(TimeError) in
      let range = try edit.exportedRange
      return (
        range, try (range.start.exact * Rational(rate)).rounded, try (range.end.exact * Rational(rate)).rounded
      )
    }
    guard let first = Int64(exactly: first), let end = Int64(exactly: end), first <= end else {
      throw PlanError(.time(.overflow), "the audio's length")
    }
    return (range, first..<end)
  }
}

package import CompositionModel

/// The whole audio of the output, mixed and encoded by one task.
package struct AudioTask: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// Samples of each channel: round(end · sampleRate) - round(start · sampleRate) for an output from `start` to `end`
  /// of the composition.
  package var sampleCount: Int64
  package var tracks: [PlannedAudioTrack]
  /// In the order of the task's inputs.
  package var sources: [PlannedAudioSource]
  /// The sample of the composition, round(start · sampleRate), that is the output's first. Nil: 0.
  package var firstSample: Int64?
  /// Of the whole mix. Nil: as it is.
  package var loudness: LoudnessTarget?

  package init(
    encoder: AudioSettings, sampleCount: Int64, tracks: [PlannedAudioTrack], sources: [PlannedAudioSource],
    loudness: LoudnessTarget? = nil
  ) {
    self.loudness = loudness
    self.encoder = encoder
    self.sampleCount = sampleCount
    self.tracks = tracks
    self.sources = sources
  }
}

extension AudioTask {
  /// Whether a sample depends on all that was heard before it, because the filters and the ducking of a track have a
  /// state. What has a state of its own in a clip, such as the clip's filters, begins with the clip.
  package var hasState: Bool {
    tracks.contains { track in
      (track.filters != nil || track.ducking != nil)
        && (!track.clips.isEmpty || track.lanes?.contains { !$0.clips.isEmpty } == true)
    }
  }
}

/// An audio track: its clips, how they are changed together, and its volume.
package struct PlannedAudioTrack: Sendable, Hashable, Codable {
  /// On the composition's timeline.
  package var volume: RampList
  /// With which the volume is multiplied, on the composition's timeline. Nil for a track without cross-fades.
  package var fades: RampList?
  package var clips: [PlannedAudioClip]
  /// From -1 to 1, on the composition's timeline. Nil: 0.
  package var pan: RampList?
  /// Before the volume and the pan. Nil: none.
  package var filters: [AudioFilter]?
  package var ducking: PlannedDucking?
  /// The other lanes of the track, which are mixed with its own clips before the filters. Nil: none.
  package var lanes: [PlannedAudioLane]?

  package init(
    volume: RampList, fades: RampList? = nil, clips: [PlannedAudioClip], pan: RampList? = nil,
    filters: [AudioFilter]? = nil, ducking: PlannedDucking? = nil, lanes: [PlannedAudioLane]? = nil
  ) {
    self.volume = volume
    self.fades = fades
    self.clips = clips
    self.pan = pan
    self.filters = filters
    self.ducking = ducking
    self.lanes = lanes
  }
}

/// Clips of a track that overlap its others by cross-fades.
package struct PlannedAudioLane: Sendable, Hashable, Codable {
  package var fades: RampList?
  package var clips: [PlannedAudioClip]

  package init(fades: RampList? = nil, clips: [PlannedAudioClip]) {
    self.fades = fades
    self.clips = clips
  }
}

/// Lowers a track while another is heard.
package struct PlannedDucking: Sendable, Hashable, Codable {
  /// Index in `AudioTask.tracks`.
  package var under: Int
  package var levels: DuckingLevels

  package init(under: Int, levels: DuckingLevels) {
    self.under = under
    self.levels = levels
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
  /// The speed over the clip's own time. Nil: one speed, at which all of `sourceRange` is played.
  package var speed: SpeedCurve?
  /// Of a clip whose speed is changed. Nil: spectral.
  package var pitch: PitchAlgorithm?
  /// What the source's channels are. Nil: as its format says.
  package var layout: SpeakerLayout?
  /// From -1 to 1, on the composition's timeline. Nil: 0.
  package var pan: RampList?
  /// Before the pan. Nil: none.
  package var filters: [AudioFilter]?

  package init(
    source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange, pitch: PitchAlgorithm? = nil,
    layout: SpeakerLayout? = nil, pan: RampList? = nil, filters: [AudioFilter]? = nil
  ) {
    self.layout = layout
    self.pitch = pitch
    self.pan = pan
    self.filters = filters
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

  private struct Sources {
    var used: [PlannedAudioSource] = []
    var indices: [PlannedAudioSource: Int] = [:]

    mutating func index(of source: PlannedAudioSource) -> Int {
      if let index = indices[source] { return index }
      indices[source] = used.count
      used.append(source)
      return used.count - 1
    }
  }

  func task(_ encoder: AudioSettings) throws(PlanError) -> AudioTask {
    let (range, samples) = try exportedSamples(rate: encoder.sampleRate)
    guard samples.lowerBound > 0 else { return try task(encoder, samples, hearing: range) }
    // A mix that depends on all before the range has the clips before it too.
    let whole = try mapErrors(to: PlanError.time("the audio's length")) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, end: range.end)
    }
    var task = try task(encoder, samples, hearing: whole)
    if !task.hasState { task = try self.task(encoder, samples, hearing: range) }
    task.firstSample = samples.lowerBound
    return task
  }

  /// - Parameter range: Of the composition; clips outside of it are left out.
  private func task(
    _ encoder: AudioSettings, _ samples: Range<Int64>, hearing range: MediaTimeRange
  ) throws(PlanError) -> AudioTask {
    let mix = edit.audioMix
    var used = Sources()
    var tracks: [PlannedAudioTrack] = []
    // By the first lane of a track.
    var places: [TrackID: Int] = [:]
    var duckings: [(place: Int, ducking: Ducking)] = []
    let keys = Set(mix.ducking.values.map(\.under))
    for track in edit.composition.tracks where track.type == .audio && !track.clips.isEmpty {
      let clips = try self.clips(of: track, in: range, &used)
      let id = mix.lanes[track.id] ?? track.id
      // The lanes of a track that nothing changes as a whole are tracks of their own.
      let isWhole = mix.filters[id] != nil || mix.ducking[id] != nil || keys.contains(id)
      if isWhole, let place = places[id] {
        tracks[place].lanes = (tracks[place].lanes ?? []) + [PlannedAudioLane(fades: mix.fades[track.id], clips: clips)]
        continue
      }
      if isWhole { places[id] = tracks.count }
      if let ducking = mix.ducking[id] { duckings.append((tracks.count, ducking)) }
      tracks.append(
        PlannedAudioTrack(
          volume: mix.volumes[track.id] ?? .one, fades: mix.fades[track.id], clips: clips, pan: mix.pans[track.id],
          filters: mix.filters[id]))
    }
    // A track without sound lowers none.
    for (place, ducking) in duckings {
      tracks[place].ducking = places[ducking.under].map { PlannedDucking(under: $0, levels: ducking.levels) }
    }
    return AudioTask(
      encoder: encoder, sampleCount: Int64(samples.count), tracks: tracks, sources: used.used, loudness: mix.loudness)
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

  private func clips(
    of track: CompositionTrack, in range: MediaTimeRange, _ used: inout Sources
  ) throws(PlanError) -> [PlannedAudioClip] {
    var clips: [PlannedAudioClip] = []
    for clip in track.clips where clip.target.start < range.end && range.start < clip.target.end {
      let (asset, description) = try sources.track(of: clip)
      guard let audio = description.audio else {
        throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the audio of '\(clip.asset)'")
      }
      let source = PlannedAudioSource(
        digest: asset.digest, track: description.index, timebase: description.timebase, origin: description.origin,
        discontinuities: description.discontinuities, audio: audio)
      let keepsSpeed = clip.retiming?.speed == nil && clip.source.duration == clip.target.duration
      var planned = PlannedAudioClip(
        source: used.index(of: source), sourceRange: clip.source, targetRange: clip.target,
        pitch: keepsSpeed ? nil : clip.pitch, layout: clip.layout, pan: clip.pan, filters: clip.audioFilters)
      if clip.retiming.isReversed { planned.isReversed = true }
      planned.speed = clip.retiming?.speed
      clips.append(planned)
    }
    return clips
  }
}

import CompositionModel
import RenderTasks

/// Plans a mix of an edit's audio, with every audio track of the composition.
struct AudioPlanner {
  let edit: Edit
  let sources: SourceLookup

  private struct Sources {
    var used: [PlannedAudioSource] = []
    var indices: [PlannedAudioSource: Int] = [:]
    /// The mixes of assets that are edits.
    var nested: [AssetID: AudioMixdown] = [:]

    mutating func index(of source: PlannedAudioSource) -> Int {
      if let index = indices[source] { return index }
      indices[source] = used.count
      used.append(source)
      return used.count - 1
    }
  }

  func mixdown(_ encoder: AudioSettings) throws(PlanError) -> AudioMixdown {
    let (range, samples) = try exportedSamples(rate: encoder.sampleRate)
    guard samples.lowerBound > 0 else { return try mixdown(encoder, samples, hearing: range) }
    // A mix that depends on all before the range has the clips before it too.
    let whole = try mapErrors(to: PlanError.time("the audio's length")) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, end: range.end)
    }
    var mixdown = try mixdown(encoder, samples, hearing: whole)
    if !mixdown.hasState { mixdown = try self.mixdown(encoder, samples, hearing: range) }
    mixdown.firstSample = samples.lowerBound
    return mixdown
  }

  /// - Parameter range: The part of the composition that is heard. Clips outside of it are left out.
  func mixdown(
    _ encoder: AudioSettings, _ samples: Range<Int64>, hearing range: MediaTimeRange
  ) throws(PlanError) -> AudioMixdown {
    let mix = edit.audioMix
    var used = Sources()
    var tracks: [PlannedAudioTrack] = []
    // By the first lane of a track.
    var places: [TrackID: Int] = [:]
    var duckings: [(place: Int, ducking: Ducking)] = []
    let keys = Set(mix.ducking.values.map(\.under))
    for track in edit.composition.tracks where track.type == .audio && !track.clips.isEmpty {
      let clips = try self.clips(of: track, in: range, encoder.sampleRate, &used)
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
    return AudioMixdown(
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
    of track: CompositionTrack, in range: MediaTimeRange, _ sampleRate: Int, _ used: inout Sources
  ) throws(PlanError) -> [PlannedAudioClip] {
    var clips: [PlannedAudioClip] = []
    for clip in track.clips where clip.target.start < range.end && range.start < clip.target.end {
      let (asset, description) = try sources.track(of: clip)
      guard let audio = description.audio else {
        throw PlanError(.noTrack(asset: clip.asset, index: clip.sourceTrack), "the audio of '\(clip.asset)'")
      }
      var source = PlannedAudioSource(
        digest: asset.digest, track: description.index, timebase: description.timebase, origin: description.origin,
        discontinuities: description.discontinuities, audio: audio)
      if used.nested[clip.asset] == nil {
        used.nested[clip.asset] = try nested(clip.asset, audio, sampleRate: sampleRate)
      }
      if let mix = used.nested[clip.asset] {
        (source.audio.sampleRate, source.nested) = (sampleRate, mix)
        source.timebase = MediaTime(value: 1, timescale: Int32(clamping: sampleRate))
      }
      let keepsSpeed = clip.retiming?.speed == nil && clip.source.duration == clip.target.duration
      var planned = PlannedAudioClip(
        source: used.index(of: source), sourceRange: clip.source, targetRange: clip.target,
        pitch: keepsSpeed ? nil : clip.pitch, layout: clip.layout, pan: clip.pan, filters: clip.audioFilters)
      if clip.retiming.isReversed { planned.isReversed = true }
      planned.speed = clip.retiming?.speed
      planned.volume = clip.volume
      planned.channels = clip.audioChannels
      clips.append(planned)
    }
    return clips
  }

  /// The mix of an asset that is an edit: of its whole film, with its own channels and the sample rate of the mix that
  /// plays it. Nil: it is no edit.
  private func nested(_ id: AssetID, _ audio: AudioFormat, sampleRate: Int) throws(PlanError) -> AudioMixdown? {
    guard let (nested, own) = sources.nested(id) else { return nil }
    var mix = try AudioPlanner(edit: nested.edit, sources: own).mixdown(
      AudioSettings(codec: .pcm, bitRate: nil, sampleRate: sampleRate, channels: audio.channels))
    (mix.encoders, mix.loudness) = ([], nil)
    return mix
  }
}

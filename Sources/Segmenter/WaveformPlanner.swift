import CompositionModel
import RenderTasks

/// Plans pictures of sound: the clips of one track, or an asset, as a mix of one channel without what has a state.
struct WaveformPlanner {
  let edit: Edit
  let sources: SourceLookup

  /// - Parameters:
  ///   - over: When the overlay is shown.
  ///   - shown: The times of the first and the last frame of the segment that show it, on the composition's timeline.
  ///   - start: That of the segment.
  func plan(
    _ waveform: Waveform, over: MediaTimeRange, shown: ClosedRange<MediaTime>, start: MediaTime
  ) throws(PlanError) -> PlannedWaveform {
    let origin: MediaTime
    let tracks: [CompositionTrack]
    switch waveform.sound {
    case .track(let id):
      origin = .zero
      tracks = edit.composition.tracks.filter { $0.type == .audio && (edit.audioMix.lanes[$0.id] ?? $0.id) == id }
    case .asset(let id, let index):
      origin = over.start
      tracks = [try track(of: id, index)]
    }
    let (samples, range, local) = try mapErrors(to: PlanError.time("the waveform over \(over)")) {
      () throws(TimeError) in
      let (samples, range) = try Self.blocks(
        of: waveform, from: shown.lowerBound - origin, to: shown.upperBound - origin)
      return (samples, range, try start - origin)
    }
    var heard = edit
    heard.audioMix = AudioMix(volumes: edit.audioMix.volumes, fades: edit.audioMix.fades)
    heard.composition.tracks = tracks.map(Self.plain)
    var mix = try AudioPlanner(edit: heard, sources: sources).mixdown(
      AudioSettings(codec: .pcm, bitRate: nil, sampleRate: PlannedWaveform.sampleRate, channels: 1), samples,
      hearing: range)
    mix.encoders = []
    var shownOnly = waveform
    shownOnly.sound = .track("")
    return PlannedWaveform(shownOnly, mix: mix, start: local)
  }

  /// The whole blocks that are shown, as samples from 0 on, and as the range of time of which clips are heard.
  private static func blocks(
    of waveform: Waveform, from first: MediaTime, to last: MediaTime
  ) throws(TimeError) -> (Range<Int64>, MediaTimeRange) {
    let rate = Rational(PlannedWaveform.sampleRate)
    // Bars that are partly seen at both ends take in more than the width.
    let reach = try PlannedWaveform.samples(of: waveform) * 2
    let block = PlannedWaveform.blockSize
    let from = Int64(clamping: try (first.exact * rate).floor) - reach
    let to = Int64(clamping: try (last.exact * rate).ceiling) + reach
    let start = max(0, from) / block * block
    let end = max(start + block, (max(0, to) + block - 1) / block * block)
    let timescale = Int32(PlannedWaveform.sampleRate)
    return (
      0..<end,
      try MediaTimeRange(
        start: MediaTime(value: max(0, start - PlannedWaveform.runUp), timescale: timescale),
        end: MediaTime(value: end, timescale: timescale))
    )
  }

  /// A track without what depends on all that was heard before.
  private static func plain(_ track: CompositionTrack) -> CompositionTrack {
    var plain = track
    plain.clips = track.clips.map { clip in
      var clip = clip
      (clip.audioFilters, clip.pan) = (nil, nil)
      // Every sample is at its exact time.
      clip.pitch = .varispeed
      return clip
    }
    return plain
  }

  /// A track of the sound of an asset.
  private func track(of id: AssetID, _ index: Int) throws(PlanError) -> CompositionTrack {
    guard let asset = sources.assets[id], let found = asset.description.tracks.first(where: { $0.index == index })
    else {
      throw PlanError(.noTrack(asset: id, index: index), "the waveform of '\(id)'")
    }
    let range = found.range
    var track = CompositionTrack(id: "", type: .audio)
    track.clips = [Clip(asset: id, sourceTrack: index, source: range, target: range)]
    return track
  }
}

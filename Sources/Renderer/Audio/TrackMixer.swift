import CMedia
import CompositionModel
import Media
import Segmenter

/// Mixes one track: its clips one after another, at the track's volume. Each clip is opened when its first sample is mixed
/// and closed after its last.
struct TrackMixer {
  private let volume: VolumeCurve
  /// With which the volume is multiplied.
  private let fades: VolumeCurve?
  /// The samples of a block with their fades.
  private var faded: SampleBlock?
  private let clips: [(placement: ClipPlacement, clip: PlannedAudioClip)]
  private var next = 0
  private var playing: ClipOpener.OpenClip?

  /// - Parameter firstSample: The sample of the composition that is the output's first.
  init(
    _ track: PlannedAudioTrack, rate: Int, firstSample: Int64 = 0, sampleCount: Int64
  ) throws(TimeError) {
    volume = try VolumeCurve(track.volume, rate: rate)
    fades = try track.fades.map { fades throws(TimeError) in try VolumeCurve(fades, rate: rate) }
    var clips: [(placement: ClipPlacement, clip: PlannedAudioClip)] = []
    for clip in track.clips {
      let placement = try ClipPlacement(clip, rate: rate, firstSample: firstSample, sampleCount: sampleCount)
      if !placement.output.isEmpty { clips.append((placement, clip)) }
    }
    self.clips = clips
  }

  /// Adds the track's part of `samples` to `mix`, whose first sample is the first of `samples`. Successive calls pass
  /// successive ranges. `scratch` has the size of `mix`.
  mutating func add(
    _ samples: Range<Int64>, to mix: SampleBlock, scratch: SampleBlock, opening opener: ClipOpener
  ) throws(RenderError) {
    while next < clips.count, clips[next].placement.output.lowerBound < samples.upperBound {
      let (placement, clip) = clips[next]
      let part = placement.output.clamped(to: samples)
      if !part.isEmpty {
        let current: ClipOpener.OpenClip
        if let playing { current = playing } else { current = try opener.open(clip, placement) }
        playing = current
        let offset = Int(part.lowerBound - samples.lowerBound)
        try current.stream.read(into: scratch, SampleRange(start: offset, count: part.count))
        try mixIn(
          part, try fade(part, scratch, origin: samples.lowerBound), to: mix, volume, origin: samples.lowerBound)
      }
      guard placement.output.upperBound <= samples.upperBound else { return }
      if let playing { opener.close(playing) }
      playing = nil
      next += 1
    }
  }

  /// The samples of a block at the volume of the fades.
  private mutating func fade(
    _ samples: Range<Int64>, _ block: SampleBlock, origin: Int64
  ) throws(RenderError) -> SampleBlock {
    guard let fades else { return block }
    let result = faded ?? SampleBlock(channels: block.channels, capacity: block.capacity)
    faded = result
    result.clear(Int(samples.lowerBound - origin), samples.count)
    try mixIn(samples, block, to: result, fades, origin: origin)
    return result
  }

  private func mixIn(
    _ samples: Range<Int64>, _ block: SampleBlock, to mix: SampleBlock, _ volume: VolumeCurve, origin: Int64
  ) throws(RenderError) {
    let runs = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in try volume.runs(in: samples) }
    for run in runs {
      let (start, count) = (Int(run.samples.lowerBound - origin), run.samples.count)
      for channel in 0..<mix.channels {
        let (to, from) = (mix.row(channel) + start, block.row(channel) + start)
        switch run.shape {
        case .constant(1): sheaf_mix_add(to, from, count)
        case .constant(let gain): sheaf_mix_scaled(to, from, gain, count)
        case .line(let start, let rise, let first, let step, let whole):
          sheaf_mix_line(to, from, start, rise, first, step, whole, count)
        }
      }
    }
  }
}

/// A clip's place among the output's samples and in its asset, computed exactly from absolute times, so that neighbouring
/// clips share their edit point.
struct ClipPlacement: Sendable, Equatable {
  /// The composition's samples [round(start · rate), round(end · rate)), limited to those that the output has.
  let output: Range<Int64>
  /// Seconds of the asset that are played in a second of the output. Positive.
  let speed: Rational
  /// The first sample of an asset that has the output's own rate: round(source start · rate). Of a reversed clip it is that
  /// of the reversed asset, whose time is minus the asset's.
  let alignedSource: Int64
  /// The time, in seconds, of the asset, or the reversed one, at the sample `output.lowerBound`.
  let sourceStart: Rational

  /// `rate` is the output's, in samples a second. `firstSample` is the sample of the composition that is the output's first,
  /// and `sampleCount` is the output's length.
  init(_ clip: PlannedAudioClip, rate: Int, firstSample: Int64 = 0, sampleCount: Int64) throws(TimeError) {
    let rate = Rational(rate)
    let start = try ClipPlacement.sample(at: clip.targetRange.start, rate: rate)
    let end = try ClipPlacement.sample(at: clip.targetRange.end, rate: rate)
    let limit = firstSample + sampleCount
    let first = min(max(firstSample, start), limit)
    output = first..<max(first, min(end, limit))
    speed =
      clip.sourceRange.duration == clip.targetRange.duration
      ? .one : try clip.sourceRange.duration / clip.targetRange.duration
    let source = clip.isReversed == true ? try .zero - clip.sourceRange.end : clip.sourceRange.start
    alignedSource = try ClipPlacement.sample(at: source, rate: rate) + (first - start)
    let elapsed = try Rational(first) / rate - clip.targetRange.start.exact
    sourceStart = try source.exact + elapsed * speed
  }

  /// The sample nearest to a time; halves are rounded away from zero.
  private static func sample(at time: MediaTime, rate: Rational) throws(TimeError) -> Int64 {
    guard let sample = Int64(exactly: try (time.exact * rate).rounded) else { throw .overflow }
    return sample
  }
}

/// Opens clips as streams at the output's rate and channels, with no more conversion than each needs: if rate, channels
/// and speed are the output's, samples are copied.
final class ClipOpener {
  struct OpenClip {
    let stream: any SampleStream
    fileprivate let track: DecodedTrack
    fileprivate let source: Int
  }

  private let task: AudioTask
  private let inputs: [String: any ByteSource]
  private let movement: Movement?
  private let damage: DamageLog?
  /// Tracks that no clip uses, the latest last. The next clip often continues where one ended.
  private var idle: [(source: Int, track: DecodedTrack)] = []
  private static let maximumIdle = 8

  /// - Parameters:
  ///   - movement: Advanced with every packet that is read and every block of samples that is decoded.
  ///   - damage: Receives the damaged packets whose samples are read.
  init(
    _ task: AudioTask, inputs: [String: any ByteSource], movement: Movement? = nil, damage: DamageLog? = nil
  ) {
    self.damage = damage
    self.movement = movement
    self.task = task
    self.inputs = inputs
  }

  func open(_ clip: PlannedAudioClip, _ placement: ClipPlacement) throws(RenderError) -> OpenClip {
    guard task.sources.indices.contains(clip.source) else {
      throw RenderError(
        .task, "a clip names source \(clip.source); the task has \(task.sources.count), counted from 0")
    }
    let planned = task.sources[clip.source]
    guard planned.audio.sampleRate > 0, planned.audio.channels > 0 else {
      throw RenderError(.task, "source \(clip.source) has no sample rate or no channels")
    }
    let track = try track(clip.source, planned, near: clip.isReversed == true ? nil : placement)
    let samples: any SampleSource = clip.isReversed == true ? try reversed(track, clip) : track
    let (rate, channels) = (task.encoder.sampleRate, task.encoder.channels)
    let plan = ChannelPlan(from: planned.audio, to: channels)
    let isStretched = placement.speed != .one
    let runUp = isStretched ? StretchedStream.runUp(sampleRate: rate) : 0
    let stream: any SampleStream
    if plan == .same, planned.audio.sampleRate == rate {
      stream = CopiedStream(samples, from: placement.alignedSource - Int64(runUp))
    } else {
      let start = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
        try placement.sourceStart - Rational(Int128(runUp), Int128(rate))
      }
      stream = try ConvertedStream(samples, plan: plan, start: start, outputRate: rate, outputChannels: channels)
    }
    guard isStretched else { return OpenClip(stream: stream, track: track, source: clip.source) }
    let stretched = try StretchedStream(stream, tempo: placement.speed, sampleRate: rate, channels: channels)
    return OpenClip(stream: stretched, track: track, source: clip.source)
  }

  /// Keeps the track of a finished clip for the next one.
  func close(_ clip: OpenClip) {
    idle.append((clip.source, clip.track))
    if idle.count > Self.maximumIdle { idle.removeFirst() }
  }

  private func reversed(_ track: DecodedTrack, _ clip: PlannedAudioClip) throws(RenderError) -> ReversedTrack {
    let (first, end) = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      let rate = Rational(track.sampleRate)
      return (
        Int64(clamping: try (clip.sourceRange.start.exact * rate).floor),
        Int64(clamping: try (clip.sourceRange.end.exact * rate).ceiling)
      )
    }
    // A conversion reads a little more than the clip has.
    return ReversedTrack(track, from: max(0, first), count: end - first + Int64(track.sampleRate / 4))
  }

  /// - Parameter placement: Nil: what is read first is not known.
  private func track(
    _ source: Int, _ planned: PlannedAudioSource, near placement: ClipPlacement?
  ) throws(RenderError) -> DecodedTrack {
    if let placement {
      let start = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
        Int64(clamping: try (placement.sourceStart * Rational(planned.audio.sampleRate)).floor)
      }
      if let index = idle.lastIndex(where: { $0.source == source && $0.track.isNear(start) }) {
        return idle.remove(at: index).track
      }
    }
    guard let input = inputs[planned.digest] else {
      throw RenderError(.task, "source \(source), \(planned.digest), is not among the task's inputs")
    }
    return DecodedTrack(planned, input: input, movement: movement, damage: damage)
  }
}

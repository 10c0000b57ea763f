import CompositionModel
import Media
import RenderTasks

/// Mixes the clips of one track, one after another, at the track's volume. Each clip is opened when its first sample is
/// mixed and closed after its last.
struct TrackMixer {
  private let volume: VolumeCurve
  /// With which the volume is multiplied.
  private let fades: VolumeCurve?
  /// The samples of a block at the volume of their clip, and with their fades.
  private var (levelled, faded): (SampleBlock?, SampleBlock?)
  private let clips: [PlacedClip]
  private var next = 0
  private var playing: ClipOpener.OpenClip?

  private struct PlacedClip {
    var placement: ClipPlacement
    var clip: PlannedAudioClip
    var pan: PanCurve?
    var volume: VolumeCurve?
  }

  /// - Parameter samples: The samples of the composition that are mixed.
  init(
    _ clips: [PlannedAudioClip], volume: RampList, fades: RampList?, rate: Int, samples: Range<Int64>
  ) throws(TimeError) {
    self.volume = try VolumeCurve(volume, rate: rate)
    self.fades = try fades.map { fades throws(TimeError) in try VolumeCurve(fades, rate: rate) }
    var placed: [PlacedClip] = []
    for clip in clips {
      let placement = try ClipPlacement(
        clip, rate: rate, firstSample: samples.lowerBound, sampleCount: Int64(samples.count))
      let pan = try clip.pan.map { pan throws(TimeError) in try PanCurve(pan, rate: rate) }
      let volume = try clip.volume.map { volume throws(TimeError) in try VolumeCurve(volume, rate: rate) }
      if !placement.output.isEmpty {
        placed.append(PlacedClip(placement: placement, clip: clip, pan: pan, volume: volume))
      }
    }
    self.clips = placed
  }

  /// Adds the track's part of `samples` to `mix`, whose first sample is the first of `samples`. Successive calls pass
  /// successive ranges. `scratch` has the size of `mix`.
  mutating func add(
    _ samples: Range<Int64>, to mix: SampleBlock, scratch: SampleBlock, opening opener: ClipOpener
  ) throws(RenderError) {
    while next < clips.count, clips[next].placement.output.lowerBound < samples.upperBound {
      let placed = clips[next]
      let (placement, clip) = (placed.placement, placed.clip)
      let part = placement.output.clamped(to: samples)
      if !part.isEmpty {
        let current: ClipOpener.OpenClip
        if let playing { current = playing } else { current = try opener.open(clip, placement) }
        playing = current
        let offset = Int(part.lowerBound - samples.lowerBound)
        try current.stream.read(into: scratch, SampleRange(start: offset, count: part.count))
        let origin = samples.lowerBound
        try placed.pan?.apply(part, to: scratch, origin: origin)
        let levelled = try Self.multiply(part, scratch, by: placed.volume, into: &levelled, origin: origin)
        let faded = try Self.multiply(part, levelled, by: fades, into: &faded, origin: origin)
        try volume.add(part, of: faded, to: mix, origin: origin)
      }
      guard placement.output.upperBound <= samples.upperBound else { return }
      if let playing { opener.close(playing) }
      playing = nil
      next += 1
    }
  }

  /// The samples of a block at a volume.
  /// - Parameter memory: Where they are put.
  private static func multiply(
    _ samples: Range<Int64>, _ block: SampleBlock, by volume: VolumeCurve?, into memory: inout SampleBlock?,
    origin: Int64
  ) throws(RenderError) -> SampleBlock {
    guard let volume else { return block }
    let result = memory ?? SampleBlock(channels: block.channels, capacity: block.capacity)
    memory = result
    result.clear(Int(samples.lowerBound - origin), samples.count)
    try volume.add(samples, of: block, to: result, origin: origin)
    return result
  }
}

/// A clip's place among the output's samples and in its asset, computed exactly from absolute times, so that
/// neighbouring clips share their edit point.
struct ClipPlacement: Sendable, Equatable {
  /// The composition's samples [round(start · rate), round(end · rate)), limited to those that the output has.
  let output: Range<Int64>
  /// How many samples of the clip are before `output`.
  let skipped: Int64
  /// Seconds of the asset that are played in a second of the output. Positive. 1 if it changes.
  let speed: Rational
  /// The asset's sample at the clip's first, if its rate is the output's: round(source start · rate). Of a reversed
  /// clip it is that of the reversed asset, whose time is minus the asset's.
  let alignedSource: Int64
  /// The time, in seconds, of the asset, or the reversed one, at the start of the clip.
  let source: Rational
  /// The same at the clip's first sample, at `speed`.
  let sourceStart: Rational
  /// The time from the start of the clip, in seconds, of its first sample: it is half a sample beside it at most.
  let firstTime: Rational

  /// `rate` is the output's, in samples a second. `firstSample` is the sample of the composition that is the output's
  /// first, and `sampleCount` is the output's length.
  init(_ clip: PlannedAudioClip, rate: Int, firstSample: Int64 = 0, sampleCount: Int64) throws(TimeError) {
    let rate = Rational(rate)
    let start = try ClipPlacement.sample(at: clip.targetRange.start, rate: rate)
    let end = try ClipPlacement.sample(at: clip.targetRange.end, rate: rate)
    let limit = firstSample + sampleCount
    let first = min(max(firstSample, start), limit)
    output = first..<max(first, min(end, limit))
    skipped = first - start
    speed =
      clip.speed != nil || clip.sourceRange.duration == clip.targetRange.duration
      ? .one : try clip.sourceRange.duration / clip.targetRange.duration
    let played = clip.isReversed == true ? try .zero - clip.sourceRange.end : clip.sourceRange.start
    source = try played.exact
    alignedSource = try ClipPlacement.sample(at: played, rate: rate)
    firstTime = try Rational(start) / rate - clip.targetRange.start.exact
    sourceStart = try source + firstTime * speed
  }

  /// About the time of the asset that is read first.
  func firstTimeRead(of clip: PlannedAudioClip, rate: Int) throws(TimeError) -> Rational {
    clip.hasState || clip.speed != nil ? source : try sourceStart + Rational(Int128(skipped), Int128(rate)) * speed
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
    fileprivate let track: any SharedSource
    fileprivate let source: Int
  }

  private let mix: AudioMixdown
  private let inputs: [String: any ByteSource]
  private let liveness: Liveness?
  private let damage: DamageLog?
  /// Tracks that no clip uses, the latest last. The next clip often continues where one ended.
  private var idle: [(source: Int, track: any SharedSource)] = []
  private static let maximumIdle = 8

  /// - Parameters:
  ///   - liveness: Advanced with every packet that is read and every block of samples that is decoded.
  ///   - damage: Receives the damaged packets whose samples are read.
  init(
    _ mix: AudioMixdown, inputs: [String: any ByteSource], liveness: Liveness? = nil, damage: DamageLog? = nil
  ) {
    self.damage = damage
    self.liveness = liveness
    self.mix = mix
    self.inputs = inputs
  }

  func open(_ clip: PlannedAudioClip, _ placement: ClipPlacement) throws(RenderError) -> OpenClip {
    guard mix.sources.indices.contains(clip.source) else {
      throw RenderError(
        .task, "a clip names source \(clip.source); the mix has \(mix.sources.count), counted from 0")
    }
    let planned = mix.sources[clip.source]
    guard planned.audio.sampleRate > 0, planned.audio.channels > 0 else {
      throw RenderError(.task, "source \(clip.source) has no sample rate or no channels")
    }
    let time = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      clip.isReversed == true ? nil : try placement.firstTimeRead(of: clip, rate: mix.sampleRate)
    }
    let track = try track(clip.source, planned, near: time)
    let heard: any SampleSource = if let channels = clip.channels { try ChosenChannels(track, channels) } else { track }
    let samples: any SampleSource = clip.isReversed == true ? try reversed(heard, clip) : heard
    let (rate, channels) = (mix.sampleRate, mix.channels)
    var format = planned.audio
    if let channels = clip.channels { (format.channels, format.layout) = (channels.count, "") }
    if let layout = clip.layout {
      guard layout.channels == format.channels else {
        throw RenderError(.task, "a clip of \(format.channels) channels cannot have the layout \(layout.rawValue)")
      }
      format.layout = layout.rawValue
    }
    let plan = ChannelPlan(from: format, to: channels)
    var stream = try stream(clip, placement, of: samples, plan: plan, rate: rate, channels: channels)
    if let filters = clip.filters, !filters.isEmpty {
      stream = try FilteredStream(stream, filters, sampleRate: rate, channels: channels)
    }
    if clip.hasState { try drop(placement.skipped, of: stream, channels: channels) }
    return OpenClip(stream: stream, track: track, source: clip.source)
  }

  /// Reads the first samples of a clip, which are not heard but decide about those that are.
  private func drop(_ count: Int64, of stream: any SampleStream, channels: Int) throws(RenderError) {
    guard count > 0 else { return }
    let block = SampleBlock(channels: channels, capacity: 8192)
    func read() throws(RenderError) {
      for start in stride(from: 0, to: count, by: block.capacity) {
        try stream.read(into: block, SampleRange(start: 0, count: Int(min(Int64(block.capacity), count - start))))
        liveness?.advance()
      }
    }
    if let damage { try damage.leavingOut(read) } else { try read() }
  }

  private func stream(
    _ clip: PlannedAudioClip, _ placement: ClipPlacement, of track: any SampleSource, plan: ChannelPlan, rate: Int,
    channels: Int
  ) throws(RenderError) -> any SampleStream {
    let isCopied = plan == .same && track.sampleRate == rate
    let skipped = clip.hasState ? 0 : placement.skipped
    let pitch = clip.pitch ?? .spectral
    if let curve = clip.speed {
      let path = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
        try SourcePath(
          curve, from: placement.source, sourceRate: pitch == .varispeed ? track.sampleRate : rate, outputRate: rate,
          firstTime: placement.firstTime)
      }
      if pitch == .varispeed {
        return try VarispeedStream(track, plan: plan, path, skipping: skipped, outputChannels: channels)
      }
      return VariableStretchStream(path, outputRate: rate, outputChannels: channels) { (first) throws(RenderError) in
        if isCopied { return CopiedStream(track, from: first.whole) }
        let start = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
          try first.exact / Rational(rate)
        }
        return try ConvertedStream(track, plan: plan, start: start, outputRate: rate, outputChannels: channels)
      }
    }
    guard placement.speed != .one else {
      if isCopied { return CopiedStream(track, from: placement.alignedSource + skipped) }
      return try ConvertedStream(
        track, plan: plan, start: placement.sourceStart, skipping: skipped, outputRate: rate, outputChannels: channels)
    }
    if pitch == .varispeed {
      return try ConvertedStream(
        track, plan: plan, start: placement.sourceStart, speed: placement.speed, skipping: skipped, outputRate: rate,
        outputChannels: channels)
    }
    let stretcher = try TimeStretcher(pitch, tempo: placement.speed, sampleRate: rate, channels: channels)
    let (start, first) = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      let start = try placement.sourceStart - Rational(Int128(stretcher.runUp), Int128(rate))
      return (start, Int64(clamping: try (start * Rational(rate)).rounded))
    }
    let input: any SampleStream =
      isCopied
      ? CopiedStream(track, from: first)
      : try ConvertedStream(track, plan: plan, start: start, outputRate: rate, outputChannels: channels)
    return StretchedStream(input, stretcher)
  }

  /// Keeps the track of a finished clip for the next one.
  func close(_ clip: OpenClip) {
    idle.append((clip.source, clip.track))
    if idle.count > Self.maximumIdle { idle.removeFirst() }
  }

  private func reversed(_ track: any SampleSource, _ clip: PlannedAudioClip) throws(RenderError) -> ReversedTrack {
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

  /// - Parameter time: On the asset's timeline, in seconds: of the first sample that is read, or a little after it.
  ///   Nil: it is not known.
  private func track(
    _ source: Int, _ planned: PlannedAudioSource, near time: Rational?
  ) throws(RenderError) -> any SharedSource {
    if let time {
      let start = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
        Int64(clamping: try (time * Rational(planned.audio.sampleRate)).floor)
      }
      if let index = idle.lastIndex(where: { $0.source == source && $0.track.isNear(start) }) {
        return idle.remove(at: index).track
      }
    }
    if let nested = planned.nested {
      return NestedMix(nested, opening: ClipOpener(nested, inputs: inputs, liveness: liveness, damage: damage))
    }
    guard let input = inputs[planned.digest] else {
      throw RenderError(.task, "source \(source), \(planned.digest), is not among the task's inputs")
    }
    return DecodedTrack(planned, input: input, liveness: liveness, damage: damage)
  }
}

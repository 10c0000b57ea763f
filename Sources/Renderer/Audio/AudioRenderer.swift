import CompositionModel
package import Media
package import RenderTasks

/// Mixes the whole audio of the output and encodes it once.
///
/// - Every clip fills the output's samples [round(start · rate), round(end · rate)). If its rate, its channels and
///   its speed are the output's, its samples are copied, from round(source start · rate) on: at volume 1 an integer
///   codec decodes to the source's own samples.
/// - Otherwise rate and channels are converted by libswresample, with the first sample at its exact time, and the speed
///   is changed with the pitch kept.
/// - Tracks are added in 32-bit float, without normalisation: samples beyond full scale are clipped where they are
///   encoded, as in AVFoundation's mixer. A document that adds loud tracks should lower their volumes.
/// - A track with filters or ducking is mixed, filtered, and then gets its volume, its pan and its ducking. With a
///   target of loudness the mix is measured first, and gets a gain, and a limiter where its true peaks would be too
///   high; what a lossy codec made of it is measured too.
/// - Where nothing plays, or a source has no samples (it starts late, ends early, or has a gap), there is silence.
package enum AudioRenderer {
  /// About how many samples are mixed at a time: few enough to stay in the processor's cache.
  private static let blockSize = 8192

  /// Writes the pieces of the outputs' audio as a package. What has the same sample rate and channels is mixed once.
  /// - Parameters:
  ///   - inputs: The sources' files by digest.
  ///   - descriptor: An empty file that can be read. The caller closes it.
  ///   - liveness: Advanced with every packet that is read, every block of samples that is decoded or mixed, and every
  ///     packet that the encoder returns.
  ///   - progress: Called with the number of finished samples, which only rises, a few times for each second of audio.
  /// - Returns: The damaged packets whose samples are heard, which the pieces have too. Each has the time of the block
  ///   of samples that it is mixed in.
  /// - Throws: `.task` for an invalid payload, `.media` if a source cannot be decoded or the encoder refuses,
  ///   `.infrastructure` if this machine ran out of something. The file is then no package.
  @discardableResult
  package static func render(
    _ task: AudioTask, inputs: [String: any ByteSource], to descriptor: Int32, liveness: Liveness? = nil,
    progress: (Int64) -> Void
  ) throws(RenderError) -> ShownDamage {
    let parts = PackageParts(descriptor: descriptor, count: task.encoders.count)
    var (number, done) = (0, Int64(0))
    var shown: ShownDamage?
    for mix in task.mixes {
      let before = done
      let damage = try render(mix, from: number, of: parts, inputs: inputs, liveness: liveness) {
        progress(before + $0)
      }
      // Every mix hears the same.
      shown = shown ?? damage
      number += mix.encoders.count
      done += mix.sampleCount
    }
    try mapErrors(to: RenderError.during("writing the pieces")) { () throws(MediaError) in try parts.finish() }
    return shown ?? ShownDamage()
  }

  /// Mixes the audio, and encodes it in one or more ways.
  /// - Parameter number: The number of its first piece.
  private static func render(
    _ mixdown: AudioMixdown, from number: Int, of parts: PackageParts, inputs: [String: any ByteSource],
    liveness: Liveness?, progress: (Int64) -> Void
  ) throws(RenderError) -> ShownDamage {
    try check(mixdown)
    let damage = DamageLog()
    var outputs: [AudioPieceEncoder] = []
    for (index, encoder) in mixdown.encoders.enumerated() {
      outputs.append(
        try AudioPieceEncoder(
          encoder, to: PackagedPiece(number: number + index, package: parts), sampleCount: mixdown.sampleCount,
          part: mixdown.part, measured: mixdown.loudness != nil, liveness))
    }
    // Whole frames of each encoder.
    let frames = outputs.map(\.frameSize).reduce(1) { leastCommonMultiple($0, $1) }
    let mix = FilmMix(
      mixdown: mixdown, inputs: inputs, liveness: liveness, blockSize: frames * max(1, blockSize / frames))
    if let loudness = mixdown.loudness {
      try encode(mix, to: outputs, with: loudness, damage, progress)
    } else {
      try mix.forEachBlock(Mastering(), damage: damage) { (block, samples) throws(RenderError) in
        for output in outputs { try output.encode(block, count: samples.count) }
        progress(samples.upperBound)
      }
      for output in outputs { _ = try output.end() }
    }
    for output in outputs { try output.finish(damage.damage) }
    if mixdown.loudness != nil { progress(mixdown.sampleCount) }
    return damage.damage
  }

  /// Throws if a mix has numbers that nothing can be rendered with, or is not what its encoders encode.
  private static func check(_ mix: AudioMixdown) throws(RenderError) {
    let channelCounts = AudioSettings.channelCounts
    guard mix.sampleRate > 0, channelCounts.contains(mix.channels), mix.sampleCount >= 0 else {
      throw RenderError(
        .task,
        "\(mix.channels) channels at \(mix.sampleRate) Hz and \(mix.sampleCount) samples cannot be rendered; "
          + "possible are \(channelCounts.map(String.init).joined(separator: ", ")) channels")
    }
    let firstSample = mix.firstSample ?? 0
    guard firstSample >= 0, !firstSample.addingReportingOverflow(mix.sampleCount).overflow else {
      throw RenderError(.task, "\(mix.sampleCount) samples from sample \(firstSample) on cannot be rendered")
    }
    if let part = mix.part {
      let end = part.origin.addingReportingOverflow(mix.sampleCount)
      guard part.origin >= 0, !end.overflow, !part.samples.isEmpty, part.samples.lowerBound >= part.origin,
        part.samples.upperBound <= end.partialValue, mix.loudness == nil
      else {
        throw RenderError(
          .task,
          "the part \(part.samples) of the sound has to be within its mix, of \(mix.sampleCount) samples from "
            + "\(part.origin) on, which has no target of loudness")
      }
    }
    guard !mix.encoders.isEmpty else { throw RenderError(.task, "a mix that is encoded for no output") }
    for encoder in mix.encoders where !mix.isMix(of: encoder) {
      throw RenderError(
        .task,
        "a mix of \(mix.channels) channels at \(mix.sampleRate) Hz that is encoded as \(encoder.channels) channels at "
          + "\(encoder.sampleRate) Hz")
    }
  }

  /// Encodes a mix that is brought to a loudness, in as many passes as it takes: first the mix is measured, then each
  /// output is encoded and heard, until what it encodes has the loudness too.
  private static func encode(
    _ mix: FilmMix, to outputs: [AudioPieceEncoder], with loudness: LoudnessTarget, _ damage: DamageLog,
    _ progress: (Int64) -> Void
  ) throws(RenderError) {
    let mixdown = mix.mixdown
    var passes = RenderPasses(sampleCount: mixdown.sampleCount)
    var unchanged: LoudnessMeter?
    func mastering(
      for target: LoudnessTarget, after encoded: Mastering.Found? = nil, dips: [Int: Double] = [:]
    ) throws(RenderError) -> Mastering.Found {
      try Mastering.find(target, after: encoded, dips: dips) { (mastering) throws(RenderError) in
        if mastering == Mastering(), let unchanged { return unchanged }
        let meter = try LoudnessMeter(sampleRate: mixdown.sampleRate, channels: mixdown.channels)
        try mix.forEachBlock(mastering, damage: nil) { (block, samples) throws(RenderError) in
          try meter.add(block, count: samples.count)
          progress(passes.advance(to: samples.upperBound, isLast: false))
        }
        if mastering == Mastering() { unchanged = meter }
        return meter
      }
    }
    let first = try mastering(for: loudness)
    passes.finishPass()
    var log: DamageLog? = damage
    var waiting = outputs.map { (output: $0, mastering: first, search: EncodedLoudness(loudness)) }
    // Outputs whose mix has the same mastering are encoded together.
    while let next = waiting.first?.mastering {
      let group = waiting.filter { $0.mastering == next }
      waiting.removeAll { $0.mastering == next }
      let isLast = waiting.isEmpty && group.allSatisfy { !$0.output.isMeasured }
      try mix.forEachBlock(next.mastering, damage: log) { (block, samples) throws(RenderError) in
        for (output, _, _) in group { try output.encode(block, count: samples.count) }
        progress(passes.advance(to: samples.upperBound, isLast: isLast))
      }
      passes.finishPass()
      log = nil
      for (output, found, search) in group {
        guard let heard = try output.end() else { continue }
        var search = search
        var step = search.next(after: found, heard: heard)
        if case .search(let target, let dips) = step {
          let next = try mastering(for: target, after: found, dips: dips)
          if search.hasTried(next.mastering) {
            step = search.end(after: found)
          } else {
            waiting.append((output, next, search))
          }
        }
        switch step {
        case .accepted: continue
        case .search: break
        case .takeBest(let best):
          output.acceptsNext()
          waiting.append((output, best, search))
        }
        try output.begin()
      }
    }
  }

  private static func leastCommonMultiple(_ a: Int, _ b: Int) -> Int {
    var (divisor, rest) = (a, b)
    while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
    return a / divisor * b
  }
}

/// The mix, in blocks of samples.
private struct FilmMix {
  let mixdown: AudioMixdown
  let inputs: [String: any ByteSource]
  let liveness: Liveness?
  /// In samples.
  let blockSize: Int

  /// How many blocks are mixed ahead of the encoder.
  private static let blocksAhead = 4

  /// Mixes the sound from its first sample on, in a thread of its own, and passes on each block with the range of its
  /// samples.
  /// - Parameter damage: Gets the damaged packets whose samples are heard.
  func forEachBlock(
    _ mastering: Mastering, damage: DamageLog?, _ body: (SampleBlock, Range<Int64>) throws(RenderError) -> Void
  ) throws(RenderError) {
    let blocks = try mapErrors(to: RenderError.during("mixing the audio")) { () throws(MediaError) in
      try Pipeline<SampleBlock, RenderError>(
        count: blockCount, ahead: Self.blocksAhead
      ) { () throws(RenderError) in
        let mix = try open(mastering, damage)
        return { index throws(RenderError) in
          let samples = samples(ofBlock: index)
          let first = (mixdown.part?.origin ?? 0) + samples.lowerBound
          damage?.move(to: Double(first) / Double(mixdown.sampleRate))
          let block = SampleBlock(channels: mixdown.channels, capacity: blockSize)
          func fill() throws(RenderError) { try mix.mix(samples.count, into: block) }
          // What is heard beside a part is in another part.
          let isShown = mixdown.part.map { $0.samples.overlaps(first..<first + Int64(samples.count)) } ?? true
          if isShown { try fill() } else if let damage { try damage.leavingOut(fill) } else { try fill() }
          liveness?.advance()
          return block
        }
      }
    }
    defer { blocks.finish() }
    for index in 0..<blockCount {
      try body(try blocks.next(), samples(ofBlock: index))
    }
  }

  private var blockCount: Int { Int((mixdown.sampleCount + Int64(blockSize) - 1) / Int64(blockSize)) }

  private func samples(ofBlock index: Int) -> Range<Int64> {
    let start = Int64(index) * Int64(blockSize)
    return start..<min(mixdown.sampleCount, start + Int64(blockSize))
  }

  /// The mix from its first sample on: filters have heard what is before it.
  private func open(_ mastering: Mastering, _ damage: DamageLog?) throws(RenderError) -> MasteredMix {
    let opener = ClipOpener(mixdown, inputs: inputs, liveness: liveness, damage: damage)
    let mixer = try FilmMixer(mixdown, opening: opener, capacity: blockSize)
    let firstSample = mixdown.firstSample ?? 0
    let block = SampleBlock(channels: mixdown.channels, capacity: blockSize)
    func runUp() throws(RenderError) {
      while mixer.position < firstSample {
        try mixer.mix(Int(min(Int64(blockSize), firstSample - mixer.position)), into: block)
        liveness?.advance()
      }
    }
    if let damage { try damage.leavingOut(runUp) } else { try runUp() }
    return try MasteredMix(mixer, mastering, sampleRate: mixdown.sampleRate, channels: mixdown.channels)
  }
}

/// How far a sound is that is mixed several times. Each pass that may not be the last one counts as half of what is
/// left.
private struct RenderPasses {
  let sampleCount: Int64
  /// The part that is left for this pass and the next ones.
  private var left = 1.0
  private var reported: Int64 = 0

  init(sampleCount: Int64) { self.sampleCount = sampleCount }

  /// The number of samples to report when a pass has come to a sample. It never falls.
  mutating func advance(to sample: Int64, isLast: Bool) -> Int64 {
    let share = left * Double(sample) / Double(max(1, sampleCount)) * (isLast ? 1 : 0.5)
    reported = max(reported, min(sampleCount, Int64((1 - left + share) * Double(sampleCount))))
    return reported
  }

  mutating func finishPass() { left /= 2 }
}

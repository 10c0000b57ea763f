import CKernels
import CompositionModel
import Media

/// Where a clip with a speed that changes is in its source at each of its samples: the exact integral of the speed.
struct SourcePath: Sendable, Equatable {
  /// Samples over which the speed changes linearly. Sample k is at whole + fraction + v · (step + bend / 2 · v), where
  /// v is k - first + elapsed.
  struct Run: Sendable, Equatable {
    /// The number of the run's first sample among the clip's.
    var first: Int64
    /// The place in the source where the speed begins to change so, in samples of the source.
    var whole: Int64
    var fraction: Double
    /// The first sample's distance from there, in samples of the clip.
    var elapsed: Double
    /// Samples of the source a sample of the clip, there, and how much they rise with each.
    var step: Double
    var bend: Double

    /// In samples of the source, from `whole` on.
    func distance(at sample: Int64) -> Double {
      let v = Double(sample - first) + elapsed
      return fraction + v * (step + bend / 2 * v)
    }

    func step(at sample: Int64) -> Double { step + bend * (Double(sample - first) + elapsed) }
  }

  /// At least one, in order. The last has no end.
  let runs: [Run]

  /// - Parameters:
  ///   - start: The time of the source at the start of the clip, in seconds.
  ///   - firstTime: The time of the clip's first sample, in seconds from the start of the clip.
  init(
    _ curve: SpeedCurve, from start: Rational, sourceRate: Int, outputRate: Int, firstTime: Rational
  ) throws(TimeError) {
    let (sourceRate, outputRate) = (Rational(sourceRate), Rational(outputRate))
    var runs: [Run] = []
    var played = Rational.zero
    for stretch in try curve.stretches {
      let first = try runs.isEmpty ? 0 : max(0, ((stretch.start - firstTime) * outputRate).ceiling)
      let place = try (start + played) * sourceRate
      guard let first = Int64(exactly: first), let whole = Int64(exactly: place.floor) else { throw .overflow }
      let elapsed = try Rational(first) - (stretch.start - firstTime) * outputRate
      let unit = try sourceRate / outputRate
      var run = Run(
        first: first, whole: whole, fraction: try (place - Rational(place.floor)).approximate,
        elapsed: elapsed.approximate, step: try (stretch.from * unit).approximate, bend: 0)
      if let end = stretch.end {
        let rise = try (stretch.to - stretch.from) / (end - stretch.start)
        run.bend = try (rise * unit / outputRate).approximate
        played = try played + stretch.played(until: end)
      }
      // A stretch without a sample is followed by one that starts at the same.
      if runs.last?.first == first { runs.removeLast() }
      runs.append(run)
    }
    self.runs = runs
  }

  /// The run of a sample of the clip, and the first sample after it.
  func run(at sample: Int64) -> (run: Run, end: Int64) {
    let next = runs.firstIndex { $0.first > sample } ?? runs.count
    return (runs[max(0, next - 1)], next < runs.count ? runs[next].first : .max)
  }

  /// The greatest number of samples of the source from one sample of the clip to the next.
  var fastest: Double {
    var fastest = 0.0
    for (index, run) in runs.enumerated() {
      fastest = max(fastest, run.step(at: run.first))
      if index + 1 < runs.count { fastest = max(fastest, run.step(at: runs[index + 1].first)) }
    }
    return fastest
  }
}

/// A source's samples at a speed that changes, with the pitch that follows it. Each sample is at its exact time.
final class VarispeedStream: SampleStream {
  /// How many samples are made at a time at most.
  private static let longest: Int64 = 256

  private let source: any SampleSource
  private let mixer: SampleConverter?
  private let path: SourcePath
  private let resampler: OpaquePointer
  private let reach: Int64
  /// The clip's sample that is read next.
  private var position: Int64
  /// The source's samples from `start` on, in the output's channels, of which there are `count`.
  private let kept: SampleBlock
  private var start: Int64 = 0
  private var count = 0

  /// - Parameter skipped: How many of the clip's samples are left out.
  init(
    _ source: any SampleSource, plan: ChannelPlan, _ path: SourcePath, skipping skipped: Int64, outputChannels: Int
  ) throws(RenderError) {
    self.source = source
    self.path = path
    position = skipped
    mixer =
      switch plan {
      case .same: nil
      case .mixed(let mixing):
        try mapErrors(to: RenderError.caused(.task, "audio cannot be converted to the output's format")) {
          () throws(MediaError) in
          try SampleConverter(
            fromRate: source.sampleRate, channels: source.channels, toRate: source.sampleRate,
            channels: outputChannels, mixing: mixing)
        }
      }
    let fastest = path.fastest
    guard let resampler = sheaf_varispeed_open(fastest) else {
      throw RenderError(.infrastructure, "there is no memory for a change of speed")
    }
    self.resampler = resampler
    reach = sheaf_varispeed_reach(resampler)
    kept = SampleBlock(
      channels: outputChannels, capacity: Int(2 * reach) + Int(Double(Self.longest) * fastest) + 4096)
  }

  deinit { sheaf_varispeed_close(resampler) }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      let (run, end) = path.run(at: position)
      let part = min(Int64(range.count - filled), end - position, Self.longest)
      let (first, last) = (run.distance(at: position), run.distance(at: position + part - 1))
      try keep(
        run.whole + Int64(first.rounded(.down)) - reach...run.whole + Int64(last.rounded(.down)) + reach)
      let place = SheafPath(
        whole: run.whole - start, fraction: run.fraction, count: position - run.first, elapsed: run.elapsed,
        step: run.step, bend: run.bend)
      block.withRows(from: range.start + filled) { to in
        kept.withConstantRows { from in
          sheaf_varispeed_run(
            resampler, place, UnsafePointer(to), from, Int32(block.channels), Int(part))
        }
      }
      position += part
      filled += Int(part)
    }
  }

  /// Reads the source's samples of a range, unless they are kept.
  private func keep(_ range: ClosedRange<Int64>) throws(RenderError) {
    let held = start..<start + Int64(count)
    if held.contains(range.lowerBound), held.contains(range.upperBound) { return }
    if held.contains(range.lowerBound) {
      let dropped = Int(range.lowerBound - start)
      count -= dropped
      for channel in 0..<kept.channels {
        let row = kept.row(channel)
        row.update(from: row + dropped, count: count)
      }
    } else {
      count = 0
    }
    start = range.lowerBound
    let added = kept.capacity - count
    let position = start + Int64(count)
    if let mixer {
      let samples = SampleBlock(channels: source.channels, capacity: added)
      let mixed = SampleBlock(channels: kept.channels, capacity: added)
      try source.read(at: position, into: samples, SampleRange(start: 0, count: added))
      let converted = try mapErrors(to: RenderError.caused(.infrastructure, "audio could not be converted")) {
        () throws(MediaError) in try mixer.convert(samples, into: mixed)
      }
      guard converted == added else {
        throw RenderError(.infrastructure, "\(added) samples became \(converted) of other channels")
      }
      kept.copy(mixed, from: 0, to: count, count: added)
    } else {
      try source.read(at: position, into: kept, SampleRange(start: count, count: added))
    }
    count = kept.capacity
  }
}

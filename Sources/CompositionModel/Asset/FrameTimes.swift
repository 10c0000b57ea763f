/// The presentation times of a track's frames, rising, in ticks of its timebase. They are kept as runs of equal steps,
/// so that a track of constant rate takes one run whatever its length.
public struct FrameTimes: Sendable, Hashable, Codable {
  /// `count` times: `start`, `start + step`, …
  public struct Run: Sendable, Hashable, Codable {
    /// The first time, in ticks.
    public var start: Int64
    /// Ticks from one frame to the next; positive, or zero if `count` is 1.
    public var step: Int64
    public var count: Int

    public init(start: Int64, step: Int64, count: Int) {
      self.start = start
      self.step = step
      self.count = count
    }

    var last: Int64 { start + step * Int64(count - 1) }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let fields = try container.decode([Int64].self)
      guard fields.count == 3, fields[2] > 0 else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "a run is [start, step, count]")
      }
      self.init(start: fields[0], step: fields[1], count: Int(fields[2]))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode([start, step, Int64(count)])
    }
  }

  /// In order of time.
  public private(set) var runs: [Run]

  /// From times in rising order. Equal neighbours are one frame.
  public init(_ times: some Sequence<Int64>) {
    runs = []
    for time in times {
      guard var run = runs.last else {
        runs.append(Run(start: time, step: 0, count: 1))
        continue
      }
      let step = time - run.last
      if step == 0 { continue }
      if run.count == 1 || run.step == step {
        run.step = step
        run.count += 1
        runs[runs.count - 1] = run
      } else {
        runs.append(Run(start: time, step: 0, count: 1))
      }
    }
  }

  /// The number of frames.
  public var count: Int { runs.reduce(0) { $0 + $1.count } }
  public var first: Int64? { runs.first?.start }
  public var last: Int64? { runs.last?.last }

  /// The greatest time that is not after `time`. Nil if all are after it.
  public func last(atOrBefore time: Int64) -> Int64? {
    let next = runs.partitionPoint { time < $0.start }
    guard next > 0 else { return nil }
    let run = runs[next - 1]
    guard run.step > 0 else { return run.start }
    return run.start + run.step * min((time - run.start) / run.step, Int64(run.count - 1))
  }

  /// All times, rising.
  public var times: [Int64] {
    runs.flatMap { run in (0..<run.count).map { run.start + run.step * Int64($0) } }
  }
}

/// The conversion from an asset's timeline to the timestamps that its container stores.
public enum StoredTime {
  /// The constant rate behind rounded times: frame n is due n/rate after the first.
  public struct Cadence: Sendable, Hashable, Codable {
    /// The first frame's stored timestamp, in ticks.
    public var first: Int64
    /// Frames a second; each lasts three ticks or more, and is stored within one of its true time.
    public var rate: MediaTime

    public init(first: Int64, rate: MediaTime) {
      self.first = first
      self.rate = rate
    }
  }

  /// The greatest tick that is due at a time of the asset's timeline: the frame to show is the last one whose stored
  /// timestamp is not after this tick.
  ///
  /// With exact timestamps a tick is due when it is not after the time. Matroska, WebM and FLV round the times of 30
  /// frames a second to 0, 33, 67, 100 ms, so that a frame's true time may be half a tick before its stored one. Such a
  /// frame must not wait for its stored time, or two frames in three would be shown one frame too late. If the rate
  /// is constant, the true times are known and used. Elsewhere, ticks up to half a tick after the time are due if time
  /// zero is exact. If time zero is a rounded time itself, both roundings add up to less than a tick, and the next tick
  /// is due.
  /// - Parameters:
  ///   - timebase: seconds a tick.
  ///   - origin: the tick of the asset's time zero.
  ///   - isRounded: whether the container rounds times to its ticks.
  ///   - cadence: the constant rate behind the rounded times, if it is known.
  public static func lastTick(
    dueAt time: Rational, timebase: MediaTime, origin: Int64, isRounded: Bool, cadence: Cadence? = nil
  ) throws(TimeError) -> Int64 {
    let ticks = try time / timebase.exact
    if isRounded, let cadence {
      let sinceFirst = try time - timebase.exact * Rational(cadence.first - origin)
      let frame = try (sinceFirst * cadence.rate.exact).floor
      // This tick lies between this frame's stored time and the next one's, whichever way both were rounded.
      if frame >= 0 {
        let place = try (Rational(frame) / (cadence.rate.exact * timebase.exact)).floor + 1
        return Int64(clamping: place + Int128(cadence.first))
      }
    }
    let due = !isRounded ? ticks.floor : origin == 0 ? try (ticks + Rational(1, 2)).floor : ticks.ceiling
    return Int64(clamping: due + Int128(origin))
  }
}

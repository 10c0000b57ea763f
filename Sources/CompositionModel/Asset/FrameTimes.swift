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

    package var last: Int64 { start + step * Int64(count - 1) }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let fields = try container.decode([Int64].self)
      guard fields.count == 3, (1...FrameTimes.greatestCount).contains(fields[2]), fields.areTicks,
        fields[2] == 1 ? fields[1] >= 0 : fields[1] > 0,
        case (let length, let overflow) = fields[1].multipliedReportingOverflow(by: fields[2] - 1), !overflow,
        case (let last, let isTooLate) = fields[0].addingReportingOverflow(length), !isTooLate,
        StoredTime.ticks.contains(last)
      else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription:
            "\(fields) is not [start, step, count] of times within \(StoredTime.ticks) that rise, and of at most "
            + "\(FrameTimes.greatestCount)")
      }
      self.init(start: fields[0], step: fields[1], count: Int(fields[2]))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode([start, step, Int64(count)])
    }
  }

  /// The most frames of a track: those of 25 days at 60 a second.
  package static let greatestCount: Int64 = 1 << 27

  /// In order of time.
  public private(set) var runs: [Run]

  private enum CodingKeys: CodingKey {
    case runs
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    runs = try container.decode([Run].self, forKey: .runs)
    guard zip(runs, runs.dropFirst()).allSatisfy({ $0.last < $1.start }) else {
      throw DecodingError.dataCorruptedError(
        forKey: .runs, in: container, debugDescription: "the times do not rise from run to run")
    }
    // Each run is within the range, and a description of 64 MB has less than 2^24 of them: the sum fits 64 bits.
    guard count <= Self.greatestCount else {
      throw DecodingError.dataCorruptedError(
        forKey: .runs, in: container,
        debugDescription: "there are \(count) times, more than \(Self.greatestCount)")
    }
  }

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

  /// `count` times from 0 on, a tick from each to the next.
  package init(count: Int) {
    runs = count > 0 ? [Run(start: 0, step: count > 1 ? 1 : 0, count: count)] : []
  }

  /// The number of frames.
  public var count: Int { runs.reduce(0) { $0 + $1.count } }
  public var first: Int64? { runs.first?.start }
  public var last: Int64? { runs.last?.last }

  /// The mean of the ticks from one frame to the next; 1 of a single frame.
  package var averageStep: Double {
    guard let first, let last, last > first else { return 1 }
    return (Double(last) - Double(first)) / Double(count - 1)
  }

  /// The greatest time that is not after `time`. Nil if all are after it.
  public func last(atOrBefore time: Int64) -> Int64? {
    let next = runs.partitionPoint { time < $0.start }
    guard next > 0 else { return nil }
    let run = runs[next - 1]
    guard run.step > 0 else { return run.start }
    return run.start + run.step * min((time - run.start) / run.step, Int64(run.count - 1))
  }

  /// The first time that is after `time`. Nil if there is none.
  package func first(after time: Int64) -> Int64? {
    let next = runs.partitionPoint { time < $0.start }
    if next > 0, let last = last(atOrBefore: time), last < runs[next - 1].last { return last + runs[next - 1].step }
    return next < runs.count ? runs[next].start : nil
  }

  /// The frames of equal steps from a frame on. Nil if there is no frame at this time.
  package func run(from time: Int64) -> Run? {
    let next = runs.partitionPoint { time < $0.start }
    guard next > 0 else { return nil }
    let run = runs[next - 1]
    guard time <= run.last, run.step > 0 ? (time - run.start) % run.step == 0 : time == run.start else { return nil }
    let passed = run.step > 0 ? Int((time - run.start) / run.step) : 0
    return Run(start: time, step: run.step, count: run.count - passed)
  }

  /// The number of the frame at a time, from 0. Nil if there is none.
  package func index(of time: Int64) -> Int? {
    var before = 0
    for run in runs {
      guard run.last < time else {
        guard run.start <= time, run.step > 0 ? (time - run.start) % run.step == 0 : time == run.start else {
          return nil
        }
        return before + (run.step > 0 ? Int((time - run.start) / run.step) : 0)
      }
      before += run.count
    }
    return nil
  }

  /// The time of a frame by its number from 0. Nil if there are fewer.
  package func time(at index: Int) -> Int64? {
    var left = index
    for run in runs {
      if left < run.count { return left < 0 ? nil : run.start + run.step * Int64(left) }
      left -= run.count
    }
    return nil
  }

  /// The first time that is not before `time`. Nil if there is none.
  package func first(atOrAfter time: Int64) -> Int64? {
    if let last = last(atOrBefore: time), last == time { return last }
    return first(after: time)
  }

  /// The times within a range, rising.
  package func times(in range: ClosedRange<Int64>) -> some Sequence<Int64> {
    sequence(state: first(atOrAfter: range.lowerBound)) { next in
      guard let time = next, time <= range.upperBound else { return nil }
      next = self.first(after: time)
      return time
    }
  }

  /// All times, rising.
  public var times: [Int64] {
    runs.flatMap { run in (0..<run.count).map { run.start + run.step * Int64($0) } }
  }
}

import Digest
import FarmAPI
import Jobs

/// How long segments take for their planned work, as the last ones of a build did: the same for each of them, whatever
/// is in it; then on average for their work; and those that show a file in relation to that. Pictures with much detail
/// take an encoder longer than the plan knows, in every film. Pure.
struct SegmentTimes: Sendable {
  /// For how many segments the average counts beside those of a file.
  private static let usualSegments = 1.0

  /// The fewest segments from which the overhead is estimated.
  private static let fewestForOverhead = 8

  /// Seconds that each segment takes besides those for its work: a process is started, files are opened, a result is
  /// sent. 0: it is not known.
  let overhead: Double
  /// Seconds for a megapixel, besides. Nil: too little was measured.
  let pace: Double?
  private let files: [String: Double]

  init(_ segments: [MeasuredSegment]) {
    var segments = segments.filter { $0.work > 0 && $0.seconds > 0 && $0.seconds.isFinite }
    guard segments.count >= RenderingPace.fewest else {
      (overhead, pace, files) = (0, nil, [:])
      return
    }
    overhead = Self.overhead(of: segments)
    for index in segments.indices {
      segments[index].seconds = Self.seconds(segments[index].seconds, without: overhead)
    }
    let pace = segments.reduce(0) { $0 + $1.seconds } / segments.reduce(0) { $0 + $1.work }
    let typical = segments.reduce(0) { $0 + $1.seconds } / Double(segments.count) * Self.usualSegments
    var (took, due): ([String: Double], [String: Double]) = ([:], [:])
    for segment in segments {
      for file in segment.inputs ?? [] {
        took[file, default: typical] += segment.seconds
        due[file, default: typical] += segment.work * pace
      }
    }
    self.pace = pace
    files = took.reduce(into: [:]) { $0[$1.key] = $1.value / (due[$1.key] ?? $1.value) }
  }

  /// The line through the segments at which their relative errors are least, where there is no work. It is at most half
  /// of what the quickest take: they have some work too.
  private static func overhead(of segments: [MeasuredSegment]) -> Double {
    guard segments.count >= fewestForOverhead else { return 0 }
    let weights = segments.map { 1 / max($0.seconds * $0.seconds, 0.04) }
    let whole = weights.reduce(0, +)
    func mean(_ value: (MeasuredSegment) -> Double) -> Double {
      zip(weights, segments).reduce(0) { $0 + $1.0 * value($1.1) } / whole
    }
    let (work, seconds) = (mean(\.work), mean(\.seconds))
    let spread = mean { ($0.work - work) * ($0.work - work) }
    guard spread > 0 else { return 0 }
    let slope = mean { ($0.work - work) * ($0.seconds - seconds) } / spread
    let quickest = segments.map(\.seconds).sorted()[segments.count / 20]
    return max(0, min(seconds - slope * work, quickest / 2))
  }

  /// What a segment took for its work, at least a tenth of all.
  static func seconds(_ took: Double, without overhead: Double) -> Double { max(took - overhead, took / 10) }

  /// How much longer segments with these inputs take than others of the same planned work. 1: it is not known.
  func factor(_ inputs: [SHA256Digest]) -> Double {
    let known = inputs.compactMap { files[MeasuredSegment.name(of: $0)] }
    return known.isEmpty ? 1 : known.reduce(0, +) / Double(known.count)
  }
}

extension MeasuredSegment {
  init(seconds: Double, work: Double, inputs: [SHA256Digest]) {
    self.init(seconds: seconds, work: work, inputs: inputs.map(Self.name))
  }

  /// A part of a digest tells one file from another.
  static func name(of input: SHA256Digest) -> String { String(input.hex.prefix(12)) }
}

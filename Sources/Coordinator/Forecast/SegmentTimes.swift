import Digest
import FarmAPI
import Jobs

/// How long segments take for their planned work, as the last ones of a build did: on average, and those that show a
/// file in relation to that. Pictures with much detail take an encoder longer than the plan knows, in every film. Pure.
struct SegmentTimes: Sendable {
  /// For how many segments the average counts beside those of a file.
  private static let usualSegments = 1.0

  /// Seconds for a megapixel. Nil: too little was measured.
  let pace: Double?
  private let files: [String: Double]

  init(_ segments: [MeasuredSegment]) {
    let segments = segments.filter { $0.work > 0 && $0.seconds > 0 && $0.seconds.isFinite }
    guard segments.count >= RenderingPace.fewest else {
      (pace, files) = (nil, [:])
      return
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

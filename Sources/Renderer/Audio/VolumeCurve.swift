import CKernels
import CompositionModel
import Media

/// A track's volume, or another value of it, at each sample of the output, where sample k is at k/rate seconds: a
/// `RampList`, which is 1 before the first ramp and keeps its last value after each ramp.
struct VolumeCurve: Sendable {
  /// Consecutive samples over which the volume is constant or linear. An eased ramp has many.
  struct Run: Sendable, Equatable {
    var samples: Range<Int64>
    var shape: Shape
  }

  enum Shape: Sendable, Equatable {
    case constant(Float)
    /// start + rise · ((first + step · i) / whole) at the run's sample i, from 0. `first`, `step` and `whole` are whole
    /// numbers that a Double holds exactly, so the position on the ramp is rounded once, by the division.
    case line(start: Double, rise: Double, first: Double, step: Double, whole: Double)
  }

  /// A ramp from its first sample to the next ramp's.
  private struct Piece: Sendable {
    var first: Int64
    /// The first sample with the ramp's last value.
    var held: Int64
    var ramp: Ramp
    /// Position at sample k: (scale · k + offset) / whole.
    var scale: Rational
    var offset: Rational
  }

  private let pieces: [Piece]
  /// An easing that goes beyond its ends is limited to them.
  private let limits: ClosedRange<Double>

  /// `rate` is in samples a second.
  init(_ list: RampList, rate: Int, limits: ClosedRange<Double> = 0...10) throws(TimeError) {
    self.limits = limits
    var pieces: [Piece] = []
    for ramp in list.ramps {
      let start = try ramp.over.start.exact * Rational(rate)
      let end = try ramp.over.end.exact * Rational(rate)
      var piece = Piece(
        first: Self.clamp(start.ceiling), held: Self.clamp(end.ceiling), ramp: ramp, scale: .zero, offset: .zero)
      if start < end {
        piece.scale = try Rational.one / (end - start)
        piece.offset = try -(start * piece.scale)
      }
      pieces.append(piece)
    }
    self.pieces = pieces
  }

  private static func clamp(_ sample: Int128) -> Int64 {
    Int64(clamping: sample)
  }

  /// The runs that make up `samples`, in order.
  func runs(in samples: Range<Int64>) throws(TimeError) -> [Run] {
    var runs: [Run] = []
    var position = samples.lowerBound
    var index = pieces.lastIndex { $0.first <= position }
    while position < samples.upperBound {
      let next = (index ?? -1) + 1
      let end = min(samples.upperBound, next < pieces.count ? max(position, pieces[next].first) : samples.upperBound)
      if let index {
        let piece = pieces[index]
        let held = min(max(piece.held, position), end)
        if position < held {
          switch piece.ramp.easing {
          case nil, .linear?:
            runs.append(Run(samples: position..<held, shape: try Self.line(piece, position..<held)))
          case .hold?: runs.append(Run(samples: position..<held, shape: .constant(Float(piece.ramp.from))))
          case let easing?: runs += try eased(piece, easing, position..<held)
          }
        }
        if held < end {
          runs.append(Run(samples: held..<end, shape: .constant(Float(piece.ramp.to))))
        }
      } else if position < end {
        runs.append(Run(samples: position..<end, shape: .constant(1)))
      }
      position = end
      index = next < pieces.count ? next : index
    }
    return runs
  }

  /// A longer ramp is evaluated at every 64th sample and is linear between them, where that is right half-way within
  /// `exactness`; where the curve bends more, it is evaluated at every sample.
  private static let longestExact: Int64 = 8192
  private static let distance: Int64 = 64
  /// 120 dB below a volume of 1.
  private static let exactness = 1e-6

  /// The runs of an eased ramp. Where they start depends on the ramp alone.
  private func eased(_ piece: Piece, _ easing: Easing, _ samples: Range<Int64>) throws(TimeError) -> [Run] {
    let (longestExact, distance) = (Self.longestExact, Self.distance)
    let rise = piece.ramp.to - piece.ramp.from
    func value(_ sample: Int64) throws(TimeError) -> Double {
      let position = try (piece.scale * Rational(sample) + piece.offset).approximate
      return min(limits.upperBound, max(limits.lowerBound, piece.ramp.from + rise * easing(position)))
    }
    let isExact = piece.held - piece.first <= longestExact
    var runs: [Run] = []
    var start = samples.lowerBound
    while start < samples.upperBound {
      if isExact {
        runs.append(Run(samples: start..<(start + 1), shape: .constant(Float(try value(start)))))
        start += 1
        continue
      }
      let lower = max(piece.first, start - (start % distance + distance) % distance)
      let upper = min(piece.held, start - (start % distance + distance) % distance + distance)
      let (from, to) = (try value(lower), try value(upper))
      let end = min(upper, samples.upperBound)
      let middle = (lower + upper) / 2
      let onLine = from + (to - from) * Double(middle - lower) / Double(upper - lower)
      guard abs(try value(middle) - onLine) <= Self.exactness else {
        while start < end {
          runs.append(Run(samples: start..<(start + 1), shape: .constant(Float(try value(start)))))
          start += 1
        }
        continue
      }
      runs.append(
        Run(
          samples: start..<end,
          shape: .line(
            start: from, rise: to - from, first: Double(start - lower), step: 1, whole: Double(upper - lower))))
      start = end
    }
    return runs
  }

  private static func line(_ piece: Piece, _ samples: Range<Int64>) throws(TimeError) -> Shape {
    let (start, rise) = (piece.ramp.from, piece.ramp.to - piece.ramp.from)
    if rise == 0 { return .constant(Float(start)) }
    let atFirst = try piece.scale * Rational(samples.lowerBound) + piece.offset
    // Both as fractions of one denominator.
    let divisor = try Rational(atFirst.denominator, piece.scale.denominator)
    let (whole, overflow) = atFirst.denominator.multipliedReportingOverflow(by: divisor.denominator)
    if !overflow {
      let first = try atFirst * Rational(whole)
      let step = try piece.scale * Rational(whole)
      let last = try first + step * Rational(Int64(samples.count))
      let exactLimit = Rational(Int64(1) << 53)
      if last < exactLimit, step < exactLimit, Rational(whole) < exactLimit {
        return .line(
          start: start, rise: rise, first: first.approximate, step: step.approximate, whole: Rational(whole).approximate
        )
      }
    }
    // The numbers are too large for a Double to hold exactly: the values are the nearest that it can hold.
    return .line(start: start, rise: rise, first: atFirst.approximate, step: piece.scale.approximate, whole: 1)
  }
}

extension VolumeCurve {
  /// Adds a block at the volume to `mix`. The first sample of both is `origin`.
  func add(_ samples: Range<Int64>, of block: SampleBlock, to mix: SampleBlock, origin: Int64) throws(RenderError) {
    let runs = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in try self.runs(in: samples) }
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

/// Where a sound is between left and right at each sample of the output: a `RampList` from -1 to 1. The speakers of the
/// other side become quieter, linearly, and nothing becomes louder: ffmpeg's stereo balance.
struct PanCurve: Sendable {
  private let curve: VolumeCurve

  init(_ list: RampList, rate: Int) throws(TimeError) {
    curve = try VolumeCurve(list, rate: rate, limits: -1...1)
  }

  /// 1 for a left speaker, -1 for a right one, and 0 for one in the middle, of libavutil's mono, stereo, 5.1 and 7.1.
  static func side(ofChannel channel: Int, of channels: Int) -> Double {
    let sides: [Double] = channels == 1 ? [0] : [1, -1, 0, 0, 1, -1, 1, -1]
    return sides.indices.contains(channel) ? sides[channel] : 0
  }

  /// Changes a block, whose first sample is `origin`.
  func apply(_ samples: Range<Int64>, to block: SampleBlock, origin: Int64) throws(RenderError) {
    let runs = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in try curve.runs(in: samples) }
    for run in runs where run.shape != .constant(0) {
      let (start, count) = (Int(run.samples.lowerBound - origin), run.samples.count)
      for channel in 0..<block.channels {
        let side = Self.side(ofChannel: channel, of: block.channels)
        guard side != 0 else { continue }
        let row = block.row(channel) + start
        switch run.shape {
        case .constant(let pan): sheaf_pan_line(row, side, Double(pan), 0, 0, 0, 1, count)
        case .line(let start, let rise, let first, let step, let whole):
          sheaf_pan_line(row, side, start, rise, first, step, whole, count)
        }
      }
    }
  }
}

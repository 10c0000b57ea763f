internal import CMedia
internal import CompositionModel

/// The cadence of a track.
enum NominalRate {
  /// The rate that the file names, if its most frequent frame step is that rate's rounded to ticks; else the rate of that
  /// step. In frames a second.
  static func of(_ stream: UnsafeMutablePointer<AVStream>, times: [Int64]) -> MediaTime {
    let named = [stream.pointee.r_frame_rate, stream.pointee.avg_frame_rate].filter { $0.num > 0 && $0.den > 0 }
    guard let step = mostFrequentStep(times) else {
      return named.last.map(rate) ?? MediaTime(value: 25, timescale: 1)
    }
    let timebase = stream.pointee.time_base
    for candidate in named {
      let exact = Double(candidate.den) / Double(candidate.num) * Double(timebase.den) / Double(timebase.num)
      if abs(exact - Double(step)) < 1 { return rate(candidate) }
    }
    var (numerator, denominator): (Int32, Int32) = (0, 1)
    av_reduce(&numerator, &denominator, Int64(timebase.den), step &* Int64(timebase.num), Int64(Int32.max))
    return rate(AVRational(num: max(1, numerator), den: max(1, denominator)))
  }

  /// Ticks; the least of those that are equally frequent, so that the answer depends on nothing else.
  static func mostFrequentStep(_ times: [Int64]) -> Int64? {
    var counts: [Int64: Int] = [:]
    for (time, next) in zip(times, times.dropFirst()) where next > time { counts[next - time, default: 0] += 1 }
    return counts.max { $0.value == $1.value ? $0.key > $1.key : $0.value < $1.value }?.key
  }

  private static func rate(_ rate: AVRational) -> MediaTime {
    MediaTime(value: Int64(rate.num), timescale: rate.den)
  }
}

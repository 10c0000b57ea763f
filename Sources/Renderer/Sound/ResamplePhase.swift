import CompositionModel

/// How a sample rate conversion starts so that its first wanted sample falls on the right time.
///
/// A converter's first output lies exactly on its first input, and output m on input m · sourceRate/outputRate. So the
/// place of the first wanted sample, which is seldom on a sample of the source, is met by starting earlier and
/// discarding as many outputs as brings the grid nearest to it. The discarded part also fills the filter with what is
/// really heard before.
struct ResamplePhase: Sendable, Equatable {
  /// The source's sample to start with.
  let firstSource: Int64
  /// Outputs to discard.
  let discarded: Int64

  /// The most outputs that are tried: with them every usual pair of rates comes within 1/300 of a source sample.
  private static let longest: Int128 = 1024

  /// `sourceStart` is the wanted time in seconds on the source's clock; `runUp` is the least number of source samples
  /// to start early.
  init(sourceStart: Rational, sourceRate: Int, outputRate: Int, runUp: Int) throws(TimeError) {
    let wanted = try sourceStart * Rational(sourceRate)
    let step = try Rational(Int128(sourceRate), Int128(outputRate))
    let least = try (Rational(runUp) / step).ceiling
    // The fraction of a source sample by which the grid misses, in parts of `whole`, for each number of outputs.
    let (whole, overflow) = wanted.denominator.multipliedReportingOverflow(by: step.denominator)
    let (stride, strideOverflow) = wanted.denominator.multipliedReportingOverflow(by: step.numerator % step.denominator)
    guard !overflow, !strideOverflow, whole < .max / 2 else { throw .overflow }
    var fraction = try ((wanted - Rational(least) * step) * Rational(whole)).numerator % whole
    var best = (miss: whole, discarded: least)
    for discarded in least..<(least + min(step.denominator, Self.longest)) {
      if fraction < 0 { fraction += whole }
      let miss = min(fraction, whole - fraction)
      if miss < best.miss { best = (miss, discarded) }
      if miss == 0 { break }
      fraction -= stride
    }
    guard let first = Int64(exactly: try (wanted - Rational(best.discarded) * step).rounded) else { throw .overflow }
    firstSource = first
    discarded = Int64(best.discarded)
  }
}

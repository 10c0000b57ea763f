/// How the bits of a segment follow from its measurement, for a codec whose encoder has a rate factor.
///
/// A measurement has the bits at two rate factors, from an encoder that searches less than the real one. On a logarithmic
/// scale the bits fall with the rate factor nearly in a line, and the real encoder's line differs from the measured one
/// by what the slope of the latter says. The numbers are fitted to encodings of drawn, filmed and
/// generated pictures; `BitPrediction` evaluates them.
package struct BitRateModel: Sendable {
  /// What the rate factor of a film may be.
  package var rateFactors: ClosedRange<Double>
  /// The two rate factors at which segments are measured, ascending.
  package var measuringFactors: [Double]
  /// Ascending by `factor`; two at least.
  package var corrections: [Correction]

  /// At a rate factor: what the natural logarithm of the real bits differs by from that of the measured bits at the higher
  /// measuring factor.
  package struct Correction: Sendable {
    package var factor: Double
    package var constant: Double
    /// Times the measured fall of the logarithm for each unit of the rate factor.
    package var slope: Double
  }

  /// The least and the greatest measured fall that the numbers hold for.
  package let slopes = 0.02...0.25
}

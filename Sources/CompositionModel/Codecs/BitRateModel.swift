/// How the bits of a segment follow from its measurement, for a codec whose encoder has a rate factor.
///
/// A measurement has the bits at two rate factors, from an encoder that searches less than the real one. On a
/// logarithmic scale the bits fall with the rate factor nearly in a line, and the real encoder's line differs from the
/// measured one by what the slope of the latter says. The numbers are fitted to encodings of drawn, filmed and
/// generated pictures; `BitPrediction` evaluates them.
package struct BitRateModel: Sendable {
  /// What the rate factor of a film may be.
  package var rateFactors: ClosedRange<Double>
  /// The two rate factors at which segments are measured, ascending.
  package var measuringFactors: [Double]
  /// Ascending by `factor`; two at least.
  package var corrections: [Correction]
  /// A rate factor is a multiple of 1/`stepsPerUnit`.
  package var stepsPerUnit = 10
  package var control = Control.frameByFrame

  /// How a segment is held to its share of the bits.
  package enum Control: Sendable, Hashable {
    /// The rate factor moves from one frame to the next.
    case frameByFrame
    /// The segment is encoded again with another rate factor, because the encoder keeps the one that it is opened with.
    /// - Parameters:
    ///   - fall: The fall of the logarithm of the bits for each unit of the rate factor, about.
    ///   - range: The most by which the rate factor differs from that of the film.
    case again(fall: Double, range: Double)
  }

  /// At a rate factor: what the natural logarithm of the real bits differs by from that of the measured bits at the
  /// higher measuring factor.
  package struct Correction: Sendable {
    package var factor: Double
    package var constant: Double
    /// Times the measured fall of the logarithm for each unit of the rate factor.
    package var slope: Double
  }

  /// The least and the greatest measured fall that the numbers hold for.
  package let slopes = 0.02...0.25
}

extension VideoSettings {
  /// The bits a second on average over the film. Nil: the rate control is another.
  package var averageBitRate: Int? {
    if case .averageBitRate(let rate) = rateControl { rate } else { nil }
  }

  /// How the bits of a segment follow from its measurement. Nil: the codec has no average bit rate.
  package var bitRateModel: BitRateModel? { codec.definition.bitRateModel(self) }
}

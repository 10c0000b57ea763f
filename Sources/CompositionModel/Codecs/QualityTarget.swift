import Glibc

/// How like the film's frames the encoded ones are, in place of one quality for all: each segment is encoded with the
/// quality that has it.
public struct QualityTarget: Sendable, Hashable, Codable {
  /// How the likeness is measured.
  public enum Metric: String, Sendable, Hashable, Codable, CaseIterable {
    /// Structural similarity as libavfilter's `ssim` has it: of all planes by their sizes, the mean over the frames. Of
    /// equal pictures it is 1.
    case ssim
  }

  public var metric: Metric
  /// What the frames of a segment have on average. Within `values`.
  public var value: Double

  public init(_ metric: Metric = .ssim, _ value: Double) {
    self.metric = metric
    self.value = value
  }

  /// What a document may ask for.
  package static let values = 0.8...0.9999
  /// The least width and height of pictures: libavfilter compares blocks of 8 pixels of each plane.
  package static let smallestSide = 16

  /// The natural logarithm of what is lost, which rises nearly in a line with the quality of an encoder.
  /// - Parameter likeness: 1 is no loss.
  package static func loss(_ likeness: Double) -> Double { log(max(1 - likeness, 1e-7)) }
}

/// How much an encoder loses at a quality, about: where a search for a target begins, and how far it goes.
package struct QualityModel: Sendable {
  /// The quality at which the pictures of most films have a structural similarity of 0.98.
  package var usual: Double
  /// The rise of `QualityTarget.loss` for each unit of the quality.
  package var slope: Double
  /// What is tried.
  package var qualities: ClosedRange<Double>
  /// A quality is a multiple of 1/`stepsPerUnit`.
  package var stepsPerUnit: Double

  /// The quality that is tried first.
  package func first(for target: QualityTarget) -> Double {
    rounded(usual + (QualityTarget.loss(target.value) - QualityTarget.loss(0.98)) / slope)
  }

  /// The nearest quality that can be tried.
  package func rounded(_ quality: Double) -> Double {
    let held = min(max(quality, qualities.lowerBound), qualities.upperBound)
    return (held * stepsPerUnit).rounded() / stepsPerUnit
  }
}

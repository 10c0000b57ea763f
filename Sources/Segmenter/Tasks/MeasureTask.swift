import CompositionModel

/// Encodes the frames of a segment in a fast way, at each of the codec's measuring rate factors, to predict how many
/// bits they take. The result is a `Measurement` as JSON.
///
/// Nothing in it depends on the bit rate, so that a segment is measured once, whatever its film aims at.
package struct MeasureTask: Sendable, Hashable, Codable {
  /// Its rate control is that of the first rate factor.
  package var video: VideoTask

  package init(video: VideoTask) {
    self.video = video
  }
}

/// The sizes of a segment's frames, encoded in a fast way at several rate factors.
package struct Measurement: Sendable, Hashable, Codable {
  /// Ascending.
  package var rateFactors: [Double]
  /// For each rate factor the bits of each frame, in order of presentation.
  package var frameBits: [[Int]]

  package init(rateFactors: [Double], frameBits: [[Int]]) {
    self.rateFactors = rateFactors
    self.frameBits = frameBits
  }
}

/// The bits that a segment of a film with an average bit rate is to take at the rate factor of its task's encoder.
package struct BitShare: Sendable, Hashable, Codable {
  /// Of each frame, in order of presentation: what is expected of it at that rate factor. Each is above 0.
  package var frameBits: [Int]

  package init(frameBits: [Int]) {
    self.frameBits = frameBits
  }
}

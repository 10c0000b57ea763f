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

  /// The bits that one frame may have. The sum of those of a measurement of 64 MB fits 64 bits.
  private static let decodedBits = 0...1 << 36

  private enum CodingKeys: CodingKey {
    case rateFactors, frameBits
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    rateFactors = try container.decode([Double].self, forKey: .rateFactors)
    frameBits = try container.decode([[Int]].self, forKey: .frameBits)
    for (place, bits) in frameBits.enumerated() {
      guard let frame = bits.firstIndex(where: { !Self.decodedBits.contains($0) }) else { continue }
      throw DecodingError.dataCorruptedError(
        forKey: .frameBits, in: container,
        debugDescription: "[\(place)][\(frame)]: \(Self.decodedBits.exclusion(of: bits[frame]))")
    }
  }
}

/// The bits that a segment of a film with an average bit rate is to take at the rate factor of its task's encoder.
package struct BitShare: Sendable, Hashable, Codable {
  /// The bits that each frame is expected to take at that rate factor, in order of presentation. Each is above 0.
  package var frameBits: [Int]

  package init(frameBits: [Int]) {
    self.frameBits = frameBits
  }
}

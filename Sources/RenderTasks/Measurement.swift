import CompositionModel

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

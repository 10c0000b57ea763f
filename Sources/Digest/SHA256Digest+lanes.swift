internal import CDigest

extension SHA256Digest {
  /// The digests of pieces that are in memory, in their order. Many pieces of one length are hashed at once if the
  /// processor can do that: sixteen take about as long as eight do one after the other.
  package static func ofEach(_ pieces: [UnsafeRawBufferPointer]) -> [SHA256Digest] {
    var digests: [SHA256Digest] = []
    digests.reserveCapacity(pieces.count)
    var rest = pieces[...]
    while let first = rest.first {
      let run = rest.prefix(lanes).prefix { $0.count == first.count }
      if hashedAtOnce > 1, run.count >= fewestLanes, !first.isEmpty, first.count % 64 == 0 {
        digests += inLanes(run, size: first.count)
        rest = rest.dropFirst(run.count)
      } else {
        digests.append(.of(first))
        rest = rest.dropFirst()
      }
    }
    return digests
  }

  /// How many pieces this processor hashes at once: 16 or 1.
  package static let hashedAtOnce = digest_has_lanes() != 0 ? lanes : 1
  private static let lanes = Int(DIGEST_LANES)
  /// The time does not depend on how many lanes are used.
  private static let fewestLanes = lanes / 2 + 1

  /// - Parameter pieces: As many as there are lanes, or fewer. The others hash the first one once more.
  private static func inLanes(_ pieces: ArraySlice<UnsafeRawBufferPointer>, size: Int) -> [SHA256Digest] {
    var starts = pieces.map { $0.baseAddress?.assumingMemoryBound(to: UInt8.self) }
    while starts.count < lanes { starts.append(starts[0]) }
    var bytes = [UInt8](repeating: 0, count: 32 * lanes)
    digest_sha256_lanes(&starts, size, &bytes)
    return pieces.indices.map { index in
      let start = 32 * (index - pieces.startIndex)
      return SHA256Digest(finished: Array(bytes[start..<(start + 32)]))
    }
  }
}

/// Where the keyframes of a film are whose settings fix them: at the multiples of an interval from the film's start,
/// whatever is shown. Each is the first frame at or after its multiple.
public struct KeyframeGrid: Sendable, Hashable, Codable {
  /// The interval in frames, more than one: `numerator / denominator`, in lowest terms.
  public let numerator: Int64
  public let denominator: Int64

  /// Nil for an interval of a frame or less, where every frame is a keyframe, and for one whose terms have more than 64
  /// bits.
  package init?(interval: Rational) {
    guard interval > .one, let numerator = Int64(exactly: interval.numerator),
      let denominator = Int64(exactly: interval.denominator)
    else { return nil }
    (self.numerator, self.denominator) = (numerator, denominator)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    numerator = try container.decode(Int64.self, forKey: .numerator)
    denominator = try container.decode(Int64.self, forKey: .denominator)
    guard denominator > 0, denominator < numerator else {
      throw DecodingError.dataCorruptedError(
        forKey: .numerator, in: container, debugDescription: "keyframes every \(numerator)/\(denominator) frames")
    }
  }

  /// The most frames from one keyframe to the next.
  package var longest: Int { Int(clamping: (Int128(numerator) - 1) / Int128(denominator) + 1) }

  /// The keyframe of a multiple that is not negative.
  private func frame(of multiple: Int128) -> Int {
    Int(clamping: (multiple * Int128(numerator) + Int128(denominator) - 1) / Int128(denominator))
  }

  /// The last multiple at or before a frame.
  private func multiple(before frame: Int) -> Int128 { Int128(frame) * Int128(denominator) / Int128(numerator) }

  /// The nearest keyframe to a frame; the later one of two that are equally near.
  package func nearest(to frame: Int) -> Int {
    let before = multiple(before: frame)
    let (earlier, later) = (self.frame(of: before), self.frame(of: before + 1))
    return frame - earlier < later - frame ? earlier : later
  }

  /// The keyframes in some frames, rising.
  package func keyframes(in frames: Range<Int>) -> [Int] {
    var found: [Int] = []
    var multiple = multiple(before: frames.lowerBound)
    while case let frame = frame(of: multiple), frame < frames.upperBound {
      if frame >= frames.lowerBound { found.append(frame) }
      multiple += 1
    }
    return found
  }
}

/// A place where decoding can start and from which every frame at or after it comes out right.
public struct Keyframe: Sendable, Hashable, Codable {
  /// Presentation time in ticks of the track's timebase.
  public var pts: Int64
  /// Decoding time in ticks of the track's timebase.
  public var dts: Int64
  /// The packet's byte position in the file, -1 where the container does not tell.
  public var position: Int64

  public init(pts: Int64, dts: Int64, position: Int64) {
    self.pts = pts
    self.dts = dts
    self.position = position
  }

  private init(_ fields: [Int64]) {
    self.init(pts: fields[0], dts: fields[1], position: fields[2])
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let fields = try container.decode([Int64].self)
    guard fields.count == 3 else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a keyframe is [pts, dts, position]")
    }
    self.init(fields)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([pts, dts, position])
  }
}

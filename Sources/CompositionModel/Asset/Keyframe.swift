/// A place where decoding can start. Every frame at or after it is then decoded correctly.
public struct Keyframe: Sendable, Hashable, Codable {
  /// Presentation time in ticks of the track's timebase.
  public var pts: Int64
  /// Decoding time in ticks of the track's timebase.
  public var dts: Int64
  /// The packet's byte position in the file; -1 if the container does not give it.
  public var position: Int64

  public init(pts: Int64, dts: Int64, position: Int64) {
    self.pts = pts
    self.dts = dts
    self.position = position
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let fields = try container.decode([Int64].self)
    guard fields.count == 3 else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a keyframe is [pts, dts, position]")
    }
    self.init(pts: fields[0], dts: fields[1], position: fields[2])
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([pts, dts, position])
  }
}

/// How it was proved that decoding can start at a track's keyframes. A container's own flags are never enough.
public enum StartProof: String, Sendable, Hashable, Codable, CaseIterable {
  /// The codec codes each picture without reference to another.
  case intraOnly
  /// The headers in the packets: the first picture is coded without reference to another.
  case bitstream
  /// The pictures that a decoder gives from there were those that it gives from the head of the file.
  case decoding
  /// There is no proved start but the head of the file.
  case headOnly
}

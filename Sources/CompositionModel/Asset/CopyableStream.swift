import Foundation

/// What is known of a track's packets for smart rendering: which of its pictures can be copied into a film whose other
/// pictures are encoded, so that one decoder reads all of them.
public struct CopyableStream: Sendable, Hashable, Codable {
  /// The parameter sets to which all pictures refer, as the container stores them: an avcC record of H.264.
  public var parameterSets: [UInt8]
  /// How many pictures are decoded before one that is presented earlier, at most.
  public var reorderDepth: Int
  /// A bit for each frame of the track, in order of time, the first in the lowest bit of the first byte: whether the
  /// frames from the keyframe before it up to this one are decoded without any that is presented later.
  public var ends: [UInt8]
  /// Why nothing can be copied. Nil: runs that start at a keyframe can.
  public var obstacle: String?

  public init(parameterSets: [UInt8], reorderDepth: Int = 0, ends: [UInt8] = [], obstacle: String? = nil) {
    self.parameterSets = parameterSets
    self.reorderDepth = reorderDepth
    self.ends = ends
    self.obstacle = obstacle
  }

  /// - Parameters:
  ///   - parameterSets: As the property.
  ///   - reorderDepth: As the property.
  ///   - ends: For each frame, whether a run can end with it.
  public init(parameterSets: [UInt8], reorderDepth: Int, ends: [Bool]) {
    var bytes = [UInt8](repeating: 0, count: (ends.count + 7) / 8)
    for (index, isEnd) in ends.enumerated() where isEnd { bytes[index / 8] |= 1 << UInt8(index % 8) }
    self.init(parameterSets: parameterSets, reorderDepth: reorderDepth, ends: bytes)
  }

  /// Whether a run of frames that is copied can end with a frame.
  /// - Parameter frame: The frame's number in the track, from 0.
  public func canEnd(with frame: Int) -> Bool {
    guard frame >= 0, frame / 8 < ends.count else { return false }
    return ends[frame / 8] >> UInt8(frame % 8) & 1 == 1
  }

  private enum CodingKeys: String, CodingKey {
    case parameterSets, reorderDepth, ends, obstacle
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    parameterSets = [UInt8](try container.decodeIfPresent(Data.self, forKey: .parameterSets) ?? Data())
    reorderDepth = try container.decodeIfPresent(Int.self, forKey: .reorderDepth) ?? 0
    ends = [UInt8](try container.decodeIfPresent(Data.self, forKey: .ends) ?? Data())
    obstacle = try container.decodeIfPresent(String.self, forKey: .obstacle)
    guard Self.reorderDepths.contains(reorderDepth) else {
      throw DecodingError.dataCorruptedError(
        forKey: .reorderDepth, in: container, debugDescription: Self.reorderDepths.exclusion(of: reorderDepth))
    }
  }

  /// Bytes are encoded as base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if !parameterSets.isEmpty { try container.encode(Data(parameterSets), forKey: .parameterSets) }
    if reorderDepth != 0 { try container.encode(reorderDepth, forKey: .reorderDepth) }
    if !ends.isEmpty { try container.encode(Data(ends), forKey: .ends) }
    try container.encodeIfPresent(obstacle, forKey: .obstacle)
  }

  /// No codec has more.
  package static let reorderDepths = 0...16
}

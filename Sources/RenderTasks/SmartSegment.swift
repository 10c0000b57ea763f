package import CompositionModel
import FoundationEssentials

/// A segment of a film in which stored pictures are copied between encoded ones, so that one decoder reads all of them.
/// The segment has one rendition.
package struct SmartSegment: Sendable, Hashable, Codable {
  /// Raised with every change of the rules by which pictures are copied and encoded ones are made to fit.
  package static let currentVersion = 1

  package var version = Self.currentVersion
  /// Those to which all pictures of the film refer, as a container stores them. Empty if the codec has none.
  package var parameterSets: [UInt8]
  /// Nil: the frames are encoded.
  package var copy: CopiedFrames?

  package init(parameterSets: [UInt8], copy: CopiedFrames? = nil) {
    self.parameterSets = parameterSets
    self.copy = copy
  }

  private enum CodingKeys: String, CodingKey {
    case version, parameterSets, copy
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    version = try container.decode(Int.self, forKey: .version)
    parameterSets = [UInt8](try container.decode(Data.self, forKey: .parameterSets))
    copy = try container.decodeIfPresent(CopiedFrames.self, forKey: .copy)
  }

  /// Bytes are encoded as base64.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(version, forKey: .version)
    try container.encode(Data(parameterSets), forKey: .parameterSets)
    try container.encodeIfPresent(copy, forKey: .copy)
  }
}

/// The frames of a segment that are stored pictures of its one source, one after the other. Reading begins at the
/// `decodeFrom` of the source. If the file does not have them as the plan expects, they are encoded, as the rest of the
/// task has it.
package struct CopiedFrames: Sendable, Hashable, Codable {
  /// The stored timestamp of each frame.
  package var times: FrameTimes
  /// How many pictures are decoded before one that is presented earlier, at most.
  package var reorderDepth: Int
  /// True if the segment before it is copied too. Two instantaneous decoding refreshes that follow one another must
  /// have different identifiers, which two files may not have. Nil: it is not.
  package var followsCopy: Bool?

  package init(times: FrameTimes, reorderDepth: Int, followsCopy: Bool) {
    self.times = times
    self.reorderDepth = reorderDepth
    self.followsCopy = followsCopy ? true : nil
  }
}

extension VideoTask {
  /// Whether each frame is the picture of the one source and nothing else: nothing changes or covers it.
  package var isOfPlainPictures: Bool {
    guard spans.count == 1, sources.count == 1, overlays.isEmpty, filters == nil, captions == nil,
      spans[0].filters == nil,
      spans[0].layers.count == 1, case .clip(let layer) = spans[0].layers[0]
    else { return false }
    return layer.opacity == .one && layer.filters == nil && layer.geometry == nil && layer.blendMode == nil
      && layer.mask == nil && layer.decoration == nil && layer.retiming == nil && sources[0].nested == nil
      && sources[0].deinterlacing == nil && sources[0].stabilization == nil
  }
}

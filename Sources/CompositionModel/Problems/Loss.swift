/// Something of the media that a film does not have, though its document does not leave it out.
public struct Loss: Sendable, Hashable, Codable {
  /// What is lost. The raw value is the name in JSON.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case track, chapter, disposition, captionStyle, metadata, hdr, timecode, attachment, cleanAperture, artwork
  }

  public var what: Kind
  /// The stream's index in the asset. Nil: it is not of one track.
  public var track: Int?

  public init(what: Kind, track: Int? = nil) {
    (self.what, self.track) = (what, track)
  }
}

/// A loss as reports list it.
public struct LossReport: Sendable, Hashable, Codable {
  public var what: Loss.Kind
  /// The asset, as a JSON pointer such as `/assets/talk`.
  public var place: String
  /// The stream's index in the asset. Nil: it is not of one track.
  public var track: Int?
  /// A sentence for a person.
  public var reason: String

  private enum CodingKeys: String, CodingKey {
    case what
    case place = "where"
    case track
    case reason = "why"
  }
}

extension [Problem] {
  /// What of the media is not in the film, of warnings.
  public var losses: [LossReport] {
    compactMap { warning in
      warning.loss.map {
        LossReport(what: $0.what, place: warning.pointer, track: $0.track, reason: warning.message)
      }
    }
  }
}

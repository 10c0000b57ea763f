import CompositionModel

// Parts of a document for Swift's encoders: each as the JSON that the document has for it. What an asset or a track is
// depends on the document; here a name is that of any.

extension Document.Track: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.tracks([$1]).written.first }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Clip: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.clip($1, .video, hasSound: true).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.ClipTransition: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.clipTransition($1, .video) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.MetadataTrack: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.metadataTrack($1) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.SubtitleTrack: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.subtitleTrack($1, number: 1)?.track }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Filter: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.filters([$1]).first }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.AudioFilter: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { reader, value in
      let found = reader.audioFilters([value])
      if found.count > 1 { reader.problems.addShape(value.pointer, "it is several filters, and one is read here") }
      return found.first
    }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Mask: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.mask($1) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Transform: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.transform($1) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.LayerRamp: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.layerRamps([$1], RampTables.layer, .signed).first }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.VideoComposition: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.videoComposition($1, at: .root).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Transition: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.transition($1) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Instruction: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.instruction($1).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Layer: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.layers([$1]).first }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Overlay: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.overlay($1)?.written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.AudioMix: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.audioMix($1).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.TrackMix: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.trackMix("", $1).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Captions: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.captions([$1]).first?.written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Export: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.export($1, at: .root).written }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Video: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) {
      $0.stream($1, VideoKeys.shared, VideoKeys.properties, Document.Video())?.settings
    }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Audio: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) {
      $0.stream($1, AudioKeys.shared, AudioKeys.properties, Document.Audio())?.settings
    }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Chapter: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.chapters([$1]).first }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.Time: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.time($1, .signed) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Document.TimeRange: Codable {
  public init(from decoder: any Decoder) throws {
    self = try JSONValue.decoded(decoder) { $0.range($1, .signed) }
  }

  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

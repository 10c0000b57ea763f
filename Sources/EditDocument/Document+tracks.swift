public import CompositionModel

extension Document {
  /// A track of a document.
  public enum Track: Hashable, Sendable {
    /// Of pictures or of sound.
    case media(MediaTrack)
    /// Of captions: `"type": "subtitle"`.
    case subtitle(SubtitleTrack)
    /// Of values over time: `"type": "metadata"`.
    case metadata(MetadataTrack)
  }

  /// A track of pictures or of sound. The first video track is on top.
  public struct MediaTrack: Hashable, Sendable {
    /// Its name, to which transitions, instructions and the audio mix refer. Nil: `video1`, `video2`…, `audio1`…, by
    /// its number among the tracks of its type.
    public var id: TrackID?
    /// `video` or `audio`. Nil: `video`.
    public var type: MediaType?
    /// Of a video track: whether the sound of its clips is in the output. Nil: it is, unless the track is a mask.
    public var sound: Bool?
    /// That of its clips' sound that has none. Nil: `spectral`.
    public var pitch: PitchAlgorithm?
    /// They do not overlap, except by a transition.
    public var clips: [Clip]
    /// Of a video track: that of its clips that have none. Nil: normal.
    public var blendMode: Blending?
    /// Of a video track: that of its clips that have none.
    public var mask: Mask?
    /// Of a video track: applied to each clip after its own; ramps are on the film's timeline.
    public var filters: [Filter] = []

    public init(_ type: MediaType? = nil, id: TrackID? = nil, clips: [Clip] = []) {
      self.type = type
      self.id = id
      self.clips = clips
    }
  }

  /// A track of captions, which becomes a text track of the output.
  public struct SubtitleTrack: Hashable, Sendable {
    /// No other track has this name. Nil: `subtitle1`, `subtitle2`…
    public var id: TrackID?
    /// Three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// For people, at most 200 characters.
    public var title: String?
    /// Whether players show it without being asked. Nil: they do not.
    public var `default`: Bool?
    public var clips: [SubtitleClip]

    public init(id: TrackID? = nil, language: String? = nil, title: String? = nil, clips: [SubtitleClip] = []) {
      self.id = id
      self.language = language
      self.title = title
      self.clips = clips
    }
  }

  /// A clip of a track of captions.
  public struct SubtitleClip: Hashable, Sendable {
    /// An asset with a text track.
    public var asset: AssetID
    /// The part that is used, on the asset's timeline. Nil: all of it.
    public var use: TimeRange?
    /// When it starts. Nil: at the end of the clip before it.
    public var at: Time?
    @Incidental var pointer = JSONPointer.root

    public init(_ asset: AssetID, use: TimeRange? = nil, at: Time? = nil) {
      self.asset = asset
      self.use = use
      self.at = at
    }
  }

  /// A track of values over time, which drive compositors and overlays.
  public struct MetadataTrack: Hashable, Sendable {
    /// No other track has this name.
    public var id: TrackID
    /// What a number that is given at a time does until the next one. Nil: it stays.
    public var interpolation: Interpolation?
    /// In any order, none overlapping another; all numbers, or all texts.
    public var values: [MetadataValue]
    @Incidental var pointer = JSONPointer.root

    public init(_ id: TrackID, values: [MetadataValue] = [], interpolation: Interpolation? = nil) {
      self.id = id
      self.values = values
      self.interpolation = interpolation
    }

    public enum Interpolation: String, Hashable, Sendable, CaseIterable {
      case hold, linear
    }
  }

  /// A value of a metadata track.
  public struct MetadataValue: Hashable, Sendable {
    /// With a time the value lasts until the next one, and the last until the film's end.
    public var when: When
    /// Two different numbers only with a range.
    public var content: TimedMetadata.Content
    @Incidental var pointer = JSONPointer.root

    public init(_ when: When, _ content: TimedMetadata.Content) {
      self.when = when
      self.content = content
    }
  }
}

extension Document.Track {
  var json: JSONValue {
    switch self {
    case .media(let track): track.json
    case .subtitle(let track): track.json
    case .metadata(let track): track.json
    }
  }
}

extension Document.MetadataValue {
  /// The value of its key.
  var value: JSONValue {
    switch content {
    case .text(let text): .text(text)
    case .number(let from, let to): from == to ? .decimal(from) : [.decimal(from), .decimal(to)]
    }
  }
}

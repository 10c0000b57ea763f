public import CompositionModel
import EditDocument

/// How the output is encoded. What is nil has the default of `docs/document.md`, which depends on the container and on
/// the clips.
public struct ExportSettings: Sendable, Hashable {
  /// The pictures or the sound of the output.
  public enum Stream<Settings: Sendable & Hashable>: Sendable, Hashable {
    /// There if the composition has something for it, with the defaults of the container.
    case automatic
    /// Not in the output.
    case none
    case settings(Settings)
  }

  /// How pictures are encoded.
  public struct Video: Sendable, Hashable {
    public var codec: VideoCodec?
    /// The encoder's own measure of constant quality; lower is better. Not with `bitRate`.
    public var quality: Double?
    /// Bits a second, on average over the film.
    public var bitRate: Int?
    /// One of the codec's presets, such as `medium`.
    public var preset: String?
    public var profile: String?
    /// One of the codec's levels, such as `4.1`.
    public var level: String?
    /// Bits a second that a decoder with a buffer of `bufferDuration` is never given too late.
    public var maxBitRate: Int?
    /// Seconds of `maxBitRate` that the buffer holds. Only with `maxBitRate`.
    public var bufferDuration: MediaTime?
    /// The most frames from one keyframe to the next.
    public var keyframeInterval: Int?
    /// Whether a keyframe is also where the picture changes. Nil: it is.
    public var sceneCuts: Bool?
    public var pixelFormat: PixelFormat?
    /// By how many degrees clockwise players turn the pictures: 0, 90, 180 or 270.
    public var rotation: Int?
    /// The shape of the stored pixels. Nil: they are square. The render size is in square pixels, as the film is seen;
    /// the stored pictures are as high, and as wide as the shape has it.
    public var pixelAspect: AspectRatio?
    /// The part of the stored pictures that players show, in stored pixels, for the containers mov, mp4 and m4v. Nil:
    /// all of them.
    public var cleanAperture: PixelRect?
    /// The language of the track: three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// The title of the track, for people: at most 200 characters.
    public var title: String?

    public init(
      codec: VideoCodec? = nil, quality: Double? = nil, bitRate: Int? = nil, preset: String? = nil,
      profile: String? = nil, level: String? = nil, maxBitRate: Int? = nil, bufferDuration: MediaTime? = nil,
      keyframeInterval: Int? = nil, pixelFormat: PixelFormat? = nil, rotation: Int? = nil, sceneCuts: Bool? = nil,
      language: String? = nil, title: String? = nil, pixelAspect: AspectRatio? = nil,
      cleanAperture: PixelRect? = nil
    ) {
      self.pixelAspect = pixelAspect
      self.cleanAperture = cleanAperture
      self.language = language
      self.title = title
      self.sceneCuts = sceneCuts
      self.codec = codec
      self.quality = quality
      self.bitRate = bitRate
      self.preset = preset
      self.profile = profile
      self.level = level
      self.maxBitRate = maxBitRate
      self.bufferDuration = bufferDuration
      self.keyframeInterval = keyframeInterval
      self.pixelFormat = pixelFormat
      self.rotation = rotation
    }
  }

  /// How sound is encoded.
  public struct Audio: Sendable, Hashable {
    public var codec: AudioCodec?
    /// Bits a second.
    public var bitRate: Int?
    /// Samples a second of each channel.
    public var sampleRate: Int?
    public var channels: Int?
    /// Bits a sample, of codecs with such a setting.
    public var bitDepth: Int?
    /// The language of the track: three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// The title of the track, for people: at most 200 characters.
    public var title: String?

    public init(
      codec: AudioCodec? = nil, bitRate: Int? = nil, sampleRate: Int? = nil, channels: Int? = nil, bitDepth: Int? = nil,
      language: String? = nil, title: String? = nil
    ) {
      self.language = language
      self.title = title
      self.codec = codec
      self.bitRate = bitRate
      self.sampleRate = sampleRate
      self.channels = channels
      self.bitDepth = bitDepth
    }
  }

  /// What the settings that are not given are: AVFoundation's export presets.
  public typealias Preset = EditDocument.PresetChoice

  /// An asset whose metadata become the film's.
  public enum MetadataSource: Sendable, Hashable {
    /// The one that is seen first, or else heard first.
    case first
    case asset(AssetID)
  }

  /// Which of the metadata that are carried are left out.
  public enum MetadataFilter: String, Sendable, Hashable, CaseIterable {
    /// What is personal, such as a place: AVFoundation's `AVMetadataItemFilter.forSharing()`.
    case forSharing
  }

  /// A named place of the film, to the next chapter's start or the film's end.
  public struct Chapter: Sendable, Hashable {
    /// On the composition's timeline.
    public var start: MediaTime
    public var title: String

    public init(at start: MediaTime, title: String) {
      self.start = start
      self.title = title
    }
  }

  /// The picture that players show for the film, such as a cover.
  public enum Artwork: Sendable, Hashable {
    /// None, whatever metadata are carried.
    case none
    /// A PNG or a JPEG file, or a file that has such a picture.
    case asset(AssetID)
  }

  /// What is copied of an asset beside the tracks that an edit names. The raw value is the name in documents.
  public enum Carried: String, Sendable, Hashable, CaseIterable {
    case tracks, chapters, timecode, attachments, metadata
  }

  /// Nil: the container's defaults.
  public var preset: Preset?
  /// The part of the composition that is exported. Nil: all of it.
  public var timeRange: MediaTimeRange?
  /// Nil: the film has no metadata but `metadata`.
  public var carriedMetadata: MetadataSource?
  /// What a film with the preset `passthrough` has beside the tracks of the edit. Nil: all that the assets have.
  public var carried: [Carried]?
  /// Which of the metadata of `carriedMetadata` are left out. Nil: none.
  public var metadataFilter: MetadataFilter?
  /// Nil: that of `carriedMetadata`, if it has one.
  public var artwork: Artwork?
  /// The output's path in the document, or that of the folder of several outputs. An export session writes to its own.
  public var path: String?
  /// The files that one render makes, at most 8; everything else here is what they have in common. Empty: one file.
  public var outputs: [Output] = []
  public var video: Stream<Video>
  public var audio: Stream<Audio>
  /// Whether the index is at the start of the file.
  public var optimizeForNetworkUse: Bool
  /// Metadata by format key, such as `title`.
  public var metadata: [String: String]
  /// In order of time.
  public var chapters: [Chapter]

  public init(
    path: String? = nil, video: Stream<Video> = .automatic, audio: Stream<Audio> = .automatic,
    optimizeForNetworkUse: Bool = true, metadata: [String: String] = [:], chapters: [Chapter] = []
  ) {
    self.path = path
    self.video = video
    self.audio = audio
    self.optimizeForNetworkUse = optimizeForNetworkUse
    self.metadata = metadata
    self.chapters = chapters
  }
}

extension ExportSettings: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields(
      "'export'",
      [
        "to", "preset", "timeRange", "video", "audio", "optimizeForNetworkUse", "metadata", "carryMetadata",
        "metadataFilter", "chapters", "artwork", "outputs", "carry",
      ])
    self.init(path: try fields.text("to"), optimizeForNetworkUse: try fields.flag("optimizeForNetworkUse") ?? true)
    if let video = fields["video"] { self.video = try Stream(video) }
    if let audio = fields["audio"] { self.audio = try Stream(audio) }
    preset = try fields.read("preset") { (value) throws(DocumentError) in
      let name = try value.text
      guard let preset = Preset(name) else { throw value.problem(ExportPreset.unknown(name)) }
      return preset
    }
    timeRange = try fields.read("timeRange") { (value) throws(DocumentError) in try value.range }
    if let source = fields["carryMetadata"] {
      if case .string(let id) = source.content {
        carriedMetadata = .asset(id)
      } else {
        carriedMetadata = try source.flag ? .first : nil
      }
    }
    if let artwork = fields["artwork"] {
      if case .boolean(false) = artwork.content {
        self.artwork = Artwork.none
      } else {
        self.artwork = .asset(try artwork.text)
      }
    }
    if let carried = fields["carry"] {
      if case .boolean(let isCarried) = carried.content {
        self.carried = isCarried ? Carried.allCases : []
      } else {
        self.carried = try carried.list { (value) throws(DocumentError) in try value.choice("carried kind") }
      }
    }
    metadataFilter = try fields.choice("metadataFilter", "metadata filter")
    for (key, text) in try fields["metadata"]?.members ?? [] { metadata[key] = try text.text }
    chapters = try fields.list("chapters")
    outputs = try fields.read("outputs") { (value) throws(DocumentError) in try Self.outputs(value) } ?? []
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("to", path.map { .text($0) }), ("preset", preset.map { .text($0.name) }),
      ("timeRange", timeRange.map { .range($0) }), ("video", try video.written()), ("audio", try audio.written()),
      ("optimizeForNetworkUse", optimizeForNetworkUse ? nil : .flag(false)),
      ("metadata", metadata.isEmpty ? nil : .object(metadata.map { ($0.key, .text($0.value)) })),
      ("carryMetadata", carriedMetadata.map { $0.written }),
      ("metadataFilter", metadataFilter.map { .text($0.rawValue) }), try JSONValue.member("chapters", chapters),
      ("artwork", artwork.map { $0.written }), try JSONValue.member("outputs", outputs),
      ("carry", carried.map { .array($0.map { .text($0.rawValue) }) }),
    ])
  }
}

extension ExportSettings.Chapter: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a chapter", ["at", "title"])
    self.init(at: try fields.required("at").time, title: try fields.required("title").text)
  }

  func written() throws(DocumentError) -> JSONValue { .object([("at", .time(start)), ("title", .text(title))]) }
}

extension ExportSettings.MetadataSource {
  fileprivate var written: JSONValue {
    switch self {
    case .first: .flag(true)
    case .asset(let id): .text(id)
    }
  }
}

extension ExportSettings.Artwork {
  fileprivate var written: JSONValue {
    switch self {
    case .none: .flag(false)
    case .asset(let id): .text(id)
    }
  }
}

extension ExportSettings.Stream where Settings: DocumentValue {
  fileprivate init(_ value: JSONValue) throws(DocumentError) {
    if case .boolean(let isThere) = value.content {
      self = isThere ? .automatic : .none
    } else {
      self = .settings(try Settings(value))
    }
  }

  fileprivate func written() throws(DocumentError) -> JSONValue? {
    switch self {
    case .automatic: nil
    case .none: .flag(false)
    case .settings(let settings): try settings.written()
    }
  }
}

extension ExportSettings.Video: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields(
      "'video'",
      [
        "codec", "quality", "bitRate", "preset", "profile", "level", "maxBitRate", "bufferDuration", "keyframeInterval",
        "pixelFormat", "rotation", "sceneCuts", "language", "title",
        "pixelAspect", "cleanAperture",
      ])
    self.init(
      codec: try fields.choice("codec", "video codec"), quality: try fields.number("quality"),
      bitRate: try fields.integer("bitRate"), preset: try fields.text("preset"), profile: try fields.text("profile"),
      level: try fields.text("level"), maxBitRate: try fields.integer("maxBitRate"),
      bufferDuration: try fields.read("bufferDuration") { (value) throws(DocumentError) in try value.time },
      keyframeInterval: try fields.integer("keyframeInterval"),
      pixelFormat: try fields.choice("pixelFormat", "pixel format"), rotation: try fields.integer("rotation"),
      sceneCuts: try fields.flag("sceneCuts"), language: try fields.text("language"), title: try fields.text("title"),
      pixelAspect: try fields.read("pixelAspect") { (value) throws(DocumentError) in
        let sides = try value.integers(count: 2)
        return AspectRatio(horizontal: sides[0], vertical: sides[1])
      },
      cleanAperture: try fields.read("cleanAperture") { (value) throws(DocumentError) in
        let numbers = try value.integers(count: 4)
        return PixelRect(x: numbers[0], y: numbers[1], size: PixelSize(width: numbers[2], height: numbers[3]))
      })
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("codec", codec.map { .text($0.rawValue) }),
      ("quality", quality.map { .number($0) }),
      ("bitRate", bitRate.map { .integer($0) }), ("preset", preset.map { .text($0) }),
      ("profile", profile.map { .text($0) }), ("level", level.map { .text($0) }),
      ("maxBitRate", maxBitRate.map { .integer($0) }), ("bufferDuration", bufferDuration.map { .time($0) }),
      ("keyframeInterval", keyframeInterval.map { .integer($0) }),
      ("pixelFormat", pixelFormat.map { .text($0.rawValue) }), ("rotation", rotation.map { .integer($0) }),
      ("sceneCuts", sceneCuts.map { .flag($0) }), ("language", language.map { .text($0) }),
      ("title", title.map { .text($0) }),
      ("pixelAspect", pixelAspect.map { .array([.integer($0.horizontal), .integer($0.vertical)]) }),
      (
        "cleanAperture",
        cleanAperture.map { .array([$0.x, $0.y, $0.size.width, $0.size.height].map { .integer($0) }) }
      ),
    ])
  }
}

extension ExportSettings.Audio: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields(
      "'audio'", ["codec", "bitRate", "sampleRate", "channels", "bitDepth", "language", "title"])
    self.init(
      codec: try fields.choice("codec", "audio codec"), bitRate: try fields.integer("bitRate"),
      sampleRate: try fields.integer("sampleRate"), channels: try fields.integer("channels"),
      bitDepth: try fields.integer("bitDepth"), language: try fields.text("language"), title: try fields.text("title"))
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("codec", codec.map { .text($0.rawValue) }), ("bitRate", bitRate.map { .integer($0) }),
      ("sampleRate", sampleRate.map { .integer($0) }), ("channels", channels.map { .integer($0) }),
      ("bitDepth", bitDepth.map { .integer($0) }), ("language", language.map { .text($0) }),
      ("title", title.map { .text($0) }),
    ])
  }
}

/// The output file: its container, codecs and metadata, with every default filled in.
public struct ExportSettings: Sendable, Hashable, Codable {
  /// The output's path as the document gives it. Nil if only the command line gives one.
  public var path: String?
  public var container: Container
  /// Nil: the output has no video.
  public var video: VideoSettings?
  /// Nil: the output has no audio.
  public var audio: AudioSettings?
  /// Whether the index is at the start of the file.
  public var optimizeForNetworkUse: Bool
  public var metadata: [String: String]
  /// The part of the composition that is exported. Nil: all of it.
  public var timeRange: MediaTimeRange?
  /// On the output's own timeline, rising, none overlapping another. Nil: there are none.
  public var chapters: [Chapter]?
  /// Degrees clockwise, 0, 90, 180 or 270, by which players turn the pictures. Nil: 0, or what the track that is copied
  /// states.
  public var rotation: Int?
  /// The language and the title of the video track. Nil: none, or those of the track that is copied.
  public var videoLabel: TrackLabel?
  /// Those of the audio track, in the same way.
  public var audioLabel: TrackLabel?
  /// Nil: none.
  public var artwork: Artwork?
  /// The types of tracks whose stored packets are copied; nothing is rendered then, and `video` and `audio` are nil.
  /// Nil: the film is rendered.
  public var passthrough: [MediaType]?
  /// What is copied beside the tracks of the composition. Nil: nothing.
  public var carried: CarriedMedia?
  /// The size of the pictures that are encoded, in pixels. Nil: the film's.
  public var size: PixelSize?
  /// The part of the stored pictures that players show. Nil: all of them.
  public var cleanAperture: PixelRect?
  /// How often an animated picture is played. Nil: for ever, or the container states nothing.
  public var plays: Int?
  /// The name of the film's playlist without extension, with which the names of its files begin. Nil: it has none.
  public var playlist: String?
  /// What names the files of a playlist's film. Nil: a file of the container alone, or there is no playlist.
  public var manifests: [Manifest]?
  /// Whether pictures that the film shows as they are stored are copied, and only the others are encoded. Nil: all are
  /// encoded.
  public var isSmart: Bool?

  public init(
    path: String?, container: Container, video: VideoSettings?, audio: AudioSettings?,
    optimizeForNetworkUse: Bool = true, metadata: [String: String] = [:], timeRange: MediaTimeRange? = nil,
    chapters: [Chapter]? = nil, rotation: Int? = nil
  ) {
    self.timeRange = timeRange
    self.chapters = chapters
    self.rotation = rotation
    self.path = path
    self.container = container
    self.video = video
    self.audio = audio
    self.optimizeForNetworkUse = optimizeForNetworkUse
    self.metadata = metadata
  }
}

/// What players read of a film in segments before anything else: it names the film's other files. The raw value is the
/// extension.
public enum Manifest: String, Sendable, Hashable, Codable, CaseIterable {
  /// The playlists of HTTP Live Streaming.
  case m3u8
  /// The media presentation description of MPEG-DASH.
  case mpd

  /// Nil: the container has none.
  package init?(_ container: Container) { self.init(rawValue: container.rawValue) }
}

/// How the output's video is encoded.
public struct VideoSettings: Sendable, Hashable, Codable {
  public enum RateControl: Sendable, Hashable, Codable {
    /// The encoder's own measure of constant quality, within the codec's range. Lower is better.
    case quality(Double)
    /// Bits a second, on average over the film.
    case averageBitRate(Int)
    /// Every pixel is kept, whatever it takes.
    case lossless
    /// As many bits as the codec's profile gives a frame.
    case profile
  }

  public var codec: VideoCodec
  public var rateControl: RateControl
  /// One of the codec's presets, such as `medium`. Nil for codecs without presets.
  public var preset: String?
  /// One of the codec's profiles, such as `high`. Nil: the encoder's choice for the pixel format, or ProRes's standard
  /// one.
  public var profile: String?
  /// The most frames from one keyframe to the next. Positive.
  public var keyframeInterval: Int
  public var pixelFormat: PixelFormat
  /// The colour tags of the output. Pictures are converted to this matrix and range.
  public var colour: ColourTags
  /// What the output states of its brightness. Nil: nothing.
  public var hdr: HDRMetadata?
  /// One of the codec's levels, such as `4.1`, which the output states. Nil: the encoder's choice.
  public var level: String?
  /// The most bits that a player takes. Nil: there is no limit.
  public var rateLimit: RateLimit?
  /// What each segment is to have, of which the quality of `rateControl` is a guess. Nil: that quality is kept.
  public var targetQuality: QualityTarget?
  /// Where keyframes are in any case. Nil: nowhere but at the starts of segments; from there on `keyframeInterval`
  /// decides alone.
  public var keyframeGrid: KeyframeGrid?
  /// False: keyframes are at the grid, or `keyframeInterval` frames apart, and nowhere else. Nil: they are also where
  /// the picture changes.
  public var sceneCuts: Bool?
  /// The shape of the stored pixels. Nil: they are square.
  public var pixelAspect: AspectRatio?
  /// How the colours between those of a palette are made. Nil: `diffused`, or there is no palette.
  public var dither: Dithering?

  public init(
    codec: VideoCodec, rateControl: RateControl, preset: String?, profile: String?, keyframeInterval: Int,
    pixelFormat: PixelFormat, colour: ColourTags, hdr: HDRMetadata? = nil, level: String? = nil,
    rateLimit: RateLimit? = nil
  ) {
    self.level = level
    self.rateLimit = rateLimit
    self.hdr = hdr
    self.codec = codec
    self.rateControl = rateControl
    self.preset = preset
    self.profile = profile
    self.keyframeInterval = keyframeInterval
    self.pixelFormat = pixelFormat
    self.colour = colour
  }

  /// The size in which pictures of a size, which have square pixels, are stored.
  public func storedSize(of size: PixelSize) -> PixelSize { size.stored(with: pixelAspect, as: pixelFormat) }

  /// What `keyframeInterval` may be.
  package static let keyframeIntervals = 1...100_000
}

/// How the output's audio is encoded.
public struct AudioSettings: Sendable, Hashable, Codable {
  public var codec: AudioCodec
  /// Bits a second; nil for lossless codecs.
  public var bitRate: Int?
  /// Samples a second of each channel.
  public var sampleRate: Int
  /// 1 is mono, 2 stereo, 6 is 5.1 and 8 is 7.1.
  public var channels: Int
  /// Bits a sample, 16 or 24. Codecs without this setting ignore it.
  public var bitDepth: Int

  public init(codec: AudioCodec, bitRate: Int?, sampleRate: Int, channels: Int, bitDepth: Int = 16) {
    self.codec = codec
    self.bitRate = bitRate
    self.sampleRate = sampleRate
    self.channels = channels
    self.bitDepth = bitDepth
  }
}

/// One of several outputs of an edit, such as a rendition of a ladder. All have the same pictures and the same mix.
public struct EditOutput: Sendable, Hashable, Codable {
  /// Unique among the edit's outputs, whatever the case of its letters: of letters, digits, `-`, `_` and `.`.
  public var name: String
  /// Its `size` is nil if the pictures have the film's size.
  public var export: ExportSettings
  /// Drawn over the film, and the output's text tracks. Nil: none.
  public var captions: [Captions]?

  public init(name: String, export: ExportSettings, captions: [Captions]? = nil) {
    self.name = name
    self.export = export
    self.captions = captions
  }

  /// The name of the output's file: the output's name and the extension of its container.
  public var fileName: String { "\(name).\(export.container.rawValue)" }

  /// How many an edit can have.
  public static let counts = 1...8
  /// The most characters of a name.
  package static let greatestName = 64
}

public import CompositionModel
import EditDocument

/// How the output is encoded. What is nil has the default of `docs/document/`, which depends on the container and on
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
    /// The encoder's own measure of constant quality; lower is better, but of WebP higher. Not with `bitRate`.
    public var quality: Double?
    /// What each part of the film is to look like, in place of `quality` and `bitRate`.
    public var targetQuality: QualityTarget?
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
    /// In frames: keyframes are at the multiples of it from the film's start. Nil: they are two seconds apart at most.
    public var keyframeInterval: Int?
    /// Whether a keyframe is also where the picture changes. Nil: it is, unless there is an interval of keyframes or
    /// several outputs.
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
    /// Of GIF: how the colours between those of a palette are made. Nil: `diffused`.
    public var dither: Dithering?
    /// How often an animated picture is played; 0: for ever. Nil: for ever.
    public var plays: Int?
    /// The language of the track: three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// The title of the track, for people: at most 200 characters.
    public var title: String?

    public init(
      codec: VideoCodec? = nil, quality: Double? = nil, bitRate: Int? = nil, preset: String? = nil,
      profile: String? = nil, level: String? = nil, maxBitRate: Int? = nil, bufferDuration: MediaTime? = nil,
      keyframeInterval: Int? = nil, pixelFormat: PixelFormat? = nil, rotation: Int? = nil, sceneCuts: Bool? = nil,
      language: String? = nil, title: String? = nil, pixelAspect: AspectRatio? = nil,
      cleanAperture: PixelRect? = nil, dither: Dithering? = nil, plays: Int? = nil,
      targetQuality: QualityTarget? = nil
    ) {
      self.targetQuality = targetQuality
      (self.dither, self.plays) = (dither, plays)
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
  /// What names the files of a film for HTTP Live Streaming or MPEG-DASH. Nil: what the extension of its name says.
  public var manifests: Set<Manifest>?
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
  /// Whether pictures that the film shows as they are stored are copied, and only the others are encoded. Not with
  /// `outputs`.
  public var isSmart = false

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

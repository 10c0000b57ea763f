public import CompositionModel

extension Document {
  /// The output. What is nil has its default.
  public struct Export: Hashable, Sendable {
    /// The output's path, whose extension is the container; that of the folder of several outputs.
    public var to: String?
    public var video: Stream<Video>?
    public var audio: Stream<Audio>?
    /// Whether the index is at the start of the file. Nil: it is.
    public var optimizeForNetworkUse: Bool?
    /// The part of the film that is exported. Nil: all of it.
    public var timeRange: TimeRange?
    /// Not with `outputs`.
    public var preset: PresetChoice?
    /// Such as `title`, by name.
    public var metadata: [String: String] = [:]
    /// Whether the metadata of an asset become the film's. Nil: they do not, unless the film copies that asset alone.
    public var carryMetadata: MetadataSource?
    /// What is left out of metadata that are carried.
    public var metadataFilter: MetadataFilter?
    /// In order of time. Each lasts until the next one.
    public var chapters: [Chapter] = []
    /// The picture that players show for the film. Nil: that of the asset whose metadata are carried.
    public var artwork: Artwork?
    /// What names the files of a film that is played in segments. Nil: what the extension of `to` says.
    public var manifests: Set<Manifest>?
    /// The files that one render makes. Empty: one file.
    public var outputs: [Output] = []
    /// With the preset `passthrough`: what a copy has beside the tracks that are named. Nil: all.
    public var carry: Set<Carried>?
    /// Whether pictures that the film shows as they are stored are copied. Not with `outputs`. Nil: all are encoded.
    public var smart: Bool?

    public init(to path: String? = nil) { to = path }
  }

  /// The pictures or the sound of an output.
  public enum Stream<Settings: Hashable & Sendable>: Hashable, Sendable {
    /// There if the composition has something for it: `true`.
    case automatic
    /// Not in the output: `false`.
    case none
    case settings(Settings)

    var settings: Settings? { if case .settings(let settings) = self { settings } else { nil } }
  }

  /// How pictures are encoded. What is nil has the default of the codec and the container.
  public struct Video: Hashable, Sendable {
    public var codec: VideoCodec?
    /// The encoder's own measure of constant quality; lower is better, but of WebP higher. Not with `bitRate`.
    public var quality: Double?
    /// What each segment is to have, in place of `quality` and `bitRate`.
    public var targetQuality: QualityTarget?
    /// Bits a second, on average over the film.
    public var bitRate: Int?
    /// The most bits a second that a player takes.
    public var maxBitRate: Int?
    /// The player's buffer holds `maxBitRate` for so long.
    public var bufferDuration: Time?
    /// One of the codec's presets, such as `medium`.
    public var preset: String?
    public var profile: String?
    public var level: String?
    /// The greatest distance from one keyframe to the next.
    public var keyframeInterval: KeyframeInterval?
    /// Whether a keyframe is also where the picture changes. Nil: it is, unless there are several outputs.
    public var sceneCuts: Bool?
    public var pixelFormat: PixelFormat?
    /// By how many degrees clockwise players turn the pictures: 0, 90, 180 or 270.
    public var rotation: Int?
    /// The shape of the stored pixels. Nil: square.
    public var pixelAspect: AspectRatio?
    /// The part of the stored pictures that players show, in stored pixels. Nil: all.
    public var cleanAperture: PixelRect?
    /// Of GIF: how the colours between those of a palette are made. Nil: `diffused`.
    public var dither: Dithering?
    /// How often an animated picture is played; 0: for ever, which is the default.
    public var plays: Int?
    /// Of the track: three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// Of the track, for people: at most 200 characters.
    public var title: String?

    public init(codec: VideoCodec? = nil) { self.codec = codec }

    public enum KeyframeInterval: Hashable, Sendable {
      case frames(Int)
      case time(Time)
    }
  }

  /// How sound is encoded. What is nil has the default of the codec and the container.
  public struct Audio: Hashable, Sendable {
    public var codec: AudioCodec?
    /// Bits a second.
    public var bitRate: Int?
    /// Samples a second of each channel.
    public var sampleRate: Int?
    public var channels: Int?
    /// Bits a sample, of codecs with such a setting.
    public var bitDepth: Int?
    /// Of the track: three letters of ISO 639-2, such as `eng`.
    public var language: String?
    /// Of the track, for people: at most 200 characters.
    public var title: String?

    public init(codec: AudioCodec? = nil) { self.codec = codec }
  }

  /// One of several files that one render makes. What is nil is as in the export.
  public struct Output: Hashable, Sendable {
    /// The name of its file without extension: 1 to 64 letters, digits, `-`, `_` and `.`, which is not first.
    public var name: String
    public var container: Container
    /// What is set takes the place of what the export sets.
    public var video: Stream<Video>?
    /// What is set takes the place of what the export sets.
    public var audio: Stream<Audio>?
    /// The size of its pictures, whose proportions are the film's. Nil: that which `height` gives, or the film's.
    public var size: PixelSize?
    /// In place of `size`: the width follows.
    public var height: Int?
    public var optimizeForNetworkUse: Bool?

    public init(_ name: String, _ container: Container) {
      self.name = name
      self.container = container
    }
  }

  /// An asset whose metadata become the film's.
  public enum MetadataSource: Hashable, Sendable {
    /// None: `false`.
    case none
    /// The one that is seen first, or else heard first: `true`.
    case first
    case asset(AssetID)
  }

  public enum MetadataFilter: String, Hashable, Sendable, CaseIterable {
    /// Keeps what is about the work, and leaves out what is about the person who made it, the place and the device.
    case forSharing
  }

  /// A named part of the film, to the next chapter's start or the film's end.
  public struct Chapter: Hashable, Sendable {
    /// Where it starts, on the film's timeline.
    public var at: Time
    /// At most 255 bytes of UTF-8.
    public var title: String
    @Incidental var pointer = JSONPointer.root

    public init(at time: Time, _ title: String) {
      self.at = time
      self.title = title
    }
  }

  /// The picture that players show for the film, such as a cover.
  public enum Artwork: Hashable, Sendable {
    /// None, whatever metadata are carried: `false`.
    case none
    /// A PNG or a JPEG file, or a file that has such a picture.
    case asset(AssetID)
  }

  /// What a film that is copied has beside the tracks that its document names.
  public enum Carried: String, Hashable, Sendable, CaseIterable {
    /// Other languages, other views, captions and data.
    case tracks
    case chapters
    case timecode
    /// Such as fonts.
    case attachments
    /// With the picture that players show for the file.
    case metadata

    static let key = "carry"
  }
}

extension Document.MetadataSource {
  var json: JSONValue {
    switch self {
    case .none: .boolean(false)
    case .first: .boolean(true)
    case .asset(let id): .text(id)
    }
  }
}

extension Document.Artwork {
  var json: JSONValue { if case .asset(let id) = self { .text(id) } else { .boolean(false) } }
}

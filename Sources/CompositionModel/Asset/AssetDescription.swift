/// The name of an asset in a document.
public typealias AssetID = String

/// What a media file contains, exactly: the result of a probe task. Validation and planning use the description alone
/// and never open the file.
public struct AssetDescription: Sendable, Hashable, Codable {
  /// The demuxer's short name, such as `mov` or `matroska`.
  public var container: String
  /// The end of the last track on the asset's timeline. A still image has no duration of its own: `.zero`.
  public var duration: MediaTime
  /// In the file's order, then the closed captions that lie between pictures. Attached pictures (cover art) are not
  /// tracks of the asset and are left out.
  public var tracks: [TrackDescription]
  /// Metadata by format key, such as `title`.
  public var metadata: [String: String]
  /// Set for font files only, which have no tracks.
  public var font: FontDescription?
  /// Set for a look-up table of colours (`.cube`), which has no tracks.
  public var colourTable: ColourTableFormat?
  /// The pictures that are no tracks, such as cover art. Nil if there are none.
  public var attachedPictures: [AttachedPicture]?
  /// The files that this one has in it, such as fonts. Nil if there are none.
  public var attachments: [AttachedFile]?
  /// In order of time. Nil if there are none.
  public var chapters: [Chapter]?
  /// The tracks that cannot be described, each with its own reason; they are not among `tracks`. Nil if there are none.
  public var failures: [TrackFailure]?
  /// Bits a second of the whole file, as the file's size and duration give them. Nil if it is not known.
  public var bitRate: Int?
  /// How many bytes of a Flash video follow its last packet, where another file begins that is not read. Nil if there
  /// are none.
  public var unreadBytes: Int64?
  /// The size of the file. Nil if it is not known.
  public var byteCount: Int64?

  public init(
    container: String, duration: MediaTime, tracks: [TrackDescription], metadata: [String: String] = [:],
    font: FontDescription? = nil, colourTable: ColourTableFormat? = nil, unreadBytes: Int64? = nil
  ) {
    self.colourTable = colourTable
    self.unreadBytes = unreadBytes
    self.container = container
    self.duration = duration
    self.tracks = tracks
    self.metadata = metadata
    self.font = font
  }

  /// The tracks of a type that are played together when the file is: those that are enabled, and of tracks that are
  /// alternatives, such as languages, one. In movies these have the number of a group; in other files all tracks of
  /// sound are alternatives.
  public func playedTracks(_ type: MediaType) -> [TrackDescription] {
    let all = tracks.filter { $0.type == type }
    let enabled = all.filter(\.isEnabled)
    let isMovie = container == "mov"
    var groups: Set<Int> = []
    return (enabled.isEmpty ? Array(all.prefix(1)) : enabled).filter { track in
      guard let group = track.alternateGroup ?? (isMovie || type != .audio ? nil : 0) else { return true }
      return groups.insert(group).inserted
    }
  }

  /// The track of a type that clips use: the first enabled one, else the first.
  public func defaultTrack(_ type: MediaType) -> TrackDescription? {
    tracks.first { $0.type == type && $0.isEnabled } ?? tracks.first { $0.type == type }
  }
}

/// The shape of a look-up table of colours.
public struct ColourTableFormat: Sendable, Hashable, Codable {
  /// 1: a curve for each of red, green and blue. 3: a cube.
  public var dimensions: Int
  /// Entries along each dimension.
  public var size: Int

  public init(dimensions: Int, size: Int) {
    self.dimensions = dimensions
    self.size = size
  }
}

/// The kinds of track.
public enum MediaType: String, Sendable, Hashable, Codable, CaseIterable {
  case video, audio, subtitle, metadata
}

/// One track of a file, on the asset's timeline: time zero is the movie's own zero if the container has edit lists,
/// else, and in movies of sound alone without them, the earliest presentation time of any track.
public struct TrackDescription: Sendable, Hashable, Codable {
  /// The stream's index in the file. Of a track with `pictureTrack`, the index of that track and 1000, more than any
  /// stream has.
  @Ranged<IndexRange> public var index: Int
  public var type: MediaType
  /// libavcodec's name of the codec, such as `h264`.
  public var codec: String
  /// libavcodec's name of the codec's profile, such as `High`. Nil if it is not known.
  public var profile: String?
  /// The language as the file states it, such as `eng`. Nil if it states none.
  public var language: String?
  /// Whether the file marks the track as one to be played. Files of formats without such a mark enable every track.
  /// False for a track with `pictureTrack`, so that a text track of the file's own is used before it.
  public var isEnabled: Bool
  /// Seconds a tick of the stored timestamps: `1/timescale` or such as `1001/30000`.
  public var timebase: MediaTime
  /// The stored timestamp, in ticks of `timebase`, of time zero of the asset's timeline.
  @Ranged<TickRange> public var origin: Int64
  /// Whether the container rounds times to its ticks: Matroska, WebM and FLV, to 1 ms.
  public var hasRoundedTimes: Bool
  /// Where the track's timestamps count from another zero, in the file's order. Nil if there is no such place.
  public var discontinuities: [Discontinuity]?
  /// The entries of the track's edit list that are not played as they are stated, in order. Nil if there are none.
  public var misplayedEdits: [MisplayedEdit]?
  /// The part of the asset's timeline that the track covers, from its first presented sample to the end of its last.
  public var range: MediaTimeRange
  /// Metadata of the track by format key, such as `handler_name`.
  public var metadata: [String: String]
  /// Set for video tracks only.
  public var video: VideoFormat?
  /// Set for audio tracks only.
  public var audio: AudioFormat?
  /// The container's own number of the track, such as a QuickTime track's ID or a transport stream's PID. Nil if the
  /// container has none.
  public var id: Int?
  /// The container's name of the format, such as `avc1` or `mp4a`. Nil if it has none.
  public var formatTag: String?
  /// A digest of the codec's parameter sets, in hexadecimal: equal ones have equal digests. Of FLAC, without the number
  /// and the MD5 of the samples and the sizes of the frames. Nil if it has none.
  public var parameterSets: String?
  /// The level of the codec's profile as its standard numbers it, such as 40 for H.264's 4.0. Nil if it is not known.
  public var level: Int?
  /// Bits a second, as the file states them. Nil if it does not.
  public var bitRate: Int?
  /// What the track is for, in libavformat's names, such as `forced`, `comment` or `hearing_impaired`. Nil: nothing is
  /// stated.
  public var characteristics: [String]?
  /// The number of the tracks of which players play one (a QuickTime track's alternate group). Nil: none.
  public var alternateGroup: Int?
  /// How many packets a subtitle or a metadata track has. Nil for other tracks.
  public var packetCount: Int?
  /// Set for text tracks whose captions are text; nil if they are pictures.
  public var captions: CaptionsFormat?
  /// For closed captions that lie between the pictures of a video track, the index of that track. Such a track is no
  /// stream of the file: it has no packets, and where the pictures are copied it is copied with them. Nil for others.
  public var pictureTrack: Int?

  public init(
    index: Int, type: MediaType, codec: String, profile: String? = nil, language: String? = nil,
    isEnabled: Bool = true, timebase: MediaTime, origin: Int64 = 0, hasRoundedTimes: Bool = false,
    range: MediaTimeRange,
    metadata: [String: String] = [:], video: VideoFormat? = nil, audio: AudioFormat? = nil
  ) {
    self.index = index
    self.type = type
    self.codec = codec
    self.profile = profile
    self.language = language
    self.isEnabled = isEnabled
    self.timebase = timebase
    self.origin = origin
    self.hasRoundedTimes = hasRoundedTimes
    self.range = range
    self.metadata = metadata
    self.video = video
    self.audio = audio
  }

  /// The most streams of a file that libavformat opens.
  package static let mostStreams = 1000

  /// The index of the track of the closed captions between the pictures of a track.
  package static func captionIndex(ofPictures track: Int) -> Int { mostStreams + track }
}

/// A picture of a file that is no track, such as cover art.
public struct AttachedPicture: Sendable, Hashable, Codable {
  /// The stream's index in the file.
  public var index: Int
  /// libavcodec's name of the format, such as `mjpeg`.
  public var codec: String
  /// Nil if the file does not state it.
  public var size: PixelSize?
  /// How many bytes it has as it is stored. Nil if the file does not hold it with its index.
  public var byteCount: Int?
  /// Metadata by format key, such as `title` or `comment`.
  public var metadata: [String: String]

  public init(index: Int, codec: String, size: PixelSize?, metadata: [String: String]) {
    self.index = index
    self.codec = codec
    self.size = size
    self.metadata = metadata
  }
}

/// A file that a media file has in it, such as a font.
public struct AttachedFile: Sendable, Hashable, Codable {
  /// The stream's index in the media file.
  public var index: Int
  public var name: String
  /// Such as `font/ttf`. Nil if it is not stated.
  public var mediaType: String?
  public var byteCount: Int

  public init(index: Int, name: String, mediaType: String?, byteCount: Int) {
    (self.index, self.name, self.mediaType, self.byteCount) = (index, name, mediaType, byteCount)
  }
}

/// A part of a file that has a name: of an asset, or of the output.
public struct Chapter: Sendable, Hashable, Codable {
  /// On the file's timeline.
  public var range: MediaTimeRange
  /// Nil if it has none.
  public var title: String?

  public init(range: MediaTimeRange, title: String?) {
    self.range = range
    self.title = title
  }
}

/// A track that cannot be described.
public struct TrackFailure: Sendable, Hashable, Codable {
  /// The stream's index in the file.
  public var index: Int
  public var type: MediaType
  /// libavcodec's name of the codec; `unknown` if it has none.
  public var codec: String
  /// Why.
  public var message: String

  public init(index: Int, type: MediaType, codec: String, message: String) {
    self.index = index
    self.type = type
    self.codec = codec
    self.message = message
  }
}

/// The samples of an audio track.
public struct AudioFormat: Sendable, Hashable, Codable {
  /// A place in a track from which on its samples are stored at another rate or in other channels: streams of several
  /// encoders were joined. They are converted to the track's format.
  public struct Change: Sendable, Hashable, Codable {
    /// The first sample's number, at the track's sample rate, counted from the track's first sample.
    @Ranged<SampleNumberRange> public var sample: Int64
    /// Samples a second of each channel, as they are stored from there on.
    @Ranged<SampleRateRange> public var sampleRate: Int
    /// libavutil's description of the layout from there on.
    public var layout: String

    public init(sample: Int64, sampleRate: Int, layout: String) {
      self.sample = sample
      self.sampleRate = sampleRate
      self.layout = layout
    }
  }

  /// Samples a second of each channel.
  @Ranged<SampleRateRange> public var sampleRate: Int
  @Ranged<ChannelRange> public var channels: Int
  /// libavutil's description of the layout, such as `stereo` or `5.1(side)`.
  public var layout: String
  /// Bits a sample as stored. Nil if the codec has no such number.
  public var bitDepth: Int?
  /// Where the stored format changes, in order. Nil if it does not.
  public var changes: [Change]?

  public init(sampleRate: Int, channels: Int, layout: String, bitDepth: Int? = nil) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.layout = layout
    self.bitDepth = bitDepth
  }
}

/// The name of a track in a document. The audio of video track `A` is the track `A.sound`.
public typealias TrackID = String

/// Clips of assets on tracks: AVFoundation's `AVComposition`.
public struct Composition: Sendable, Hashable, Codable {
  /// First on top.
  public var tracks: [CompositionTrack]

  public init(tracks: [CompositionTrack] = []) {
    self.tracks = tracks
  }

  /// The end of the last clip of any track; zero if there is none.
  public var duration: MediaTime { tracks.map(\.end).max() ?? .zero }

  /// The track of this name, if there is one.
  public func track(_ id: TrackID) -> CompositionTrack? { tracks.first { $0.id == id } }
}

/// One track. Between clips there are gaps: transparent pictures, or silence.
public struct CompositionTrack: Sendable, Hashable, Codable {
  public var id: TrackID
  /// `.video` or `.audio`.
  public var type: MediaType
  /// In order of time, none overlapping another.
  public var clips: [Clip]

  public init(id: TrackID, type: MediaType, clips: [Clip] = []) {
    self.id = id
    self.type = type
    self.clips = clips
  }

  /// The end of the last clip; zero if there is none.
  public var end: MediaTime { clips.last?.target.end ?? .zero }
}

/// A piece of an asset on a track: AVFoundation's track segment.
public struct Clip: Sendable, Hashable, Codable {
  public var asset: AssetID
  /// The stream's index in the asset.
  public var sourceTrack: Int
  /// The number of `sourceTrack` among the asset's tracks of its type, from 0. Nil: it is the asset's default track.
  public var trackNumber: Int?
  /// The part that is used, on the asset's timeline. Empty for a still image, and for a frozen picture of a video. With
  /// a `retiming` that has a speed over time, the clip may end before it has played all of it.
  public var source: MediaTimeRange
  /// The place on the composition's timeline. Its duration differs from the source's if the speed is changed.
  public var target: MediaTimeRange
  /// Nil: pictures that are flagged as interlaced are deinterlaced.
  public var deinterlace: Deinterlacing?
  /// Nil: pictures stay where they are.
  public var stabilization: Stabilization?
  /// How the colours of pictures with alpha are stored. Nil: straight.
  public var alpha: AlphaMode?
  /// Nil: forwards, at one speed.
  public var retiming: Retiming?
  /// What happens to the pitch of sound whose speed is changed. Nil: spectral.
  public var pitch: PitchAlgorithm?
  /// The channels of the clip's sound that are heard, in order, each by its index from 0. Nil: all.
  public var audioChannels: [Int]?
  /// The speakers of the clip's sound, by channel that is heard. Nil: as the file says, or the usual ones of so many
  /// channels if they are chosen.
  public var layout: SpeakerLayout?
  /// The place of the clip's sound from left to right, -1 to 1, on the composition's timeline. Nil: 0.
  public var pan: RampList?
  /// The filters of the clip's sound, applied in order. Nil: none.
  public var audioFilters: [AudioFilter]?
  /// The volume of the clip's sound after its filters, 0 to 10, on the composition's timeline; that of the track is
  /// multiplied with it. Nil: 1.
  public var volume: RampList?

  public init(asset: AssetID, sourceTrack: Int, source: MediaTimeRange, target: MediaTimeRange) {
    self.asset = asset
    self.sourceTrack = sourceTrack
    self.source = source
    self.target = target
  }

  /// The exact time of the asset that the clip shows at a time of the composition. A reversed clip shows the picture
  /// just before it.
  public func sourceTime(at time: MediaTime) throws(TimeError) -> Rational {
    let elapsed = try time.exact - target.start.exact
    return try retiming.sourceTime(after: elapsed, of: source, lasting: target.duration)
  }
}

/// How the colours of a picture with alpha are stored. The raw value is the name in documents.
public enum AlphaMode: String, Sendable, Hashable, Codable, CaseIterable {
  /// As they are, whatever the alpha.
  case straight
  /// Multiplied by alpha: over black.
  case premultiplied
}

/// Which pictures of a clip are deinterlaced, other than those that are flagged as interlaced.
public enum Deinterlacing: String, Sendable, Hashable, Codable {
  /// All, whether they are flagged or not.
  case always
  case never
}

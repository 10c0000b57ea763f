/// The name of an asset in a document.
public typealias AssetID = String
/// The name of a track in a document. The sound of video track `A` is the track `A.sound`.
public typealias TrackID = String

/// Clips of assets on tracks: AVFoundation's `AVComposition` (FEATURES F11).
public struct Composition: Sendable, Hashable, Codable {
  /// First on top.
  public var tracks: [CompositionTrack]

  public init(tracks: [CompositionTrack] = []) {
    self.tracks = tracks
  }

  /// The end of the last clip of any track; zero where there is none.
  public var duration: MediaTime { tracks.map(\.end).max() ?? .zero }

  /// The track of this name, if there is one.
  public func track(_ id: TrackID) -> CompositionTrack? { tracks.first { $0.id == id } }
}

/// One track. Where no clip is there is a gap: transparent picture, or silence (FEATURES F14).
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

  public var end: MediaTime { clips.last?.target.end ?? .zero }
}

/// A piece of an asset on a track: AVFoundation's track segment.
public struct Clip: Sendable, Hashable, Codable {
  public var asset: AssetID
  /// The stream's index in the asset.
  public var sourceTrack: Int
  /// What of the asset's timeline is shown.
  public var source: MediaTimeRange
  /// When, on the composition's timeline. A duration unlike the source's is a change of speed (FEATURES F16); for a
  /// still image the source range is empty and the speed does not matter.
  public var target: MediaTimeRange

  public init(asset: AssetID, sourceTrack: Int, source: MediaTimeRange, target: MediaTimeRange) {
    self.asset = asset
    self.sourceTrack = sourceTrack
    self.source = source
    self.target = target
  }

  /// The asset's time that is shown at a time of the composition, exactly.
  public func sourceTime(at time: MediaTime) throws(TimeError) -> Rational {
    let elapsed = try time.exact - target.start.exact
    return try source.start.exact + elapsed * (source.duration / target.duration)
  }
}

/// The volume of each audio track over time: AVFoundation's `AVAudioMix` (FEATURES F22).
public struct AudioMix: Sendable, Hashable, Codable {
  /// On composition time. A track that is not here plays at 1 throughout.
  public var volumes: [TrackID: RampList]

  public init(volumes: [TrackID: RampList] = [:]) {
    self.volumes = volumes
  }
}

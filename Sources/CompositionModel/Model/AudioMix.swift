/// How the audio tracks are mixed: AVFoundation's `AVAudioMix`. Each track is by its name; a track that is in none of
/// the tables plays at volume 1 as it is. Ramps are on the composition's timeline.
public struct AudioMix: Sendable, Hashable, Codable {
  /// A track that is not in it plays at volume 1.
  public var volumes: [TrackID: RampList]
  /// A second volume, with which the first is multiplied: that of the cross-fades between clips. A track that is not in
  /// it has none.
  public var fades: [TrackID: RampList]
  /// From -1, the left speakers alone, to 1, the right ones alone.
  public var pans: [TrackID: RampList]
  /// Applied in order, before the volume.
  public var filters: [TrackID: [AudioFilter]]
  public var ducking: [TrackID: Ducking]
  /// The second lanes of tracks with transitions between clips, each with its first: the two are mixed before the
  /// filters.
  public var lanes: [TrackID: TrackID]
  /// The loudness that the mix of the whole film is brought to. Nil: the mix stays as it is.
  public var loudness: LoudnessTarget?

  public init(
    volumes: [TrackID: RampList] = [:], fades: [TrackID: RampList] = [:], pans: [TrackID: RampList] = [:],
    filters: [TrackID: [AudioFilter]] = [:], ducking: [TrackID: Ducking] = [:], lanes: [TrackID: TrackID] = [:],
    loudness: LoudnessTarget? = nil
  ) {
    self.volumes = volumes
    self.fades = fades
    self.pans = pans
    self.filters = filters
    self.ducking = ducking
    self.lanes = lanes
    self.loudness = loudness
  }
}

/// Lowers a track while another is heard. Levels are in decibels, times in seconds.
public struct Ducking: Sendable, Hashable, Codable {
  /// The audio track that is listened to.
  public var under: TrackID
  public var levels: DuckingLevels

  public init(under: TrackID, levels: DuckingLevels) {
    self.under = under
    self.levels = levels
  }
}

/// How much and how fast a track is lowered. While the other track's samples are over `threshold`, and for `hold`
/// seconds after, the volume goes to `by`, all of the way in `attack` seconds; then back, in `release` seconds. Both
/// are linear.
public struct DuckingLevels: Sendable, Hashable, Codable {
  /// Decibels, 0 or less.
  public var by: Double
  /// Decibels of full scale.
  public var threshold: Double
  public var attack: Double
  public var hold: Double
  public var release: Double

  public init(
    by: Double = -12, threshold: Double = -36, attack: Double = 0.2, hold: Double = 0.4, release: Double = 0.8
  ) {
    self.by = by
    self.threshold = threshold
    self.attack = attack
    self.hold = hold
    self.release = release
  }
}

/// What the loudness of the whole film becomes, by EBU R 128.
public struct LoudnessTarget: Sendable, Hashable, Codable {
  /// Integrated loudness in LUFS.
  public var target: Double
  /// The highest true peak, in decibels of full scale.
  public var truePeak: Double

  public init(target: Double, truePeak: Double = -1) {
    self.target = target
    self.truePeak = truePeak
  }
}

/// What happens to the pitch of sound whose speed is changed: AVFoundation's `AVAudioTimePitchAlgorithm`. The raw value
/// is the name in documents.
public enum PitchAlgorithm: String, Sendable, Hashable, Codable, CaseIterable {
  /// The pitch is kept, in the best quality: for music, and the default.
  case spectral
  /// The pitch is kept, with less computing and a short window: for speech.
  case timeDomain
  /// The pitch follows the speed, as of a tape. Every sample is at its exact time.
  case varispeed
}

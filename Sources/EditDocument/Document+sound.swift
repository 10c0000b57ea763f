public import CompositionModel

extension Document {
  /// How the tracks are mixed.
  public struct AudioMix: Hashable, Sendable {
    /// By the names of audio tracks, and of the sound of video tracks, such as `video1.sound`.
    public var tracks: [TrackID: TrackMix] = [:]
    /// What the loudness of the whole film becomes. Nil: as it is mixed. Not beside a track named `loudness`.
    public var loudness: LoudnessTarget?

    public init() {}
  }

  /// How one track is mixed. What is nil has its default; ramps are on the film's timeline.
  public struct TrackMix: Hashable, Sendable {
    /// 0 to 10; 1 leaves the sound as it is. Nil: 1.
    public var volume: Level?
    /// From -1, the left speakers alone, to 1, the right ones. Nil: 0.
    public var pan: Level?
    /// Before the volume, in order.
    public var filters: [AudioFilter] = []
    /// Lowers the track while another is heard.
    public var duck: Ducking?

    public init(volume: Level? = nil) { self.volume = volume }
  }
}

extension Document.AudioMix {
  /// Of a volume that stays the number alone.
  var json: JSONValue {
    var members = tracks.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value.json) }
    if let loudness { members.append((AudioMixEntry.loudnessKey, loudness.json)) }
    return .object(members)
  }
}

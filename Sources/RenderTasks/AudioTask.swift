package import CompositionModel

/// Audio of a film, mixed and encoded: whole mixes, or a part of one.
package struct AudioTask: Sendable, Hashable, Codable {
  /// One for each sample rate and number of channels that an output has.
  package var mixes: [AudioMixdown]

  package init(mixes: [AudioMixdown]) {
    self.mixes = mixes
  }

  /// The digests of the files that the mixes read, each once, in order of first appearance.
  package var digests: [String] {
    var seen: Set<String> = []
    return mixes.flatMap(\.digests).filter { seen.insert($0).inserted }
  }

  /// The number of samples of each channel, added up over all mixes.
  package var sampleCount: Int64 { mixes.reduce(0) { $0 + $1.sampleCount } }

  /// Whether it makes a part of the sound.
  package var isPart: Bool { mixes.contains { $0.part != nil } }

  /// The settings of the pieces, in the order of their numbers.
  package var encoders: [AudioSettings] { mixes.flatMap(\.encoders) }
}

/// A mix of the film's audio, and how it is encoded.
package struct AudioMixdown: Sendable, Hashable, Codable {
  /// Samples a second of each channel.
  package var sampleRate: Int
  package var channels: Int
  /// The encodings that are made of the mix, all with its sample rate and its channels: at least one, unless it is a
  /// source of another mix.
  package var encoders: [AudioSettings]
  /// Samples of each channel: round(end · sampleRate) - round(start · sampleRate) for an output from `start` to `end`
  /// of the composition.
  package var sampleCount: Int64
  package var tracks: [PlannedAudioTrack]
  /// In the order of the task's inputs.
  package var sources: [PlannedAudioSource]
  /// The sample of the composition, round(start · sampleRate), that is the output's first. Nil: 0.
  package var firstSample: Int64?
  /// The loudness that the whole mix is brought to. Nil: the mix stays as it is.
  package var loudness: LoudnessTarget?
  /// The part of the film's sound whose packets are made. Nil: all.
  package var part: AudioPart?

  /// - Parameter encoder: The first encoding, which gives the sample rate and the channels.
  package init(
    encoder: AudioSettings, sampleCount: Int64, tracks: [PlannedAudioTrack], sources: [PlannedAudioSource],
    loudness: LoudnessTarget? = nil
  ) {
    sampleRate = encoder.sampleRate
    channels = encoder.channels
    encoders = [encoder]
    self.loudness = loudness
    self.sampleCount = sampleCount
    self.tracks = tracks
    self.sources = sources
  }

  /// Whether the mix is that which settings encode.
  package func isMix(of encoder: AudioSettings) -> Bool {
    sampleRate == encoder.sampleRate && channels == encoder.channels
  }
}

/// A part of a film's sound. Its mix begins before it and ends after it, so that its packets are those between others.
package struct AudioPart: Sendable, Hashable, Codable {
  /// The sample of the film that is the mix's first.
  package var origin: Int64
  /// The samples of the film whose packets are kept: from a packet's first sample to another's, or to the film's end.
  /// Those of an encoder's own padding before the film's first sample are kept with it.
  package var samples: Range<Int64>

  package init(origin: Int64, samples: Range<Int64>) {
    (self.origin, self.samples) = (origin, samples)
  }
}

extension AudioMixdown {
  /// The digests of the files that it reads.
  package var digests: [String] { sources.flatMap { $0.nested?.digests ?? [$0.digest] } }

  /// Whether a sample depends on all that was heard before it, because the filters and the ducking of a track have a
  /// state. What has a state of its own in a clip, such as the clip's filters, begins with the clip.
  package var hasState: Bool {
    tracks.contains { track in
      (track.filters != nil || track.ducking != nil)
        && (!track.clips.isEmpty || track.lanes?.contains { !$0.clips.isEmpty } == true)
    }
  }
}

/// An audio track: its clips, how they are changed together, and its volume.
package struct PlannedAudioTrack: Sendable, Hashable, Codable {
  /// On the composition's timeline.
  package var volume: RampList
  /// With which the volume is multiplied, on the composition's timeline. Nil for a track without cross-fades.
  package var fades: RampList?
  package var clips: [PlannedAudioClip]
  /// From -1 to 1, on the composition's timeline. Nil: 0.
  package var pan: RampList?
  /// Before the volume and the pan. Nil: none.
  package var filters: [AudioFilter]?
  package var ducking: PlannedDucking?
  /// The other lanes of the track, which are mixed with its own clips before the filters. Nil: none.
  package var lanes: [PlannedAudioLane]?

  package init(
    volume: RampList, fades: RampList? = nil, clips: [PlannedAudioClip], pan: RampList? = nil,
    filters: [AudioFilter]? = nil, ducking: PlannedDucking? = nil, lanes: [PlannedAudioLane]? = nil
  ) {
    self.volume = volume
    self.fades = fades
    self.clips = clips
    self.pan = pan
    self.filters = filters
    self.ducking = ducking
    self.lanes = lanes
  }
}

/// Clips of a track that overlap its others by cross-fades.
package struct PlannedAudioLane: Sendable, Hashable, Codable {
  package var fades: RampList?
  package var clips: [PlannedAudioClip]

  package init(fades: RampList? = nil, clips: [PlannedAudioClip]) {
    self.fades = fades
    self.clips = clips
  }
}

/// Lowers a track while another is heard.
package struct PlannedDucking: Sendable, Hashable, Codable {
  /// Index in `AudioMixdown.tracks`.
  package var under: Int
  package var levels: DuckingLevels

  package init(under: Int, levels: DuckingLevels) {
    self.under = under
    self.levels = levels
  }
}

/// A clip of an audio track.
package struct PlannedAudioClip: Sendable, Hashable, Codable {
  /// Index in `AudioMixdown.sources`.
  package var source: Int
  /// On the asset's timeline.
  package var sourceRange: MediaTimeRange
  /// On the composition's timeline. It fills the composition's samples [round(start·rate), round(end·rate)).
  package var targetRange: MediaTimeRange
  /// True: the last sample is heard first. Nil: forwards.
  package var isReversed: Bool?
  /// The speed over the clip's own time. Nil: one speed, at which all of `sourceRange` is played.
  package var speed: SpeedCurve?
  /// What happens to the pitch of a clip whose speed is changed. Nil: spectral.
  package var pitch: PitchAlgorithm?
  /// The channels of the source that are heard, in order, each by its index from 0. Nil: all.
  package var channels: [Int]?
  /// What these channels are. Nil: as the source's format says, or the usual speakers of so many if they are chosen.
  package var layout: SpeakerLayout?
  /// From -1 to 1, on the composition's timeline. Nil: 0.
  package var pan: RampList?
  /// Before the pan. Nil: none.
  package var filters: [AudioFilter]?
  /// After the pan, on the composition's timeline; the track's is multiplied with it. Nil: 1.
  package var volume: RampList?

  package init(
    source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange, pitch: PitchAlgorithm? = nil,
    layout: SpeakerLayout? = nil, pan: RampList? = nil, filters: [AudioFilter]? = nil
  ) {
    self.layout = layout
    self.pitch = pitch
    self.pan = pan
    self.filters = filters
    self.source = source
    self.sourceRange = sourceRange
    self.targetRange = targetRange
  }
}

extension PlannedAudioClip {
  /// Whether a sample depends on those before it in the clip, so that the clip is always made from its first one on.
  package var hasState: Bool {
    let changesSpeed = speed != nil || sourceRange.duration != targetRange.duration
    return filters?.isEmpty == false || (changesSpeed && pitch != .varispeed)
  }
}

/// One audio track of one asset.
package struct PlannedAudioSource: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal. Empty if it is `nested`.
  package var digest: String
  /// The stream's index in the file.
  package var track: Int
  /// Seconds a tick of the stored timestamps.
  package var timebase: MediaTime
  /// The stored timestamp of the asset's time zero.
  package var origin: Int64
  /// The track's. Nil if there are none.
  package var discontinuities: [Discontinuity]?
  package var audio: AudioFormat
  /// The mix of an edit that is the source, with the sample rate and the channels of `audio`. Nil: it is a file.
  package var nested: AudioMixdown?

  package init(
    digest: String, track: Int, timebase: MediaTime, origin: Int64, discontinuities: [Discontinuity]? = nil,
    audio: AudioFormat
  ) {
    self.discontinuities = discontinuities
    self.digest = digest
    self.track = track
    self.timebase = timebase
    self.origin = origin
    self.audio = audio
  }
}

package import CompositionModel

/// The whole sound of the output, mixed and encoded once (DESIGN 5).
package struct AudioTask: Sendable, Hashable, Codable {
  package var encoder: AudioSettings
  /// round(duration · sampleRate) samples of each channel.
  package var sampleCount: Int64
  package var tracks: [PlannedAudioTrack]
  /// In the order in which the task's inputs are opened.
  package var sources: [PlannedAudioSource]

  package init(
    encoder: AudioSettings, sampleCount: Int64, tracks: [PlannedAudioTrack], sources: [PlannedAudioSource]
  ) {
    self.encoder = encoder
    self.sampleCount = sampleCount
    self.tracks = tracks
    self.sources = sources
  }
}

package struct PlannedAudioTrack: Sendable, Hashable, Codable {
  /// On composition time.
  package var volume: RampList
  package var clips: [PlannedAudioClip]

  package init(volume: RampList, clips: [PlannedAudioClip]) {
    self.volume = volume
    self.clips = clips
  }
}

package struct PlannedAudioClip: Sendable, Hashable, Codable {
  /// Index in `AudioTask.sources`.
  package var source: Int
  /// On the asset's timeline.
  package var sourceRange: MediaTimeRange
  /// On composition time; it fills the output's samples [round(start·rate), round(end·rate)).
  package var targetRange: MediaTimeRange

  package init(source: Int, sourceRange: MediaTimeRange, targetRange: MediaTimeRange) {
    self.source = source
    self.sourceRange = sourceRange
    self.targetRange = targetRange
  }
}

package struct PlannedAudioSource: Sendable, Hashable, Codable {
  /// Lower-case hexadecimal SHA-256 of the file.
  package var digest: String
  package var track: Int
  package var timebase: MediaTime
  package var origin: Int64
  package var audio: AudioFormat

  package init(digest: String, track: Int, timebase: MediaTime, origin: Int64, audio: AudioFormat) {
    self.digest = digest
    self.track = track
    self.timebase = timebase
    self.origin = origin
    self.audio = audio
  }
}

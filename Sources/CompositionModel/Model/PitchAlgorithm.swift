/// What happens to the pitch of sound whose speed is changed: AVFoundation's `AVAudioTimePitchAlgorithm`. The raw value is
/// the name in documents.
public enum PitchAlgorithm: String, Sendable, Hashable, Codable, CaseIterable {
  /// The pitch is kept, in the best quality: for music, and the default.
  case spectral
  /// The pitch is kept, with less computing and a short window: for speech.
  case timeDomain
  /// The pitch follows the speed, as of a tape. Every sample is at its exact time.
  case varispeed
}

/// Filters of sound for everyday jobs, as chains of `AudioFilter`s. The raw value is the name in documents.
public enum AudioFilterPreset: String, Sendable, Hashable, Codable, CaseIterable {
  /// Speech that is easier to understand: without rumble, with less boom, and with more of what consonants have.
  case voice
  /// Music that leaves room for a voice.
  case underVoice
  /// As over a telephone line.
  case telephone
  case warm, bright, bass
  /// Without the hum of a mains of 50 Hz and its harmonics up to 400 Hz, and of one of 60 Hz up to 480 Hz.
  case hum50, hum60

  /// In the order in which they are applied.
  public var filters: [AudioFilter] {
    switch self {
    case .voice:
      [
        .highPass(frequency: 80, q: 0.707), .equalizer(frequency: 250, gain: -2.5, q: 1),
        .equalizer(frequency: 3500, gain: 3, q: 0.9), .highShelf(frequency: 10_000, gain: 1.5, q: 0.707),
      ]
    case .underVoice: [.equalizer(frequency: 2200, gain: -6, q: 0.6)]
    case .telephone: [.highPass(frequency: 300, q: 0.707), .lowPass(frequency: 3400, q: 0.707)]
    case .warm: [.lowShelf(frequency: 250, gain: 2.5, q: 0.707), .highShelf(frequency: 6000, gain: -2.5, q: 0.707)]
    case .bright: [.highShelf(frequency: 5000, gain: 4, q: 0.707)]
    case .bass: [.lowShelf(frequency: 110, gain: 6, q: 0.707)]
    case .hum50: Self.notches(of: 50)
    case .hum60: Self.notches(of: 60)
    }
  }

  private static func notches(of frequency: Double) -> [AudioFilter] {
    // A deeper notch would be wider: this one takes half a decibel of what is a tenth of its frequency away.
    (1...8).map { .equalizer(frequency: frequency * Double($0), gain: -30, q: 100) }
  }
}

import CompositionModel
import EditDocument
import Glibc

/// Volumes in decibels, of which -96 is silence.
enum FCPXMLLevel {
  private static let silence = -96.0

  /// `-6dB` as a factor. Nil: it is no level.
  static func factor(_ text: String) -> Double? {
    Decibels.number(text.trimmed).map { $0 <= silence ? 0 : Decibels.volume($0) }
  }

  /// To a millionth of a decibel.
  static func text(_ volume: Double) -> String {
    guard volume > 0 else { return "\(plain(silence))dB" }
    return "\(plain(max(silence, (20 * log10(volume) * 1_000_000).rounded() / 1_000_000)))dB"
  }
}

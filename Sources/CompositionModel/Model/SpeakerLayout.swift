/// The speakers that the channels of a sound are for, in libavutil's order. The raw value is its name there and in
/// documents.
public enum SpeakerLayout: String, Sendable, Hashable, Codable, CaseIterable {
  case mono, stereo
  case surround21 = "2.1"
  case surround30 = "3.0"
  case quad
  case surround40 = "4.0"
  case surround50 = "5.0"
  case surround51 = "5.1"
  case surround61 = "6.1"
  case surround70 = "7.0"
  case surround71 = "7.1"
  case octagonal, hexadecagonal

  public var channels: Int {
    switch self {
    case .mono: 1
    case .stereo: 2
    case .surround21, .surround30: 3
    case .quad, .surround40: 4
    case .surround50: 5
    case .surround51: 6
    case .surround61, .surround70: 7
    case .surround71, .octagonal: 8
    case .hexadecagonal: 16
    }
  }

  /// What so many channels are taken as if their file does not say. Nil: there is no usual layout.
  package static func usual(_ channels: Int) -> SpeakerLayout? {
    switch channels {
    case 1: .mono
    case 2: .stereo
    case 3: .surround21
    case 4: .surround40
    case 5: .surround50
    case 6: .surround51
    case 7: .surround61
    case 8: .surround71
    default: nil
    }
  }
}

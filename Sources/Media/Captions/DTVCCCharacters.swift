/// The characters of CEA-708.
enum DTVCCCharacters {
  /// For what is not in a set, and cannot be shown.
  private static let missing: Unicode.Scalar = "_"

  /// Those of the set G2 that are no ASCII.
  private static let second: [UInt8: Unicode.Scalar] = [
    // A transparent space, and one that does not break.
    0x20: " ", 0x21: "\u{A0}",
    0x25: "…", 0x2A: "Š", 0x2C: "Œ", 0x30: "█", 0x31: "‘", 0x32: "’", 0x33: "“", 0x34: "”", 0x35: "•", 0x39: "™",
    0x3A: "š", 0x3C: "œ", 0x3D: "℠", 0x3F: "Ÿ", 0x76: "⅛", 0x77: "⅜", 0x78: "⅝", 0x79: "⅞", 0x7A: "│", 0x7B: "┐",
    0x7C: "└", 0x7D: "─", 0x7E: "┘", 0x7F: "┌",
  ]

  /// The characters that a code shows; nil if it is no character's code.
  /// - Parameter command: The code, and what follows it.
  static func scalars(_ command: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
    guard let code = command.first else { return nil }
    let parameters = command.dropFirst()
    switch code {
    // G0 is ASCII but for one, and G1 is Latin-1.
    case 0x7F: return ["♪"]
    case 0x20...0x7E, 0xA0...0xFF: return [Unicode.Scalar(code)]
    case 0x10:
      guard let extended = parameters.first else { return nil }
      switch extended {
      case 0x20...0x7F: return [second[extended] ?? missing]
      // G3 has one character, the sign of closed captions.
      case 0xA0: return Array("[CC]".unicodeScalars)
      case 0xA1...0xFF: return [missing]
      default: return nil
      }
    // Sixteen bits.
    case 0x18:
      let value = parameters.reduce(0) { $0 << 8 | UInt16($1) }
      guard value >= 0x20, !(0x7F..<0xA0).contains(value), !(0x2028...0x2029).contains(value) else { return [missing] }
      return [Unicode.Scalar(value) ?? missing]
    default: return nil
    }
  }
}

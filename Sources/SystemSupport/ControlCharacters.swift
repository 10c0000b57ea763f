extension String {
  /// With control characters written out, as in `\u{1B}`: names may contain them, and a terminal would execute them.
  /// Line ends and tabs stay.
  package var withoutControls: String { replacingControls { "\\u{\($0)}" } }

  /// The same for a JSON text, where only strings can contain them: written out as JSON's own escapes, such as
  /// `\u001B`.
  package var controlsEscapedAsJSON: String {
    replacingControls { "\\u" + String(repeating: "0", count: 4 - $0.count) + $0 }
  }

  /// - Parameter escape: Returns what takes a character's place, from its number in hexadecimal.
  private func replacingControls(_ escape: (String) -> String) -> String {
    guard unicodeScalars.contains(where: \.controlsTerminals) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      text += scalar.controlsTerminals ? escape(String(scalar.value, radix: 16, uppercase: true)) : String(scalar)
    }
  }
}

extension Unicode.Scalar {
  fileprivate var controlsTerminals: Bool {
    switch self {
    case "\n", "\t": false
    // They change the direction of the text that follows.
    case "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
    default: properties.generalCategory == .control
    }
  }
}

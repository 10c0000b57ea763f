import FoundationEssentials
import Glibc

/// Standard output for results, standard error for everything that is said on the way.
enum Console {
  static func complain(_ line: String) {
    write(line.withoutControls + "\n", to: STDERR_FILENO)
  }

  static func print(_ line: String) {
    write(line.withoutControls + "\n", to: STDOUT_FILENO)
  }

  static func printJSON(_ value: some Encodable) {
    do {
      print(String(decoding: try JSONCoding.prettyEncoder.encode(value), as: UTF8.self))
    } catch {
      complain("sheaf: the result cannot be written as JSON: \(error)")
    }
  }

  static func write(_ text: String, to file: Int32) {
    // Nobody is left to be told of an error in telling.
    Array(text.utf8).withUnsafeBytes { _ = FileBytes.write($0, to: file) }
  }

  static var errorsAreATerminal: Bool { isatty(STDERR_FILENO) == 1 }

  static var width: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}

extension String {
  /// With control characters, which documents and media may hold and a terminal would obey, written out: `\u{1B}`.
  /// Line ends and tabs stay.
  var withoutControls: String {
    guard unicodeScalars.contains(where: \.isObeyed) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      text += scalar.isObeyed ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
    }
  }
}

extension Unicode.Scalar {
  fileprivate var isObeyed: Bool {
    switch self {
    case "\n", "\t": false
    // They turn the order of what follows.
    case "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
    default: properties.generalCategory == .control
    }
  }
}

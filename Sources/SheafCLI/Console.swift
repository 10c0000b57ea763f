import Client
import CompositionModel
import Coordinator
import FoundationEssentials
import Glibc
import SystemSupport

/// Standard output for results, standard error for progress and errors.
enum Console {
  static func print(_ line: String) {
    write(line.withoutControls + "\n", to: STDOUT_FILENO)
  }

  static func printError(_ line: String) {
    write(line.withoutControls + "\n", to: STDERR_FILENO)
  }

  /// Prints a value as JSON.
  /// - Parameter lines: Whether it takes several indented lines, or one.
  static func printJSON(_ value: some Encodable, lines: Bool = true) {
    do {
      let encoder = lines ? JSONCoding.prettyEncoder : JSONCoding.encoder
      let json = String(decoding: try encoder.encode(value), as: UTF8.self)
      write(json.controlsEscapedAsJSON + "\n", to: STDOUT_FILENO)
    } catch {
      printError("sheaf: the result cannot be written as JSON: \(error)")
    }
  }

  static func write(_ text: String, to file: Int32) {
    // An error in writing cannot be reported anywhere.
    Array(text.utf8).withUnsafeBytes { try? writeAll(file, $0, name: "the console") }
  }

  static var errorsAreATerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// In columns.
  static var width: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}

extension CommandFailure {
  private struct Report: Encodable {
    var state = "failed"
    var error: String?
    var problems: [Problem]
  }

  /// Prints the failure on standard error, and with `json` also on standard output.
  func report(document: String?, json: Bool) {
    if json {
      Console.printJSON(Report(error: message.isEmpty ? nil : message, problems: problems))
    }
    if !message.isEmpty { Console.printError("sheaf: \(message)") }
    for problem in problems { Console.printError(document.map { "\($0): \(problem)" } ?? "\(problem)") }
  }
}

extension String {
  /// With control characters written out, as in `\u{1B}`: documents and media may contain them, and a terminal would
  /// execute them. Line ends and tabs stay.
  var withoutControls: String { replacingControls { "\\u{\($0)}" } }

  /// The same for a JSON text, where only strings can contain them: written out as JSON's own escapes, such as `\u001B`.
  var controlsEscapedAsJSON: String {
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

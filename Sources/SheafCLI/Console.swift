import Client
import CompositionModel
import Coordinator
import FoundationEssentials
import Glibc
import SystemSupport

/// Standard output for results, standard error for progress and errors.
enum Console {
  /// Throws `ConsoleError` if standard output cannot be written.
  static func print(_ line: String) throws(ConsoleError) {
    try write(line.withoutControls + "\n")
  }

  /// An error in writing to standard error cannot be reported anywhere.
  static func printError(_ line: String) {
    writeError(line.withoutControls + "\n")
  }

  /// Prints a value as JSON. Throws `ConsoleError` if standard output cannot be written, or what encoding throws.
  /// - Parameter lines: Whether it takes several indented lines, or one.
  static func printJSON(_ value: some Encodable, lines: Bool = true) throws {
    let encoder = lines ? JSONCoding.prettyEncoder : JSONCoding.encoder
    let json = String(decoding: try encoder.encode(value), as: UTF8.self)
    try write(json.controlsEscapedAsJSON + "\n")
  }

  fileprivate static func write(_ text: String) throws(ConsoleError) {
    do throws(SystemError) {
      try Self.write(text, to: STDOUT_FILENO)
    } catch {
      throw ConsoleError(error)
    }
  }

  fileprivate static func writeError(_ text: String) {
    try? write(text, to: STDERR_FILENO)
  }

  private static func write(_ text: String, to file: Int32) throws(SystemError) {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(SystemError) in
        try writeAll(file, buffer, name: file == STDOUT_FILENO ? "standard output" : "standard error")
      }
    }
    try result.get()
  }
}

/// Standard output could not be written.
struct ConsoleError: Error, CustomStringConvertible {
  /// Whether the reader has closed it, as `head` does, so that the rest of the output is not wanted.
  var isClosed: Bool
  var description: String

  init(_ error: SystemError) {
    isClosed = error.isClosedByReader
    description = "\(error)"
  }
}

/// A terminal that can be repainted.
struct Terminal: Sendable {
  private let file: Int32

  /// Standard error; nil if it is not a terminal.
  static var errors: Terminal? { Terminal(STDERR_FILENO) }
  /// Standard output; nil if it is not a terminal.
  static var output: Terminal? { Terminal(STDOUT_FILENO) }

  private init?(_ file: Int32) {
    guard isatty(file) == 1 else { return nil }
    self.file = file
  }

  /// In columns: 80 if the terminal does not say.
  var width: Int { max(20, size.map { Int($0.ws_col) } ?? 80) }
  /// In lines: 24 if the terminal does not say.
  var height: Int { max(3, size.map { Int($0.ws_row) } ?? 24) }

  private var size: winsize? {
    var size = winsize()
    guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  fileprivate func write(_ text: String) throws(ConsoleError) {
    if file == STDOUT_FILENO { try Console.write(text) } else { Console.writeError(text) }
  }
}

/// Lines at the end of a terminal that are replaced as a whole.
struct PaintedLines {
  private var count = 0

  /// The characters that replace the lines painted before by these.
  mutating func sequence(_ lines: [String]) -> String {
    // Back to the first line, and everything below it is erased.
    var text = count == 0 ? "" : "\r" + (count > 1 ? "\u{1B}[\(count - 1)A" : "") + "\u{1B}[J"
    text += lines.map(\.onOneLine).joined(separator: "\n")
    count = lines.count
    return text
  }

  /// Replaces the lines on the terminal. Each must be shorter than its width.
  mutating func paint(_ lines: [String], on terminal: Terminal) {
    // Progress that cannot be shown is no reason to stop.
    try? terminal.write(sequence(lines))
  }

  /// The same, where the lines are the command's result. Throws `ConsoleError` if they cannot be written.
  mutating func print(_ lines: [String], on terminal: Terminal) throws(ConsoleError) {
    try terminal.write(sequence(lines))
  }
}

extension CommandFailure {
  private struct Report: Encodable {
    var job: String?
    var state = "failed"
    var error: String?
    var problems: [Problem]
  }

  /// How a failure is printed on standard output.
  enum JSONForm {
    case none
    case lines
    /// Among the lines of a watch.
    case oneLine
  }

  /// Prints the failure on standard error, and as JSON also on standard output. Throws if that cannot be written.
  func report(document: String?, json: JSONForm) throws {
    defer {
      if !message.isEmpty { Console.printError("sheaf: \(message)") }
      for problem in problems { Console.printError(document.map { "\($0): \(problem)" } ?? "\(problem)") }
      for line in advice { Console.printError(line) }
    }
    guard json != .none else { return }
    try Console.printJSON(
      Report(job: job, error: message.isEmpty ? nil : message, problems: problems), lines: json == .lines)
  }
}

extension String {
  /// On one line, for a place that has one: ends of lines and tabs become spaces.
  var onOneLine: String { String(withoutControls.map { $0.isNewline || $0 == "\t" ? " " : $0 }) }

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

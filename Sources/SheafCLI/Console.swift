import Client
import CompositionModel
import FoundationEssentials
import Glibc
import SystemSupport

/// Standard output for results, standard error for progress and errors.
enum Console {
  /// Throws `OutputError` if standard output cannot be written.
  static func print(_ line: String) throws(OutputError) {
    try write(line.withoutControls + "\n")
  }

  /// Prints text of several lines that the program itself has made.
  static func print(whole text: String) throws(OutputError) { try write(text) }

  static func printError(_ line: String) {
    StandardError.write(line.withoutControls + "\n")
  }

  /// Prints a value as JSON. Throws `OutputError` if standard output cannot be written, or what encoding throws.
  /// - Parameter lines: Whether it takes several indented lines, or one.
  static func printJSON(_ value: some Encodable, lines: Bool = true) throws {
    let encoder = lines ? JSONCoding.prettyEncoder : JSONCoding.encoder
    let json = String(decoding: try encoder.encode(value), as: UTF8.self)
    try write(json.controlsEscapedAsJSON + "\n")
  }

  fileprivate static func write(_ text: String) throws(OutputError) {
    try StandardOutput.write(text)
  }

}

/// A terminal that can be repainted.
struct Terminal: Sendable {
  private let file: Int32

  /// Standard error; nil if it is not a terminal that can be repainted.
  static var errors: Terminal? { Terminal(STDERR_FILENO) }
  /// Standard output; nil if it is not a terminal that can be repainted.
  static var output: Terminal? { Terminal(STDOUT_FILENO) }

  private init?(_ file: Int32) {
    guard isatty(file) == 1, Self.canRepaint(ProcessEnvironment.value("TERM")) else { return nil }
    self.file = file
  }

  /// Whether a terminal of this type, the value of `TERM`, executes control sequences. It gets lines otherwise, as a
  /// pipe.
  static func canRepaint(_ type: String?) -> Bool { type != "dumb" }

  /// In columns: 80 if the terminal does not say.
  var width: Int { max(20, size.map { Int($0.ws_col) } ?? 80) }
  /// In lines: 24 if the terminal does not say.
  var height: Int { max(3, size.map { Int($0.ws_row) } ?? 24) }

  private var size: winsize? {
    var size = winsize()
    guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  fileprivate func write(_ text: String) throws(OutputError) {
    if file == STDOUT_FILENO { try Console.write(text) } else { StandardError.write(text) }
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

  /// The same, where the lines are the command's result. Throws `OutputError` if they cannot be written.
  mutating func print(_ lines: [String], on terminal: Terminal) throws(OutputError) {
    try terminal.write(sequence(lines))
  }
}

extension CommandFailure {
  private struct Report: Encodable {
    var job: String?
    var state: String
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
      for problem in problems { Console.printError(problem.text(in: document)) }
      for line in advice { Console.printError(line) }
    }
    guard json != .none else { return }
    let state = code == .interrupted || code == .terminated ? "interrupted" : "failed"
    try Console.printJSON(
      Report(job: job, state: state, error: message.isEmpty ? nil : message, problems: problems), lines: json == .lines)
  }
}

extension String {
  /// On one line, for a place that has one: ends of lines and tabs become spaces.
  var onOneLine: String { String(withoutControls.map { $0.isNewline || $0 == "\t" ? " " : $0 }) }
}

import FoundationEssentials
package import Logging
package import SystemSupport

/// Writes each log message to standard error as one JSON object on one line: `time` (RFC 3339 in UTC, with
/// milliseconds), `level`, `message`, `logger`, and then the metadata by its keys, sorted. A key of the metadata that
/// is one of those four has an underscore after it.
package struct JSONLogHandler: LogHandler {
  private static let ownKeys: Set = ["time", "level", "message", "logger"]

  package var logLevel: Logger.Level = .info
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  private let label: String
  private let write: @Sendable (String) -> Void

  /// - Parameters:
  ///   - label: The logger's.
  ///   - write: Receives each line with its line break; by default it is written to standard error.
  package init(label: String, write: @escaping @Sendable (String) -> Void = { StandardError.write($0) }) {
    self.label = label
    self.write = write
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var all = metadata.merging(metadataProvider?.get() ?? [:]) { _, new in new }
    all.merge(event.metadata ?? [:]) { _, new in new }
    write(line(Date.now, event.level, "\(event.message)", all))
  }

  private func line(
    _ time: Date, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata
  ) -> String {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    var members = [
      ("time", Self.text(time.formatted(style))), ("level", Self.text("\(level)")), ("message", Self.text(message)),
      ("logger", Self.text(label)),
    ]
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      let name = key.replacing(" ", with: "_")
      members.append((Self.ownKeys.contains(name) ? name + "_" : name, Self.json(value)))
    }
    return "{" + members.map { "\(Self.text($0.0)):\($0.1)" }.joined(separator: ",") + "}\n"
  }

  private static func json(_ value: Logger.MetadataValue) -> String {
    switch value {
    case .string(let string): text(string)
    case .stringConvertible(let value): text("\(value)")
    case .array(let values): "[" + values.map(json).joined(separator: ",") + "]"
    case .dictionary(let members):
      "{" + members.sorted { $0.key < $1.key }.map { "\(text($0.key)):\(json($0.value))" }.joined(separator: ",") + "}"
    }
  }

  /// A string of JSON, in which nothing executes on a terminal.
  private static func text(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      // Line ends of JavaScript, which some readers of lines take for ends.
      case "\u{2028}", "\u{2029}": text += "\\u" + String(scalar.value, radix: 16)
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text.controlsEscapedAsJSON + "\""
  }
}

/// The form of a program's log.
package enum LogFormat: Sendable {
  case text, json

  /// What `--log-format` or `SHEAF_LOG_FORMAT` says.
  package init(setting option: String?) throws(SettingError) {
    self = try Setting.logsJSON(option) ? .json : .text
  }

  package func logger(_ label: String) -> Logger {
    Logger(label: label) { label in
      switch self {
      case .text: LineLogHandler()
      case .json: JSONLogHandler(label: label)
      }
    }
  }
}

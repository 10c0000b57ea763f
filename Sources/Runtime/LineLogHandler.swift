import FoundationEssentials
package import Logging
import SystemSupport

/// Writes each log message to standard error as one line: the time, the level, the message, and then the metadata as
/// `key=value`, sorted by key.
package struct LineLogHandler: LogHandler {
  package var logLevel: Logger.Level = .info
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  private let write: @Sendable (String) -> Void

  /// - Parameter write: Receives each line with its line break; by default it is written to standard error.
  package init(write: @escaping @Sendable (String) -> Void = { StandardError.write($0) }) {
    self.write = write
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var all = metadata.merging(metadataProvider?.get() ?? [:]) { _, new in new }
    all.merge(event.metadata ?? [:]) { _, new in new }
    write(Self.line(Date.now, event.level, "\(event.message)", all))
  }

  /// The line of a message, with its line break.
  static func line(_ time: Date, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
    var words = [time.formatted(.iso8601), "\(level):", message]
    words += metadata.sorted { $0.key < $1.key }.map { key, value in
      "\(key.replacing(" ", with: "_"))=\(quoted("\(value)"))"
    }
    // One line each, which no terminal executes, whatever a file or a job is called.
    let line = words.joined(separator: " ").split(whereSeparator: \.isNewline).joined(separator: "; ")
    return line.withoutControls.replacing("\t", with: "\\u{9}") + "\n"
  }

  private static func quoted(_ value: String) -> String {
    let isPlain = !value.isEmpty && !value.contains { $0.isWhitespace || $0 == "\"" || $0 == "=" }
    return isPlain ? value : "\"\(value.replacing("\"", with: "'"))\""
  }
}

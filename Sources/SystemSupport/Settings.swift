import Glibc

/// What the two executables are: `sheaf --version` and `sheaf-worker --version` print it.
package enum Product {
  /// The version of this source tree. Which workers may render one film together depends on their builds and not on
  /// this.
  package static let version = "0.1.0"
}

/// The process's environment variables.
package enum ProcessEnvironment {
  /// Nil if the variable is unset or empty, which is how docker compose passes variables that are not set.
  package static func value(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// Every variable by name, those with an empty value included.
  package static var all: [String: String] {
    var found: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        found[String(text[..<equals])] = String(text[text.index(after: equals)...])
      }
      next += 1
    }
    return found
  }

  /// This user's folder for what can be made again: `$XDG_CACHE_HOME/sheaf`, or `~/.cache/sheaf`. Throws if neither
  /// variable is an absolute path, or if the folder exists and belongs to another user: no folder that any user can
  /// make takes its place, because its maker could change what is in it.
  package static var cacheDirectory: String {
    get throws(SettingError) { try cacheDirectory(value, user: geteuid()) }
  }

  static func cacheDirectory(_ environment: Setting.Environment, user: uid_t) throws(SettingError) -> String {
    let folder: String
    if let cache = environment("XDG_CACHE_HOME"), cache.hasPrefix("/") {
      folder = "\(cache)/sheaf"
    } else if let home = environment("HOME"), home.hasPrefix("/") {
      folder = "\(home)/.cache/sheaf"
    } else {
      throw SettingError(
        "there is no cache folder, because neither XDG_CACHE_HOME nor HOME is set; set one of them to an absolute path")
    }
    var status = stat()
    guard stat(folder, &status) != 0 || status.st_uid == user else {
      throw SettingError(
        "the cache folder \(folder) belongs to another user; set XDG_CACHE_HOME to a folder of your own")
    }
    return folder
  }

  /// The folder of what a service keeps: the one that a service manager has made for it (`STATE_DIRECTORY`), or `sheaf`
  /// in `$XDG_STATE_HOME` or `~/.local/state`. Nil: none of the variables is an absolute path.
  package static var stateDirectory: String? {
    if let folder = value("STATE_DIRECTORY")?.split(separator: ":").first, folder.hasPrefix("/") {
      return String(folder)
    }
    if let state = value("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/sheaf" }
    guard let home = value("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/state/sheaf"
  }

  /// This machine's name.
  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// An option's value: the command line's, else its environment variable's. Both executables read their options here, so
/// that one rule holds for both (see `docs/operations/options.md`).
package enum Setting {
  /// Returns the value of an environment variable; nil if it is unset or empty.
  package typealias Environment = (_ variable: String) -> String?

  /// The text of an option; nil if neither the option nor the variable is set.
  package static func text(
    _ option: String?, _ variable: String, environment: Environment = ProcessEnvironment.value
  ) -> String? {
    option ?? environment(variable)
  }

  /// On if the option is given, or the variable is `1`, `true` or `yes` in any case.
  package static func flag(
    _ option: Bool, _ variable: String, environment: Environment = ProcessEnvironment.value
  ) -> Bool {
    option || ["1", "true", "yes"].contains(environment(variable)?.lowercased())
  }

  /// Nil if neither the option nor the variable is set. Throws if the value is not a whole number in `range`.
  /// - Parameter name: The option's, for the message, such as `--slots`.
  package static func number(
    _ option: String?, _ name: String, _ variable: String, in range: ClosedRange<Int64>,
    environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> Int64? {
    guard let text = text(option, variable, environment: environment) else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      let limit = range.upperBound == .max ? "" : " to \(range.upperBound)"
      throw SettingError(
        "\(option == nil ? variable : name) is \"\(text)\"; it must be a whole number from \(range.lowerBound)\(limit)")
    }
    return number
  }

  /// The names of the log levels, the most detailed first.
  package static let logLevels = ["debug", "info", "notice", "warning", "error"]

  /// The name of the log level that `--log-level` or `SHEAF_LOG_LEVEL` gives.
  package static func logLevel(
    _ option: String?, default: String, environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> String {
    let name = text(option, "SHEAF_LOG_LEVEL", environment: environment) ?? `default`
    guard logLevels.contains(name) else {
      throw SettingError("\"\(name)\" is not a log level; the log levels are \(logLevels.joined(separator: ", "))")
    }
    return name
  }

  /// The names of the log formats.
  package static let logFormats = ["text", "json"]

  /// Whether `--log-format` or `SHEAF_LOG_FORMAT` asks for JSON.
  package static func logsJSON(
    _ option: String?, environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> Bool {
    let name = text(option, "SHEAF_LOG_FORMAT", environment: environment) ?? logFormats[0]
    guard logFormats.contains(name) else {
      throw SettingError("\"\(name)\" is not a log format; the log formats are \(logFormats.joined(separator: ", "))")
    }
    return name == "json"
  }

  /// A token of the farm: the first line of the file that an option such as `--token-file` or a variable such as
  /// `SHEAF_TOKEN_FILE` names, else the value of the variable `SHEAF_TOKEN`; nil if none of them is set. A line ends
  /// with LF or CRLF. Throws if the file cannot be read, has more than 4096 bytes, or has an empty first line.
  /// - Parameter variable: Of the token itself; that of the file's name has `_FILE` behind it.
  package static func token(
    file option: String?, _ variable: String = "SHEAF_TOKEN", environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> String? {
    try secret(file: option, variable, "token", environment: environment)
  }

  /// The URL of a database, which may have a password: `--database`, else the first line of the file that
  /// `--database-file` or `SHEAF_DATABASE_FILE` names, else the value of `SHEAF_DATABASE`; nil if none of them is set.
  package static func database(
    _ option: String?, file: String?, environment: Environment = ProcessEnvironment.value
  ) throws(SettingError) -> String? {
    guard option == nil || file == nil else {
      throw SettingError("--database and --database-file both name the database; give one of them")
    }
    if let option { return option }
    return try secret(file: file, "SHEAF_DATABASE", "database", environment: environment)
  }

  /// - Parameter kind: Of the file, for messages.
  private static func secret(
    file option: String?, _ variable: String, _ kind: String, environment: Environment
  ) throws(SettingError) -> String? {
    guard let path = text(option, "\(variable)_FILE", environment: environment) else {
      return environment(variable)
    }
    let bytes: [UInt8]
    do {
      bytes = try OpenFile.contents(of: path, limit: 4096)
    } catch {
      throw SettingError("the \(kind) file cannot be read: \(error)")
    }
    let line = String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
    guard !line.isEmpty else { throw SettingError("the first line of the \(kind) file \(path) is empty") }
    return line
  }
}

/// A setting has an impossible value. The description names the setting, its value and the possible values.
package struct SettingError: Error, Sendable, Hashable, CustomStringConvertible {
  package var description: String

  package init(_ description: String) {
    self.description = description
  }
}

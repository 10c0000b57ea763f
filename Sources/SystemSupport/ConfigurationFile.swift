import FoundationEssentials
import Glibc

/// A file with the values of a program's options, by their names: what neither the command line nor the environment
/// has. It is JSON5, so it may have comments:
///
///     { database: "postgres:///sheaf", "min-free": "20G", http: "0.0.0.0:8080", insecure: true }
package enum ConfigurationFile {
  /// An option that the file may have.
  package struct Option: Sendable, Hashable {
    /// Its variable.
    package var variable: String
    /// Between several values in the variable. Nil: it takes one.
    package var separator: String?
    /// Whether the command that runs has it; if not, another command of the program does.
    package var isUsed: Bool
  }

  private static let variable = "SHEAF_CONFIG"
  private static let longest = 1 << 20

  /// Sets the variables of the options that a file has, unless they are set. The file is the one that `--config` or
  /// `SHEAF_CONFIG` names; without one nothing is done. To be called before the program's second thread begins.
  ///
  /// - Parameters:
  ///   - arguments: Of the command line, without the program's name.
  ///   - help: The program's commands and options, as its argument parser describes them in JSON. It takes most of a
  ///     command's time to make, so it is made only for a file.
  package static func apply(_ arguments: [String], help: @autoclosure () -> String) throws(SettingError) {
    guard let path = path(in: arguments) ?? ProcessEnvironment.value(variable) else { return }
    let bytes: [UInt8]
    do {
      bytes = try OpenFile.contents(of: path, limit: longest)
    } catch {
      throw SettingError("the configuration file cannot be read: \(error)")
    }
    do {
      for (name, value) in try values(of: bytes, for: options(in: help(), arguments)) {
        // Docker compose passes variables that are not set as empty ones.
        if ProcessEnvironment.value(name) == nil { setenv(name, value, 1) }
      }
    } catch {
      throw SettingError("the configuration file \(path): \(error)")
    }
  }

  /// The value of `--config`. Whatever follows `--` is none.
  static func path(in arguments: [String]) -> String? {
    let arguments = arguments.prefix { $0 != "--" }
    for (place, argument) in arguments.enumerated() {
      if argument.hasPrefix("--config=") { return String(argument.dropFirst("--config=".count)) }
      if argument == "--config" { return arguments.dropFirst(place + 1).first }
    }
    return nil
  }

  /// The options of a program by their names, without dashes. Each names its variable in brackets at the end of its
  /// text, and how several values are written there.
  static func options(in help: String, _ arguments: [String]) throws(SettingError) -> [String: Option] {
    guard let tool = try? JSONDecoder().decode(Tool.self, from: Data(help.utf8)) else {
      throw SettingError("the options of this program are not known")
    }
    var options: [String: Option] = [:]
    collect(tool.command, isUsed: true, arguments[...], into: &options)
    return options
  }

  private static func collect(
    _ command: Tool.Command, isUsed: Bool, _ arguments: ArraySlice<String>, into options: inout [String: Option]
  ) {
    for argument in command.arguments ?? [] {
      guard let text = argument.abstract, let start = text.firstRange(of: "[SHEAF_"),
        let end = text[start.upperBound...].firstIndex(of: "]")
      else { continue }
      let place = text[text.index(after: start.lowerBound)..<end]
      let variable = String(place.prefix { $0.isUppercase || $0 == "_" || $0.isNumber })
      let separator = place.contains("comma") ? "," : place.contains("line") ? "\n" : nil
      for name in argument.names ?? [] where name.kind == "long" {
        if isUsed || options[name.name] == nil {
          options[name.name] = Option(variable: variable, separator: separator, isUsed: isUsed)
        }
      }
    }
    let named = arguments.firstIndex { !$0.hasPrefix("-") }
    for subcommand in command.subcommands ?? [] {
      let isNamed = isUsed && named.map { arguments[$0] == subcommand.commandName } ?? false
      collect(subcommand, isUsed: isNamed, isNamed ? arguments[(named ?? 0)...].dropFirst() : [], into: &options)
    }
  }

  /// The variables that a file sets, and their values.
  static func values(
    of bytes: [UInt8], for options: [String: Option]
  ) throws(SettingError) -> [(variable: String, value: String)] {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let values: [String: Value]
    do {
      values = try decoder.decode([String: Value].self, from: Data(bytes))
    } catch DecodingError.dataCorrupted(let context) {
      if let key = context.codingPath.first {
        throw SettingError("\"\(key.stringValue)\": \(context.debugDescription)")
      }
      throw SettingError("it is not JSON5" + (context.underlyingError.map { ": \($0)" } ?? ""))
    } catch {
      throw SettingError("it must be an object, such as {\"slots\": 4}")
    }
    var found: [(String, String)] = []
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      guard name != "config", let option = options[name] else {
        throw SettingError("\"\(name)\" is no option of this program, as it is without its dashes")
      }
      guard option.isUsed else { continue }
      switch value {
      case .one(let text): found.append((option.variable, text))
      case .several(let texts):
        guard let separator = option.separator else { throw SettingError("\"\(name)\" takes one value and no list") }
        found.append((option.variable, texts.joined(separator: separator)))
      }
    }
    return found
  }

  private enum Value: Decodable {
    case one(String)
    case several([String])

    init(from decoder: any Decoder) throws {
      if var list = try? decoder.unkeyedContainer() {
        var texts: [String] = []
        while !list.isAtEnd {
          guard case .one(let text) = try list.decode(Value.self) else { throw Self.wrong(decoder) }
          texts.append(text)
        }
        self = .several(texts)
        return
      }
      let value = try decoder.singleValueContainer()
      if let isOn = try? value.decode(Bool.self) {
        self = .one(isOn ? "true" : "false")
      } else if let number = try? value.decode(Int64.self) {
        self = .one("\(number)")
      } else if let number = try? value.decode(Double.self) {
        self = .one("\(number)")
      } else if let text = try? value.decode(String.self) {
        self = .one(text)
      } else {
        throw Self.wrong(decoder)
      }
    }

    private static func wrong(_ decoder: any Decoder) -> DecodingError {
      .dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "it must be a text, a number, true, false, or a list"))
    }
  }

  /// What is used of the argument parser's description.
  private struct Tool: Decodable {
    struct Command: Decodable {
      var commandName: String
      var subcommands: [Command]?
      var arguments: [Argument]?
    }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }

      var names: [Name]?
      var abstract: String?
    }

    var command: Command
  }
}

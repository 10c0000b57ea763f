import ArgumentParser
import NIOCore
import Wire

/// An option's value, or its environment variable's.
enum Setting {
  static func text(_ option: String?, _ variable: String) -> String? {
    option ?? ProcessEnvironment.value(variable)
  }

  static func flag(_ option: Bool, _ variable: String) -> Bool {
    option || ["1", "true", "yes"].contains(ProcessEnvironment.value(variable)?.lowercased())
  }

  /// Throws `ValidationError` (exit code 64) where the value is no whole number in `range`.
  static func number(_ option: Int?, _ name: String, _ variable: String, in range: ClosedRange<Int>) throws -> Int? {
    let value: Int
    if let option {
      value = option
    } else if let text = ProcessEnvironment.value(variable) {
      guard let number = Int(text) else {
        throw ValidationError("\(variable) is \"\(text)\", which is no whole number")
      }
      value = number
    } else {
      return nil
    }
    guard range.contains(value) else {
      throw ValidationError("\(name) is \(value); it can be \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

/// Which coordinator, and the word that opens its door.
struct CoordinatorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The coordinator's address; 127.0.0.1:7433 unless said. [SHEAF_COORDINATOR]", valueName: "host:port"))
  var coordinator: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  func endpoint() throws -> CoordinatorClient.Endpoint {
    let text = Setting.text(coordinator, "SHEAF_COORDINATOR") ?? "127.0.0.1:\(WireAddress.defaultPort)"
    guard let address = WireAddress(text), address.port > 0 else {
      throw ValidationError("\"\(text)\" is no address; it is written host:port, such as farm.example:7433")
    }
    return CoordinatorClient.Endpoint(address: address, token: try Token.read(file: tokenFile) ?? "")
  }
}

enum Token {
  /// The farm's token, if one is set. Throws with exit code 64 where the file cannot be read.
  static func read(file: String?) throws -> String? {
    guard let file = Setting.text(file, "SHEAF_TOKEN_FILE") else { return ProcessEnvironment.value("SHEAF_TOKEN") }
    do {
      let bytes = try FileBytes.read(file, limit: 4096)
      let token = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
      guard !token.isEmpty else { throw ValidationError("the token file \(file) is empty") }
      return token
    } catch let error as VaultError {
      throw ValidationError("the token file cannot be read: \(error)")
    }
  }
}

/// For commands that start a farm of their own.
struct LocalFarmOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where finished pieces are kept; ~/.cache/sheaf/vault (or under XDG_CACHE_HOME) unless said. [SHEAF_VAULT]",
      valueName: "dir"))
  var vault: String?

  @Option(
    help: ArgumentHelp(
      "How many tasks run at once; the number of processor cores unless said. [SHEAF_WORKERS]", valueName: "n"))
  var workers: Int?

  func run<R: Sendable>(
    digests: DigestCache, _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    let slots = try Setting.number(workers, "--workers", "SHEAF_WORKERS", in: 1...1024)
    return try await LocalFarm.run(
      vault: Setting.text(vault, "SHEAF_VAULT") ?? LocalFarm.defaultVault, slots: slots, digests: digests, body)
  }
}

struct SegmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "About how long a segment is, in seconds or as a document writes a time: 5, 7/30, 90f. [SHEAF_SEGMENT_DURATION]",
      valueName: "time"))
  var segmentDuration: String?

  var value: String { Setting.text(segmentDuration, "SHEAF_SEGMENT_DURATION") ?? "" }
}

struct JSONOption: ParsableArguments {
  @Flag(help: "Print JSON on standard output; its keys are stable. [SHEAF_JSON]")
  var json = false

  var isOn: Bool { Setting.flag(json, "SHEAF_JSON") }
}

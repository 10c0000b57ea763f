import ArgumentParser
import Client
import CompositionModel
import EditDocument
import FarmAPI
import LocalFarm
import SystemSupport
import TLS
import Wire

/// The coordinator of a farm, whom to trust to be it, and the token.
struct CoordinatorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A file with options in JSON5, by their names without dashes; the command line and the environment go before it. [SHEAF_CONFIG]",
      valueName: "file"))
  var config: String?

  @Option(
    help: ArgumentHelp(
      """
      The coordinator's address, or those of several with commas between them, of which the first that answers is used; \
      the default is 127.0.0.1:7433. [SHEAF_COORDINATOR]
      """, valueName: "host:port"))
  var coordinator: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "Connect with TLS, and trust the authorities of this file in PEM alone. [SHEAF_TLS_CA]", valueName: "file"))
  var tlsCA: String?

  @Flag(help: "Connect with TLS, and trust the authorities of this system. [SHEAF_TLS]")
  var tls = false

  func endpoint() throws -> CoordinatorClient.Endpoint {
    let text = Setting.text(coordinator, "SHEAF_COORDINATOR") ?? WireAddress.defaultSetting
    let token = try Setting.token(file: tokenFile) ?? ""
    guard try JoinToken.reading(token) == nil else {
      throw ValidationError("the token is a join token, which is a worker's")
    }
    return CoordinatorClient.Endpoint(
      addresses: try WireAddress.list(setting: text, example: "farm.example:7433"), token: token,
      trust: try TLSTrust.setting(authorities: tlsCA, system: tls))
  }

  /// The coordinator's answer to one request. SIGINT and SIGTERM cancel it.
  func ask<Answer: Sendable>(
    _ request: @escaping @Sendable (JobRun) async throws -> Answer
  ) async throws -> Answer {
    let endpoint = try endpoint()
    return try await Interruption.cancelling {
      try await CoordinatorClient.run(endpoint) { try await request(JobRun($0)) }
    }
  }

  /// A command line for a person to copy, with this command's coordinator.
  func command(_ arguments: [String]) -> String {
    var all = ["sheaf"] + arguments
    if let coordinator { all += ["--coordinator", coordinator] }
    if let tokenFile { all += ["--token-file", tokenFile] }
    if let tlsCA { all += ["--tls-ca", tlsCA] }
    if tls { all.append("--tls") }
    return all.map(\.quotedForShell).joined(separator: " ")
  }
}

/// For the commands that start a farm of their own.
struct LocalFarmOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The content store, which keeps finished pieces; the default is ~/.cache/sheaf/store (or under XDG_CACHE_HOME). \
      [SHEAF_STORE]
      """, valueName: "dir"))
  var store: String?

  @Option(
    help: ArgumentHelp(
      "How many tasks run at once; the default is the number of processor cores. [SHEAF_WORKERS]", valueName: "n"))
  var workers: String?

  @Option(
    help: ArgumentHelp(
      "The most bytes that the content store keeps after the command, such as 500M; the default is 20G. [SHEAF_STORE_LIMIT]",
      valueName: "bytes"))
  var storeLimit: String?

  @Option(
    help: ArgumentHelp(
      "The worker's program, for documents with compositors of your own; the default is sheaf-worker. [SHEAF_WORKER_EXECUTABLE]",
      valueName: "file"))
  var workerExecutable: String?

  func configuration() throws -> LocalFarm.Configuration {
    let slots = try Setting.number(workers, "--workers", "SHEAF_WORKERS", in: 1...1024)
    var configuration = try LocalFarm.Configuration(
      store: Setting.text(store, "SHEAF_STORE"), slots: slots.map { Int($0) },
      storeLimit: try Setting.bytes(storeLimit, "--store-limit", "SHEAF_STORE_LIMIT"))
    configuration.workerExecutable = workerExecutable
    return configuration
  }
}

struct SegmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The approximate length of a segment, in seconds or as a document writes a time: 5, 7/30, 90f. [SHEAF_SEGMENT_DURATION]",
      valueName: "time"))
  var segmentDuration: String?

  /// Empty if none is set.
  var value: String {
    get throws {
      let text = Setting.text(segmentDuration, "SHEAF_SEGMENT_DURATION") ?? ""
      do {
        _ = try SegmentDuration.time(text, frameDuration: MediaTime(value: 1, timescale: 30))
      } catch {
        throw ValidationError(error.description)
      }
      return text
    }
  }
}

struct StrictOption: ParsableArguments {
  @Flag(help: "End with 65 if there is a warning. [SHEAF_STRICT]")
  var strict = false

  var isOn: Bool { Setting.flag(strict, "SHEAF_STRICT") }
}

/// The values of a document's parameters.
struct ParameterOptions: ParsableArguments {
  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A value of a parameter of the document. Once for each parameter that is given one. [SHEAF_SET, one on each line]",
      valueName: "name=value"))
  var set: [String] = []

  var values: [ParameterValue] {
    get throws {
      var values: [ParameterValue] = []
      let lines = Setting.text(nil, "SHEAF_SET")?.split(separator: "\n").map(String.init) ?? []
      for text in set.isEmpty ? lines : set {
        guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
          throw ValidationError("--set has a name and a value, such as --set title=Summer, not \(text)")
        }
        let name = String(text[..<sign])
        guard !values.contains(where: { $0.name == name }) else {
          throw ValidationError("--set gives '\(name)' two values")
        }
        values.append((name, String(text[text.index(after: sign)...])))
      }
      return values
    }
  }
}

/// Of the commands that render.
struct RenderingOptions: ParsableArguments {
  @OptionGroup var segments: SegmentOptions
  @OptionGroup var strict: StrictOption
  @OptionGroup var strictMedia: StrictMediaOption

  var value: RenderOptions {
    get throws {
      RenderOptions(segmentDuration: try segments.value, strictMedia: strictMedia.isOn, strict: strict.isOn)
    }
  }
}

struct StrictMediaOption: ParsableArguments {
  @Flag(help: "Fail if the film shows damaged media, in place of a warning. [SHEAF_STRICT_MEDIA]")
  var strictMedia = false

  var isOn: Bool { Setting.flag(strictMedia, "SHEAF_STRICT_MEDIA") }
}

struct LongOption: ParsableArguments {
  @Flag(help: "Show builds and the ids of workers in full. [SHEAF_LONG]")
  var long = false

  var isOn: Bool { Setting.flag(long, "SHEAF_LONG") }
}

struct JSONOption: ParsableArguments {
  @Flag(help: "Print JSON on standard output; its keys are stable. [SHEAF_JSON]")
  var json = false

  var isOn: Bool { Setting.flag(json, "SHEAF_JSON") }
}

extension String {
  /// As one word of a shell's command line.
  var quotedForShell: String {
    let harmless = "0123456789-_./:=@%+,".unicodeScalars
    let isPlain = !isEmpty && unicodeScalars.allSatisfy { $0.properties.isAlphabetic || harmless.contains($0) }
    return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
  }
}

/// The path of the film.
enum OutputPath {
  /// - Parameter option: As given on the command line, which goes before `SHEAF_OUTPUT`; nil if it is not there.
  static func value(_ option: String?) throws -> String? {
    guard option != "" else { throw ValidationError("the output has no name: give -o a file, or leave it out") }
    return Setting.text(option, "SHEAF_OUTPUT")
  }
}

import Client
import ContentStorage
import FarmAPI
public import FoundationEssentials
import SystemSupport
import TLS
import Wire

/// A farm's coordinator. Each operation connects again when the connection is lost, and goes on where it was.
public struct Farm: Sendable {
  let client: FarmClient

  /// How the connections to a coordinator are protected.
  public enum Encryption: Sendable, Hashable {
    /// Not at all: for a farm of this machine, or of a network that is private.
    case none
    /// TLS, with a coordinator whose certificate is for the host and of an authority that this system trusts.
    case systemAuthorities
    /// TLS, with a coordinator whose certificate is for the host and of one of the authorities in a file in PEM. No
    /// others are trusted.
    case authorities(URL)

    fileprivate var trust: TLSTrust? {
      get throws(SheafError) {
        do throws(TLSError) {
          return switch self {
          case .none: nil
          case .systemAuthorities: try TLSTrust(.system)
          case .authorities(let file): try TLSTrust(.file(file.path))
          }
        } catch {
          throw SheafError(.misuse, error.message)
        }
      }
    }
  }

  /// - Parameters:
  ///   - host: The name or the IP address of the coordinator's machine. It is not reached before the first operation.
  ///   - port: The TCP port at which the coordinator listens.
  ///   - token: The farm's token; empty if it has none.
  public init(host: String, port: Int = 7433, token: String = "") {
    self.init(CoordinatorClient.Endpoint(address: WireAddress(host: host, port: port), token: token))
  }

  /// - Parameters:
  ///   - host: The name or the IP address of the coordinator's machine. It is not reached before the first operation.
  ///   - port: The TCP port at which the coordinator listens.
  ///   - token: The farm's token; empty if it has none.
  ///   - encryption: The call throws if a file of authorities cannot be used.
  public init(host: String, port: Int = 7433, token: String = "", encryption: Encryption) throws(SheafError) {
    self.init(
      CoordinatorClient.Endpoint(
        address: WireAddress(host: host, port: port), token: token, trust: try encryption.trust))
  }

  private init(_ endpoint: CoordinatorClient.Endpoint) {
    client = FarmClient(endpoint) { _ in }
  }

  /// - Parameters:
  ///   - address: Such as `farm.example:7433`, or a host alone. A farm of several coordinators has several, with commas
  ///     between them: each operation goes to the first that answers. The call throws if one is no address.
  ///   - token: The farm's token; empty if it has none.
  ///   - encryption: The call throws if a file of authorities cannot be used.
  public init(_ address: String, token: String = "", encryption: Encryption = .none) throws(SheafError) {
    let addresses: [WireAddress]
    do throws(SettingError) {
      addresses = try WireAddress.list(setting: address, example: "farm.example:7433")
    } catch {
      throw SheafError(.misuse, error.description)
    }
    self.init(CoordinatorClient.Endpoint(addresses: addresses, token: token, trust: try encryption.trust))
  }

  /// Uploads the media that the farm does not have, and submits the edit. Throws with every problem of the edit.
  /// - Parameters:
  ///   - edit: Its media are files of this machine.
  ///   - name: The film's name, whose extension selects the container. Nil: the edit's own path. Several outputs have
  ///     their own names.
  ///   - priority: Jobs of a higher priority are rendered first.
  ///   - pool: Only workers of this pool render it. Nil: all workers do, or those of the pool of the farm's token.
  public func submit(
    _ edit: Edit, as name: String? = nil, priority: Int = 0, pool: String? = nil
  ) async throws(SheafError) -> Job {
    try await sheafErrors {
      let file = try EditFile(edit, film: name ?? edit.exportPath)
      try file.checkOutput(name)
      return Job(id: try await submit(file, as: name ?? "", over: nil, priority: Int32(clamping: priority), pool: pool))
    }
  }

  /// - Parameters:
  ///   - path: The local path of the film; nil if it is not fetched.
  ///   - progress: Receives how much is uploaded.
  func submit(
    _ file: EditFile, as output: String, over path: String?, priority: Int32 = 0, pool: String? = nil,
    progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws -> String {
    let (assets, missing) = try await file.assets(FileContentCache(directory: try ProcessEnvironment.cacheDirectory))
    let problems = file.document.problems + missing + (path.map { file.replaced(by: $0, assets) } ?? [])
    guard problems.isEmpty else { throw CommandFailure(problems: problems) }
    // The containers of several outputs are the edit's.
    let name = file.document.hasOutputs ? "" : output
    var submission = Submission(file, assets, output: name, priority: priority)
    submission.pool = pool
    return try await client.submit(submission, progress: progress)
  }

  /// Fetches the film of a job that is done, and checks it. The file appears under its name when it is complete.
  ///
  /// If the task is cancelled or the farm is away for too long, what was fetched stays in the hidden file
  /// `.NAME.DIGEST.part` beside the film. The next fetch of the same film to the same URL goes on there, also one of
  /// another process. A fetch of another film to the same URL removes it. A fetch that has received nothing leaves
  /// nothing.
  /// - Parameters:
  ///   - job: A job that is done; of another the call throws.
  ///   - url: The file, or the folder of several outputs, which is made if it is not there.
  public func fetch(_ job: Job, to url: URL) async throws(SheafError) -> ExportSession.Film {
    try await sheafErrors {
      let output = try FilmDestination(url.path, outputs: nil)
      let status = try await client.fetch(job.id, into: output) { _ in }
      return ExportSession.Film(status, at: url, output.written)
    }
  }
}

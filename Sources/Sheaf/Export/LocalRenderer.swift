import Client
import CompositionModel
import FarmAPI
public import FoundationEssentials
import LocalFarm
import Runtime
import SwiftProtobuf
import SystemSupport

/// Renders and probes on this machine, as `sheaf render` does: media are opened in confined processes, which the
/// program `sheaf-worker` starts. A crash of a decoder ends such a process, and not the caller's.
public struct LocalRenderer: Sendable, Hashable {
  /// The program `sheaf-worker`, or a worker with compositors of one's own. Nil: `SHEAF_WORKER_EXECUTABLE`, or
  /// `sheaf-worker` in the folder of this program, or the first on `PATH`.
  public var worker: URL?
  /// The folder of the content store, where finished pieces stay for later renders. Nil: as for `sheaf`.
  public var store: URL?
  /// How many tasks run at once. Nil: as many as there are processor cores.
  public var slots: Int?
  /// How long the processes of the worker stay after their last use, for what the program does next. They end with the
  /// program in any case. `.zero`: they end at once.
  public var idleTime: Duration

  public init(worker: URL? = nil, store: URL? = nil, slots: Int? = nil, idleTime: Duration = .seconds(5)) {
    self.worker = worker
    self.store = store
    self.slots = slots
    self.idleTime = idleTime
  }

  func configuration() throws -> LocalFarm.Configuration {
    var configuration = try LocalFarm.Configuration(store: store?.path, slots: slots)
    configuration.workerExecutable = try worker?.path ?? Self.findWorker()
    configuration.idleTime = idleTime > .zero ? idleTime : nil
    return configuration
  }

  private static func findWorker() throws(CommandFailure) -> String {
    do {
      return try LocalWorker.find()
    } catch {
      let name = "sheaf-worker"
      let folders = ProcessEnvironment.value("PATH")?.split(separator: ":") ?? []
      let found = folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
      if let found { return found }
      throw CommandFailure(.work, "\(error.message), or put it on PATH, or give its path as `LocalRenderer.worker`")
    }
  }

  // MARK: Probing

  /// Probes several files at once, each of which is loaded or fails by itself. The results are in the order of the
  /// paths. Throws if nothing can be probed, such as without `sheaf-worker`.
  public func load(_ paths: [String]) async throws(SheafError) -> [Result<LoadedAsset, SheafError>] {
    try await sheafErrors {
      let described = try await describe(paths)
      return paths.map { path in
        let found = described[path] ?? .failure(SheafError(.failed, "\(path) was not probed"))
        return found.map { LoadedAsset(path: path, contents: $0) }
      }
    }
  }

  /// A file as an asset of its path, or why it cannot be read.
  static func submitted(
    _ path: String, _ configuration: LocalFarm.Configuration
  ) async throws -> Result<SubmittedAsset, SheafError> {
    try await AssetFile.asset(path, configuration.contents).mapError { SheafError(.invalidMedia, "\($0)") }
  }

  /// What files contain, by path, or why one cannot be used. Each fails by itself.
  func describe(_ paths: [String]) async throws -> [String: Result<AssetDescription, SheafError>] {
    let configuration = try configuration()
    var found: [String: Result<AssetDescription, SheafError>] = [:]
    let inspected = try await FileInspection(Set(paths).sorted(), configuration)
    for (path, error) in inspected.unread { found[path] = .failure(SheafError(.invalidMedia, "\(error)")) }
    let reply = inspected.reply
    for asset in inspected.assets {
      if let description = reply.descriptions[asset.id] {
        found[asset.id] = .success(description)
      } else {
        let pointer = Problem(asset: asset.id, message: "").pointer
        let message = reply.problems.first { $0.pointer == pointer }?.message ?? "the file cannot be probed"
        found[asset.id] = .failure(SheafError(.invalidMedia, message))
      }
    }
    return found
  }

  /// Every problem of an edit and its media, as `sheaf check` reports them: the media are probed.
  /// - Parameters:
  ///   - edit: Its media are files of this machine.
  ///   - output: The film's place, which selects the container of one output. Nil: the edit's own path.
  public func check(_ edit: Edit, output: URL? = nil) async throws(SheafError) -> [Edit.Problem] {
    try await sheafErrors {
      let configuration = try configuration()
      let file: EditFile
      do throws(CommandFailure) {
        file = try EditFile(edit, film: output?.path)
      } catch {
        return error.problems
      }
      let (assets, missing) = try await file.assets(configuration.contents)
      let name = file.document.hasOutputs ? "" : output?.path ?? ""
      let inspection = LocalInspection(edit: file, assets: assets, output: name)
      let problems = inspection.problems(try await inspection.run(configuration), and: missing)
      guard let place = output?.path ?? file.outputPath else { return problems }
      return problems + (try await BlockingWork.run { file.problems(ofOutputAt: place, assets) })
    }
  }
}

extension EditFile {
  /// An edit whose relative paths are relative to the program's working folder.
  /// - Parameter film: Its path, whose last part is the name for people, and which selects the container.
  init(_ edit: Edit, film: String? = nil) throws(CommandFailure) {
    let bytes: [UInt8]
    do { bytes = try edit.document() } catch { throw CommandFailure(problems: error.problems) }
    try self.init(bytes, name: film ?? "edit", folder: FileManager.default.currentDirectoryPath, output: film)
  }
}

import CompositionModel
import ContentStorage
import Digest
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks

/// The probe tasks of a request, and their results.
enum ProbeTasks {
  /// The longest description that is read, in bytes: that of a film of many hours in which every frame has another
  /// duration.
  static let maximumBytes = 64 << 20

  /// One task for each file of the request, and then that of the fonts if it has texts. The result of a file is taken
  /// from the cache if any worker has probed it before. Blocks.
  static func make(_ request: JobRequest, results: ResultCache) throws -> [NewTask] {
    try files(request, results: results) + FontTasks.make(request)
  }

  private static func files(_ request: JobRequest, results: ResultCache) throws -> [NewTask] {
    let payload = try TaskMaker.encoded(.probe)
    let labels = TaskLabel(request)
    return try request.files().map { file in
      let fingerprint = TaskFingerprint.of(build: "", kind: .probe, payload: payload, inputs: [file.digest])
      let known = results.result(of: fingerprint)
      return NewTask(
        kind: .probe, label: labels.probe(file.digest.hex), payload: payload, inputs: [file], fingerprint: fingerprint,
        cost: Double(file.size), work: 0, cached: known?.content, maker: known?.maker?.account)
    }
  }

  /// The descriptions by asset, from the probe tasks that are done. Blocks.
  static func read(
    _ tasks: [RenderTask], _ request: JobRequest, store: ContentStore
  ) throws -> [AssetID: AssetDescription] {
    var descriptions: [AssetID: AssetDescription] = [:]
    for task in tasks where task.kind == .probe && task.state == .done {
      guard let input = task.inputs.first, let result = task.result, try !FontTasks.isList(result, store: store)
      else { continue }
      let bytes = try store.read(result.digest, limit: maximumBytes)
      let description = try decode(Data(bytes))
      for asset in request.assets(of: input.digest) { descriptions[asset.id] = description }
    }
    return descriptions
  }

  /// Throws `WrongResult` for bytes that describe no file.
  static func decode(_ bytes: Data) throws(WrongResult) -> AssetDescription {
    try WrongResult.decode(AssetDescription.self, from: bytes, as: "the description of a file")
  }
}

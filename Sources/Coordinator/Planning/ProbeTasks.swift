import CompositionModel
import ContentStorage
import Digest
import FoundationEssentials
import Jobs
import Segmenter

/// The probe tasks of a request, and their results.
enum ProbeTasks {
  /// The longest description that is read, in bytes: that of a film of many hours in which every frame has another
  /// duration.
  static let maximumBytes = 64 << 20

  /// One task for each file. Its result is taken from the cache if a worker of this build has probed the file before.
  /// - Parameter build: Nil: no worker is connected, and nothing is taken from the cache.
  static func make(_ files: [Content], build: String?, results: ResultCache) throws -> [NewTask] {
    let payload = try PlannedJob.payload(.probe)
    return files.map { file in
      let fingerprint = TaskFingerprint.of(
        build: build ?? "", kind: .probe, payload: payload, inputs: [file.digest])
      return NewTask(
        kind: .probe, payload: payload, inputs: [file], fingerprint: fingerprint, cost: Double(file.size), work: 0,
        cached: build == nil ? nil : results.result(of: fingerprint))
    }
  }

  /// The descriptions by asset, from the probe tasks that are done. Blocks.
  static func read(
    _ tasks: [RenderTask], _ request: JobRequest, store: ContentStore
  ) throws -> [AssetID: AssetDescription] {
    var descriptions: [AssetID: AssetDescription] = [:]
    for task in tasks where task.kind == .probe && task.state == .done {
      guard let input = task.inputs.first, let result = task.result else { continue }
      let bytes = try store.read(result.digest, limit: maximumBytes)
      let description = try JSONDecoder().decode(AssetDescription.self, from: Data(bytes))
      for asset in request.assets(of: input.digest) { descriptions[asset.id] = description }
    }
    return descriptions
  }
}

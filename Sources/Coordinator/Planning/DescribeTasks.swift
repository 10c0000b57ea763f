import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import Segmenter

/// The describe tasks of a request, and what comes back of them.
enum ProbeTasks {
  /// The longest description that is read: that of a film of many hours with a different duration for each frame.
  static let maximumBytes = 64 << 20

  /// One for each file, `cached` where a worker of this build has described it before.
  static func make(_ files: [Content], build: String?, vault: Vault) throws -> [NewTask] {
    let payload = try PlannedJob.payload(.describe)
    return files.map { file in
      let fingerprint = TaskFingerprint.of(
        build: build ?? "", kind: .describe, payload: payload, inputs: [file.digest])
      return NewTask(
        kind: .describe, payload: payload, inputs: [file], fingerprint: fingerprint.hex, cost: Double(file.size),
        work: 0, cached: build == nil ? nil : vault.result(of: fingerprint))
    }
  }

  /// Descriptions by asset, of the describe tasks that are done.
  static func read(_ tasks: [RenderTask], _ request: JobRequest, vault: Vault) throws -> [AssetID: AssetDescription] {
    var descriptions: [AssetID: AssetDescription] = [:]
    for task in tasks where task.kind == .describe && task.state == .done {
      guard let input = task.inputs.first, let digest = task.result.flatMap({ SHA256Digest(hex: $0.digest) }) else {
        continue
      }
      let bytes = try vault.read(digest, limit: maximumBytes)
      let description = try JSONDecoder().decode(AssetDescription.self, from: Data(bytes))
      for asset in request.assets(of: input.digest) { descriptions[asset.id] = description }
    }
    return descriptions
  }
}

import CompositionModel
import Digest
import FoundationEssentials
import SwiftProtobuf
import Wire

/// What a document or files come to, without rendering, on a farm of this machine's own.
struct LocalInspection: Sendable {
  /// Nil: the files alone are asked for.
  let edit: EditFile?
  let assets: [Sheaf_SubmittedAsset]
  var output = ""
  var segmentDuration = ""
  let digests: DigestCache

  /// Every problem in one pass: those of the files that this side has found, those of the text, and what only the media
  /// tell. The coordinator does not know why a file was not submitted.
  func problems(_ reply: Sheaf_InspectReply, beside found: [Problem]) -> [Problem] {
    let own = found + (edit?.document.problems ?? [])
    let known = Set(found.map(\.pointer))
    return own + reply.problems.map { Problem($0) }.filter { !known.contains($0.pointer) && !own.contains($0) }
  }

  func run(_ options: LocalFarmOptions) async throws -> Sheaf_InspectReply {
    let message = Sheaf_InspectDocument.with {
      $0.document = Data(edit?.bytes ?? [])
      $0.assets = assets
      $0.segmentDuration = segmentDuration
      $0.output = output
    }
    return try await options.run(digests: digests) { farm in
      try await CoordinatorClient.run(farm.endpoint) { client in
        try await JobRun(client: client).provide(assets)
        guard case .inspectReply(let reply) = try await client.ask(.inspectDocument(message)) else {
          throw CoordinatorClient.unexpected
        }
        return reply
      }
    }
  }
}

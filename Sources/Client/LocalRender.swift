import CompositionModel
import Digest
import Wire

/// One film on a farm of this machine's own.
struct LocalRender: Sendable {
  /// How often a film that another process took from under us is asked for again.
  private static let maximumTries = 3

  let edit: EditFile
  let output: String
  let segmentDuration: String

  func run(_ options: LocalFarmOptions) async throws -> RenderSummary {
    let file = try OutputFile(output)
    let digests = DigestCache()
    let (assets, missing) = try await edit.assets(digests)
    let found = missing + EditFile.replaced(by: output, assets)
    guard edit.document.problems.isEmpty, found.isEmpty else {
      let inspection = LocalInspection(
        edit: edit, assets: assets, output: output, segmentDuration: segmentDuration, digests: digests)
      throw CommandFailure(problems: inspection.problems(try await inspection.run(options), beside: found))
    }
    return try await options.run(digests: digests) { farm in
      try await CoordinatorClient.run(farm.endpoint) { client in
        let run = JobRun(client: client)
        try await run.provide(assets)
        for attempt in 1... {
          let progress = ProgressReport()
          defer { progress.end() }
          let job = try await run.submit(
            edit, assets, output: output, segmentDuration: segmentDuration, priority: 0)
          let status = try await run.wait(for: job) { progress.tell($0, unless: "done") }
          try status.requireDone()
          guard let digest = status.output.sha256 else { throw CoordinatorClient.unexpected }
          do {
            try await BlockingWork.run {
              try file.take(farm.vault.path(of: digest), digest: digest)
              // It is the output now; what is needed to make it again is its pieces.
              farm.vault.remove(digest)
            }
          } catch let error as VaultError where error.code == .missing && attempt < Self.maximumTries {
            // Another render of the same film took it between its end and now; its pieces are still there.
            continue
          }
          progress.tell(status)
          progress.end()
          return RenderSummary(status, output: output)
        }
        throw CancellationError()
      }
    }
  }
}

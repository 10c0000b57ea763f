package import Client
package import CompositionModel
package import ContentStorage
package import Digest
import EditDocument
package import FarmAPI
import FarmModel
import FarmWire
import FoundationEssentials
import Runtime

/// Probes and plans on a local farm, without rendering.
package struct LocalInspection: Sendable {
  /// Nil: only the files are probed.
  private let edit: EditFile?
  private let assets: [SubmittedAsset]
  private let output: String
  private let options: RenderOptions

  package init(
    edit: EditFile?, assets: [SubmittedAsset], output: String = "", options: RenderOptions = RenderOptions()
  ) {
    self.edit = edit
    self.assets = assets
    self.output = output
    self.options = options
  }

  /// Starts a farm, uploads the files, and returns the coordinator's answer. A file that is gone meanwhile is a problem
  /// of the answer. Throws with exit code 1 if the farm cannot be started or a file cannot be uploaded.
  package func run(_ configuration: LocalFarm.Configuration) async throws -> InspectionReply {
    try await LocalFarm.run(configuration) { try await ask($0, configuration.contents) }
  }

  /// The same on a farm that runs. It makes pictures too, if no file is gone meanwhile.
  /// - Parameter images: The request for them; nil: none are made.
  package func ask(
    _ farm: LocalFarm, _ contents: FileContentCache, images: ImageRequest? = nil
  ) async throws -> InspectionReply {
    do {
      return try await answer(farm, contents, images)
    } catch let gone as MediaWatch.Gone {
      let others = LocalInspection(
        edit: edit, assets: assets.filter { !gone.assets.contains($0.id) }, output: output, options: options)
      var reply =
        others.assets.isEmpty && edit == nil ? InspectionReply() : try await others.ask(farm, contents)
      let own = Set(gone.problems.map(\.pointer))
      reply.problems.removeAll { own.contains($0.pointer) }
      reply.problems += gone.problems
      return reply
    }
  }

  private func answer(
    _ farm: LocalFarm, _ contents: FileContentCache, _ images: ImageRequest?
  ) async throws -> InspectionReply {
    var inspected = InspectionRequest(document: Data(edit?.bytes ?? []), assets: assets)
    inspected.options = options
    inspected.output = output
    inspected.images = images
    let request = inspected
    let media = MediaWatch(assets: assets, contents: contents)
    return try await media.run(lookingAt: MediaWatch.eachSecond) {
      try await CoordinatorClient.run(farm.endpoint) { client in
        let run = JobRun(client)
        try await run.provide(assets)
        return try await run.inspect(request)
      }
    }
  }

  /// All problems at once: those of the files, those of the document's text, and those that only the media show. A file
  /// that could not be read is reported with its reason, which the coordinator does not have.
  /// - Parameter found: The problems of files that could not be read.
  package func problems(_ reply: InspectionReply, and found: [Problem]) -> [Problem] {
    let own = found + (edit?.document.problems ?? [])
    let known = Set(found.map(\.pointer))
    return own + reply.problems.filter { !known.contains($0.pointer) && !own.contains($0) }
  }
}

/// Renders one film on a local farm.
package struct LocalRender: Sendable {
  /// How often the film is rendered if another process removes it before it is taken.
  private static let maximumTries = 3

  private let edit: EditFile
  private let output: String
  private let options: RenderOptions

  /// - Parameter output: The film's path.
  package init(edit: EditFile, output: String, options: RenderOptions = RenderOptions()) {
    self.edit = edit
    self.output = output
    self.options = options
  }

  /// Returns the status of the job when the film is at its path. Throws with every problem of the document and its
  /// media.
  /// - Parameter report: Receives the status at each change. The job is reported as done when the film is at its path.
  package func run(
    _ configuration: LocalFarm.Configuration, report: @escaping @Sendable (JobStatus) -> Void
  ) async throws -> JobStatus {
    try await render(configuration, report: report).status
  }

  /// What was rendered.
  package struct Made: Sendable {
    package var status: JobStatus
    /// Those of several outputs that were written. Empty: the document has one.
    package var files: [ContentPackage.File]
    /// What its segments were rendered from, each once: media and fonts.
    var sources: [Content]
  }

  /// The same, with what was written, and from what.
  package func render(
    _ configuration: LocalFarm.Configuration, report: @escaping @Sendable (JobStatus) -> Void
  ) async throws -> Made {
    let place = try await BlockingWork.run { Result { () throws(DocumentError) in try edit.destination(self.output) } }
    let (assets, missing) = try await edit.assets(configuration.contents)
    var found = missing + edit.replaced(by: output, assets)
    if case .failure(let error) = place { found += error.problems }
    // The containers of several outputs are the document's.
    let output = edit.document.hasOutputs ? "" : output
    guard edit.document.problems.isEmpty, found.isEmpty else {
      let inspection = LocalInspection(edit: edit, assets: assets, output: output, options: options)
      throw CommandFailure(problems: inspection.problems(try await inspection.run(configuration), and: found))
    }
    let destination = try place.get()
    let media = MediaWatch(assets: assets, contents: configuration.contents)
    // While the farm starts. Whoever needs the digest waits for it.
    Task { try await BlockingWork.run(.hashing) { destination.readAhead(configuration.contents) } }
    return try await LocalFarm.run(configuration) { farm in
      try await CoordinatorClient.run(farm.endpoint) { client in
        let run = JobRun(client)
        for attempt in 1... {
          // Each attempt is a job of its own.
          let submission = Submission(edit, assets, output: output, options: options)
          let status = try await job(run, farm, submission, media, report)
          guard let film = status.output?.content else { throw CoordinatorClient.unexpected }
          let outputs = status.outputs ?? []
          do {
            try await BlockingWork.run {
              try destination.take(
                farm.store.path(of: film.digest), digest: film.digest, outputs: outputs,
                contents: configuration.contents)
              // The output is the film now. The pieces are enough to make it again; a film that is copied has none, and
              // is the same file as the output where the disk has links.
              if status.segmentsTotal > 0 || status.hasAudio { farm.store.remove(film.digest) }
            }
          } catch let error as ContentStoreError where error.code == .missing && attempt < Self.maximumTries {
            // Another render of the same film has taken it meanwhile. Its pieces are still there.
            continue
          } catch let error as ContentStoreError where error.code == .mismatch && attempt < Self.maximumTries {
            // A film of an earlier render, which the disk has changed since. Its pieces are checked when they are read.
            farm.store.remove(film.digest)
            continue
          }
          let sources = try await farm.files(of: status.job)
          report(status)
          return Made(status: status, files: destination.written, sources: sources)
        }
        throw CancellationError()
      }
    }
  }

  /// Submits the document, and waits until its job is done. Throws why it is not.
  private func job(
    _ run: JobRun, _ farm: LocalFarm, _ submission: Submission, _ media: MediaWatch,
    _ report: @escaping @Sendable (JobStatus) -> Void
  ) async throws -> JobStatus {
    let (waits, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    do {
      return try await media.run(lookingAt: waits) {
        try await run.provide(submission.assets)
        let job = try await run.submit(submission)
        let status: JobStatus
        do {
          status = try await run.wait(for: job) { status in
            if status.state != .done { report(status.withoutStart) }
            if status.wait != nil { continuation.yield() }
          }
        } catch {
          await farm.cancel(job)
          throw error
        }
        try status.requireDone()
        return status
      }
    } catch let gone as MediaWatch.Gone {
      throw CommandFailure(problems: gone.problems)
    }
  }
}

extension JobStatus {
  /// How long a local farm's worker may take to connect.
  private static let start = 3.0

  /// Without what every job of a local farm waits for at first: that its worker connects.
  fileprivate var withoutStart: JobStatus {
    var status = self
    if elapsedSeconds < Self.start, waitReason == .noWorker { status.wait = nil }
    return status
  }
}

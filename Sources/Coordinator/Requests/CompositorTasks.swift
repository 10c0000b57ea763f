import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks

/// The task that makes the compositors of a request from their parameters, and what it found.
///
/// The coordinator has none of their code, so a worker tries them, of the build that the job is bound to. It runs when
/// the media are described, because a compositor is given the size of the film's frames, and before the job is planned:
/// as a measure task of a job, and as a probe task of an inspection.
enum CompositorTasks {
  /// Nil if the document names no compositors, or if the size of its frames is not known: then it has other problems.
  static func make(
    _ kind: TaskKind, _ request: JobRequest, descriptions: [AssetID: AssetDescription], build: String
  ) throws -> NewTask? {
    let compositors = compositors(request)
    if compositors.isEmpty { return nil }
    guard
      let size = try request.document.read().frameSize(assets: descriptions, output: request.document.output)
    else { return nil }
    let payload = try TaskMaker.encoded(.compositors(CompositorTask(compositors: compositors, size: size)))
    let label =
      compositors.count == 1
      ? "trial of the compositor '\(compositors[0].name)'" : "trial of \(compositors.count) compositors"
    // What a worker finds depends on its build, whatever the task's kind is.
    let fingerprint = TaskFingerprint.of(build: build, kind: .measure, payload: payload, inputs: [])
    return NewTask(
      kind: kind, label: label, payload: payload, inputs: [], fingerprint: fingerprint, cost: 0, work: 0)
  }

  /// What is wrong with the compositors, at each place of the document that names them. Nil if the result is not in the
  /// content store any more, or was damaged there and is removed. Blocks.
  static func problems(_ result: Content, _ request: JobRequest, store: ContentStore) throws -> [Problem]? {
    guard let bytes = try Measurements.bytes(of: result, store: store) else { return nil }
    let found = try decode(Data(bytes)).problems
    let compositors = compositors(request)
    guard found.count == compositors.count else {
      throw WrongResult(
        description: "the content \(result.digest) does not have what was found for the job's compositors")
    }
    let messages = Dictionary(zip(compositors, found)) { first, _ in first }
    return request.compositorUses.compactMap { use in
      guard let found = messages[use.compositor], let message = found else { return nil }
      return Problem(pointer: use.pointer, message: message)
    }
  }

  /// Throws `WrongResult` for bytes that are no findings.
  static func decode(_ bytes: Data) throws(WrongResult) -> CompositorFindings {
    try WrongResult.decode(CompositorFindings.self, from: bytes, as: "the trial of the job's compositors")
  }

  /// Each once, in the order of the document.
  private static func compositors(_ request: JobRequest) -> [CustomCompositor] {
    var seen: Set<CustomCompositor> = []
    return request.compositorUses.map(\.compositor).filter { seen.insert($0).inserted }
  }
}

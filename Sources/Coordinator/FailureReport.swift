import CompositionModel
import Digest
import FoundationEssentials
import Jobs

/// Why a job failed, as the person who submitted it sees it. `problems` are set if the document or its media are to blame
/// (exit code 65 of the commands), else `error` is.
struct FailureReport: Sendable, Hashable {
  var problems: [Problem] = []
  var error = ""

  /// Nil if the job has not failed.
  /// - Parameter request: Names the media in messages; nil if it cannot be read.
  init?(_ job: Job, _ tasks: [RenderTask], _ request: JobRequest?) {
    guard job.state == .failed, let failure = job.failure else { return nil }
    switch failure.reason {
    case .document: problems = failure.documentProblems
    case .task:
      problems = tasks.filter { $0.state == .failed }.flatMap { Self.problems(of: $0, request) }
    case .farm: break
    }
    if problems.isEmpty { error = Self.named(failure.message, request) }
  }

  /// The problems of a task that has failed for good: a file that cannot be probed, or media that cannot be rendered.
  /// Empty if the media are not to blame.
  private static func problems(of task: RenderTask, _ request: JobRequest?) -> [Problem] {
    guard let attempt = task.attempts.last else { return [] }
    let message = named(attempt.message, request)
    if task.kind == .probe, let file = task.inputs.first {
      return (request?.assets(of: file.digest) ?? []).map {
        Problem(pointer: "/assets/\(escaped($0.id))", message: "\($0.path): \(message)")
      }
    }
    switch attempt.end {
    case .media, .document, .crashed: return [Problem(pointer: "", message: message)]
    case .released, .hung: return []
    }
  }

  /// Replaces the digests by which workers name media with the names in the document.
  private static func named(_ message: String, _ request: JobRequest?) -> String {
    (request?.assets ?? []).reduce(message) { $0.replacing($1.digest, with: $1.path) }
  }

  /// A key as a part of a JSON pointer.
  private static func escaped(_ key: String) -> String {
    key.replacing("~", with: "~0").replacing("/", with: "~1")
  }
}

extension JobFailure {
  /// The document does not hold against its media.
  init(problems: [Problem]) {
    let message = problems.map(\.description).joined(separator: "\n")
    // Encoding an array of strings does not fail. If it did, the message would still have the problems.
    let encoded = (try? JSONCoding.encoder.encode(problems)).map { [UInt8]($0) } ?? []
    self.init(reason: .document, message: message, problems: encoded)
  }

  /// The problems as `init(problems:)` encoded them.
  fileprivate var documentProblems: [Problem] {
    do {
      return try JSONDecoder().decode([Problem].self, from: Data(problems))
    } catch {
      // Written by another version: the message has the problems too.
      return [Problem(pointer: "", message: message)]
    }
  }
}

import CompositionModel
import FoundationEssentials
import Jobs

/// How the reasons of failures are kept in a store, which has one text for each, so that a client can be told whether
/// its document and media are to blame (exit code 65) or not.
enum FailureText {
  private static let mediaPrefix = "media: "
  private static let documentPrefix = "document: "

  /// What a task's failure is stored as.
  static func stored(_ cause: TaskFailure.Cause, _ message: String) -> String {
    switch cause {
    case .media: mediaPrefix + message
    case .document: documentPrefix + message
    case .infrastructure: message
    }
  }

  /// What a job's failure against its document is stored as.
  static func stored(_ problems: [Problem]) -> String {
    // Encoding two strings each cannot fail; if it did, the first message is what counts.
    guard let json = try? JSONCoding.encoder.encode(problems) else { return problems.first?.message ?? "" }
    return String(decoding: json, as: UTF8.self)
  }

  /// What a person is told of a failed job: the document's problems, or else the error.
  static func told(_ job: Job, _ tasks: [RenderTask], _ request: JobRequest?) -> (problems: [Problem], error: String) {
    guard job.state == .failed, let error = job.error else { return ([], "") }
    if let problems = try? JSONDecoder().decode([Problem].self, from: Data(error.utf8)) { return (problems, "") }
    var problems: [Problem] = []
    for task in tasks where task.state == .failed {
      guard let text = task.error else { continue }
      let message = named(message(text), request)
      if task.kind == .describe, let digest = task.inputs.first?.digest {
        for asset in request?.assets(of: digest) ?? [] {
          problems.append(Problem(pointer: "/assets/\(escaped(asset.id))", message: "\(asset.path): \(message)"))
        }
      } else if text.hasPrefix(mediaPrefix) || text.hasPrefix(documentPrefix) {
        problems.append(Problem(pointer: "", message: message))
      }
    }
    return problems.isEmpty ? ([], named(message(error), request)) : (problems, "")
  }

  /// A stored text without its mark.
  static func message(_ text: String) -> String {
    for prefix in [mediaPrefix, documentPrefix] where text.hasPrefix(prefix) {
      return String(text.dropFirst(prefix.count))
    }
    return text.replacing(": " + mediaPrefix, with: ": ")
  }

  /// Workers know media by digest only; people know it by name.
  private static func named(_ message: String, _ request: JobRequest?) -> String {
    (request?.assets ?? []).reduce(message) { $0.replacing($1.digest, with: $1.path) }
  }

  private static func escaped(_ key: String) -> String {
    key.replacing("~", with: "~0").replacing("/", with: "~1")
  }
}

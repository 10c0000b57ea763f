import CompositionModel

extension CommandFailure {
  private struct Report: Encodable {
    var state = "failed"
    var error: String?
    var problems: [Problem]
  }

  func report(document: String?, json: Bool) {
    if json {
      Console.printJSON(Report(error: message.isEmpty ? nil : message, problems: problems))
    }
    if !message.isEmpty { Console.complain("sheaf: \(message)") }
    for problem in problems { Console.complain(document.map { "\($0): \(problem)" } ?? "\(problem)") }
  }
}

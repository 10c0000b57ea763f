import ArgumentParser
import FarmAPI
import FarmModel
import SystemSupport

/// Which jobs `sheaf status` lists.
struct JobListOptions: ParsableArguments {
  @Option(help: ArgumentHelp("List so many jobs; the default is 200. [SHEAF_LIMIT]", valueName: "n"))
  var limit: String?

  @Option(
    help: ArgumentHelp("List the jobs that were submitted before this one. [SHEAF_AFTER]", valueName: "job"))
  var after: String?

  @Option(
    help: ArgumentHelp(
      """
      List the jobs in this state, or in these, separated by commas: probing, measuring, rendering, done, failed, \
      cancelled. [SHEAF_STATE]
      """, valueName: "state"))
  var state: String?

  /// The option that is on the command line, for a message. Nil: none is.
  var given: String? {
    limit != nil ? "--limit" : after != nil ? "--after" : state != nil ? "--state" : nil
  }

  func query() throws -> JobQuery {
    var selection = JobQuery()
    if let number = try Setting.number(limit, "--limit", "SHEAF_LIMIT", in: 1...1_000_000) {
      selection.limit = Int(number)
    }
    selection.after = Setting.text(after, "SHEAF_AFTER")
    guard let text = Setting.text(state, "SHEAF_STATE") else { return selection }
    selection.states = try text.split(separator: ",", omittingEmptySubsequences: false).map { word in
      let name = word.filter { !$0.isWhitespace }
      guard let state = JobState(rawValue: name) else {
        let names = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("\"\(name)\" is no state of a job; the states are \(names)")
      }
      return state
    }
    return selection
  }

  /// The options of the command that lists the jobs which follow.
  func arguments(after job: String) -> [String] {
    var arguments = ["--after", job]
    if let limit { arguments += ["--limit", limit] }
    if let state { arguments += ["--state", state] }
    return arguments
  }
}

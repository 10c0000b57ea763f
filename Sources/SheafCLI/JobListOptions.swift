import ArgumentParser
import Client
import SystemSupport
import Wire

/// Which jobs `sheaf status` lists.
struct JobListOptions: ParsableArguments {
  struct Selection: Sendable, Hashable {
    var limit = 200
    /// Empty: from the newest on.
    var after = ""
    /// Empty: in any.
    var states: [Sheaf_JobState] = []
  }

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

  static let states: [Sheaf_JobState] = [.probing, .measuring, .rendering, .done, .failed, .cancelled]

  /// The option that is on the command line, for a message. Nil: none is.
  var given: String? {
    limit != nil ? "--limit" : after != nil ? "--after" : state != nil ? "--state" : nil
  }

  func selection() throws -> Selection {
    var selection = Selection()
    if let number = try Setting.number(limit, "--limit", "SHEAF_LIMIT", in: 1...1_000_000) {
      selection.limit = Int(number)
    }
    selection.after = Setting.text(after, "SHEAF_AFTER") ?? ""
    guard let text = Setting.text(state, "SHEAF_STATE") else { return selection }
    selection.states = try text.split(separator: ",", omittingEmptySubsequences: false).map { word in
      let name = word.filter { !$0.isWhitespace }
      guard let state = Self.states.first(where: { $0.name == name }) else {
        let names = Self.states.map(\.name).joined(separator: ", ")
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

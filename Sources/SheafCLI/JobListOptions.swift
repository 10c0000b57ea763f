import ArgumentParser
import FarmAPI
import FarmModel
import FoundationEssentials
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

  @Option(
    help: ArgumentHelp(
      "List the jobs whose name has this as a part, whatever the case of the letters. [SHEAF_JOB_NAME]",
      valueName: "text"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      """
      List the jobs that were submitted since: a time such as 2026-11-28T04:05:06Z, a date (from 00:00 UTC), or an age \
      such as 90s, 15min, 2h, 3d. [SHEAF_SINCE]
      """, valueName: "time"))
  var since: String?

  @Option(
    help: ArgumentHelp("List the jobs that were submitted before, as --since. [SHEAF_BEFORE]", valueName: "time"))
  var before: String?

  @Option(
    help: ArgumentHelp(
      "List the jobs of this pool; '' lists those without one. [SHEAF_JOB_POOL]", valueName: "name"))
  var pool: String?

  /// The option that is on the command line, for a message. Nil: none is.
  var given: String? {
    let options = [
      ("--limit", limit), ("--after", after), ("--state", state), ("--name", name), ("--since", since),
      ("--before", before), ("--pool", pool),
    ]
    return options.first { $0.1 != nil }?.0
  }

  /// - Parameter now: For ages.
  func query(now: Timestamp) throws -> JobQuery {
    var selection = JobQuery()
    if let number = try Setting.number(limit, "--limit", "SHEAF_LIMIT", in: 1...1_000_000) {
      selection.limit = Int(number)
    }
    selection.after = Setting.text(after, "SHEAF_AFTER")
    selection.name = Setting.text(name, "SHEAF_JOB_NAME") ?? ""
    selection.since = try TimeOption.value(Setting.text(since, "SHEAF_SINCE"), "--since", now: now)
    selection.before = try TimeOption.value(Setting.text(before, "SHEAF_BEFORE"), "--before", now: now)
    selection.pool = pool ?? Setting.text(nil, "SHEAF_JOB_POOL")
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

  /// The options of the command that lists the jobs which follow. An age is the time that it was.
  func arguments(after job: String, _ query: JobQuery) -> [String] {
    var arguments = ["--after", job]
    if let limit { arguments += ["--limit", limit] }
    if let state { arguments += ["--state", state] }
    if let name { arguments += ["--name", name] }
    if let pool { arguments += ["--pool", pool] }
    if since != nil, let time = query.since { arguments += ["--since", "\(time)"] }
    if before != nil, let time = query.before { arguments += ["--before", "\(time)"] }
    return arguments
  }
}

/// A time on the command line.
enum TimeOption {
  private static let units: [(name: String, seconds: Int64)] = [
    ("s", 1), ("min", 60), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
  ]

  /// Throws `ValidationError` if the text is no time.
  static func value(_ text: String?, _ option: String, now: Timestamp) throws -> Timestamp? {
    guard let text else { return nil }
    if let time = Timestamp(text) ?? Timestamp(text + "T00:00:00Z") { return time }
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }
    if let number = Int64(digits), number <= 100_000_000, let unit = units.first(where: { $0.name == unit }) {
      return Timestamp(milliseconds: now.milliseconds - number * unit.seconds * 1000)
    }
    throw ValidationError(
      "\(option): \"\(text)\" is no time: it is one such as 2026-11-28T04:05:06Z, a date such as 2026-11-28, or an age "
        + "such as 90s, 15min, 2h or 3d")
  }
}

extension Timestamp {
  /// By this machine's clock.
  static var now: Timestamp { Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000)) }
}

import CPostgres
import Glibc
import Jobs

/// A statement that a connection prepares at its first use.
struct Statement: Sendable {
  /// Unique among all statements.
  let name: String
  let text: String

  init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }
}

/// One of a pipeline's statements, with its values.
typealias Call = (statement: Statement, parameters: [Parameter])

/// One libpq connection. Every call blocks, so it belongs on a thread of its own. No call waits for a server that does
/// not answer for longer than the limits allow: then it throws `.unavailable`, and the connection is broken.
final class Connection {
  private let handle: OpaquePointer
  private let limits: Limits
  private let cutoff: Cutoff
  private let outage: ConnectFailure?
  private var prepared: Set<String> = []
  /// Whether a wait for the server was given up.
  private var isGivenUp = false

  /// - Parameters:
  ///   - cutoff: Ends the waits of this connection, its opening included.
  ///   - outage: Ends a wait when new connections to the server are not answered either, and records if this one is
  ///     not.
  init(
    url: String, limits: Limits = .long, cutoff: Cutoff? = nil, outage: ConnectFailure? = nil
  ) throws(JobStoreError) {
    let cutoff = if let cutoff { cutoff } else { try Cutoff() }
    handle = try Self.open(url: url, cutoff: cutoff, outage: outage)
    self.limits = limits
    self.cutoff = cutoff
    self.outage = outage
    // From here on `deinit` closes the connection, also if the rest throws.
    try cutoff.watch(socket: PQsocket(handle))
    guard PQsetnonblocking(handle, 1) == 0 else { throw failure() }
    try requireVersion()
    try script(Self.settings + limits.settings)
  }

  deinit {
    cutoff.unwatch()
    PQfinish(handle)
  }

  var isBroken: Bool { isGivenUp || PQstatus(handle) != CONNECTION_OK }
  /// Whether the server has closed the connection since the last request, as when it was started again.
  var isClosedByServer: Bool {
    while cutoff.wait(socket: socket, milliseconds: 0) == .ready {
      guard PQconsumeInput(handle) == 1, !isBroken else { return true }
    }
    return isBroken
  }
  /// 150007 is 15.7.
  var serverVersion: Int32 { PQserverVersion(handle) }
  /// To be polled for notifications.
  var socket: Int32 { PQsocket(handle) }

  /// Runs one or several statements without parameters.
  func script(_ text: String) throws(JobStoreError) {
    _ = try results(PQsendQuery(handle, text))
  }

  /// Runs one statement: in the open transaction, or else as a transaction of its own.
  func run(_ statement: Statement, _ parameters: [Parameter] = []) throws(JobStoreError) -> Rows {
    try prepare(statement, parameters)
    let sent = send(parameters) { values, lengths, formats in
      PQsendQueryPrepared(handle, statement.name, Int32(parameters.count), values, lengths, formats, 1)
    }
    guard let rows = try results(sent).last else { throw failure() }
    return rows
  }

  /// Runs statements as one transaction in one round trip. Each sees what was committed when it began, not when the
  /// first one did, so a statement after a lock sees what the lock's former holder wrote.
  func transaction(_ calls: [Call]) throws(JobStoreError) -> [Rows] {
    var all: [Call] = [(.begin, [])]
    all.append(contentsOf: calls)
    all.append((.commit, []))
    return Array(try pipeline(all).dropFirst().dropLast())
  }

  /// Runs a body as one transaction in which a later statement depends on what an earlier one returned.
  func transaction<Value>(_ body: () throws(JobStoreError) -> Value) throws(JobStoreError) -> Value {
    _ = try run(.begin)
    let value = try body()
    _ = try run(.commit)
    return value
  }

  /// Sends all statements, then reads all their results.
  func pipeline(_ calls: [Call]) throws(JobStoreError) -> [Rows] {
    for call in calls { try prepare(call.statement, call.parameters) }
    guard PQenterPipelineMode(handle) == 1 else { throw failure() }
    // Everything is read, also after an error, or the connection would stay in the pipeline.
    var first: JobStoreError?
    for call in calls where first == nil {
      let sent = send(call.parameters) { values, lengths, formats in
        PQsendQueryPrepared(
          handle, call.statement.name, Int32(call.parameters.count), values, lengths, formats, 1)
      }
      if sent != 1 { first = failure() }
    }
    guard first == nil, PQpipelineSync(handle) == 1 else { throw first ?? failure() }
    var results: [Rows] = []
    for _ in calls {
      do { results.append(try check(try nextResult())) } catch { first = first ?? error }
      guard !isBroken else { throw first ?? failure() }
      while let rest = try nextResult() { PQclear(rest) }
    }
    PQclear(try nextResult())
    guard PQexitPipelineMode(handle) == 1 else { throw first ?? failure() }
    if let first { throw first }
    return results
  }

  /// Ends a transaction that an error left open.
  func abandonTransaction() throws(JobStoreError) {
    if PQtransactionStatus(handle) != PQTRANS_IDLE { try script("ROLLBACK") }
  }

  /// Reads what the server has sent without a request. Returns whether there were notifications.
  func takeNotifications() throws(JobStoreError) -> Bool {
    guard PQconsumeInput(handle) == 1 else { throw failure() }
    var any = false
    while let notification = PQnotifies(handle) {
      PQfreemem(notification)
      any = true
    }
    return any
  }

  private func prepare(_ statement: Statement, _ parameters: [Parameter]) throws(JobStoreError) {
    guard !prepared.contains(statement.name) else { return }
    let types = parameters.map(\.type)
    _ = try results(PQsendPrepare(handle, statement.name, statement.text, Int32(types.count), types))
    prepared.insert(statement.name)
  }

  /// Passes the values to a body, in the form that libpq requires.
  private func send<Result>(
    _ parameters: [Parameter],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
  ) -> Result {
    var bytes: [UInt8] = []
    var ranges: [Range<Int>?] = []
    for parameter in parameters {
      let start = bytes.count
      ranges.append(parameter.append(to: &bytes) ? start..<bytes.count : nil)
    }
    // An empty value at the end needs an address that is not null.
    bytes.append(0)
    return bytes.withUnsafeBytes { bytes in
      let base = bytes.bindMemory(to: CChar.self).baseAddress
      let values = ranges.map { range in range.flatMap { range in base.map { $0 + range.lowerBound } } }
      let lengths = ranges.map { Int32($0?.count ?? 0) }
      return body(values, lengths, [Int32](repeating: 1, count: parameters.count))
    }
  }

  // MARK: Results

  /// The results of what was sent outside of a pipeline. Throws the first error.
  /// - Parameter sent: What libpq returned: 1 if it has taken the request.
  private func results(_ sent: Int32) throws(JobStoreError) -> [Rows] {
    guard sent == 1 else { throw failure() }
    var first: JobStoreError?
    var results: [Rows] = []
    // Everything is read, also after an error, or the connection would not take the next request.
    while let result = try nextResult() {
      do { results.append(try check(result)) } catch { first = first ?? error }
      guard !isBroken else { throw first ?? failure() }
    }
    if let first { throw first }
    return results
  }

  /// Sends what waits to be sent, and waits for the next result; nil at the end of a request's results.
  private func nextResult() throws(JobStoreError) -> OpaquePointer? {
    var lastMovement = ContinuousClock.now
    while true {
      let unsent = PQflush(handle)
      guard unsent >= 0 else { throw failure() }
      if PQisBusy(handle) == 0 { return PQgetResult(handle) }
      let left = lastMovement + limits.statement + limits.grace - .now
      guard left > .zero, outage?.isUnanswered(since: lastMovement) != true else {
        isGivenUp = true
        throw JobStoreError(.unavailable, "PostgreSQL does not answer")
      }
      // At most a second, because other connections may find that the server does not answer.
      let milliseconds = Int32(clamping: min(left, .seconds(1)).microseconds / 1_000 + 1)
      switch cutoff.wait(socket: socket, for: unsent == 0 ? POLLIN : POLLIN | POLLOUT, milliseconds: milliseconds) {
      case .cut: throw Cutoff.closed
      case .over: continue
      case .ready:
        lastMovement = .now
        guard PQconsumeInput(handle) == 1 else { throw failure() }
      }
    }
  }

  private func check(_ result: OpaquePointer?) throws(JobStoreError) -> Rows {
    guard let result else { throw failure() }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return Rows(result)
    default:
      defer { PQclear(result) }
      throw JobStoreError(failed: result, connectionIsBroken: isBroken)
    }
  }

  /// The error that libpq itself reports.
  private func failure() -> JobStoreError {
    JobStoreError(isBroken ? .unavailable : .internal, "the database: \(String(libpq: PQerrorMessage(handle)))")
  }
}

extension Statement {
  // The level is explicit, because a database may have another default.
  static let begin = Statement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
  static let beginSnapshot = Statement("begin-snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  static let commit = Statement("commit", "COMMIT")
}

// MARK: - Opening a connection, and its errors

extension Connection {
  /// What every connection sets first.
  ///
  /// Each statement here is a few index probes, whatever its parameters. The planner has no statistics when a farm is
  /// new, so it is kept from other plans, and from planning at each call. The timeouts keep a coordinator that hangs,
  /// or waits for another one, from holding a lock for long: they are much shorter than a lease.
  static let settings = """
    SET client_min_messages = error;
    SET default_transaction_isolation = 'read committed';
    SET lock_timeout = '\(lockTimeout.components.seconds)s';
    SET idle_in_transaction_session_timeout = '5s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    """

  /// How long a statement may wait for a lock.
  static let lockTimeout = Duration.seconds(5)

  /// How long a statement may take.
  struct Limits: Sendable {
    /// After this time the server ends the statement.
    var statement: Duration
    /// A server that sends nothing for this much longer does not answer.
    var grace: Duration = .seconds(4)

    /// For what a lease depends on.
    static let short = Limits(statement: .seconds(8))
    /// For what may be about every task of a large job.
    static let long = Limits(statement: .seconds(600))

    fileprivate var settings: String { "SET statement_timeout = \(statement.microseconds / 1_000);\n" }
  }

  static func open(
    url: String, cutoff: Cutoff, outage: ConnectFailure?
  ) throws(JobStoreError) -> OpaquePointer {
    try requireParsable(url)
    // The URL, as `dbname`, overrides what is before it and not what is after it. A server that does not answer for 15
    // s is considered lost.
    let settings = [
      ("fallback_application_name", "sheaf"), ("connect_timeout", "10"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
      ("dbname", url), ("client_encoding", "UTF8"),
    ]
    let handle = withCStrings(settings.map(\.0)) { names in
      withCStrings(settings.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
    }
    guard let handle else { throw JobStoreError(.internal, "there is no memory for a database connection") }
    do throws(JobStoreError) {
      try finishOpening(handle, cutoff, outage)
    } catch {
      PQfinish(handle)
      throw error
    }
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    return handle
  }

  /// Waits for the server, which `PQconnectdb` would do without a way to end the wait.
  private static func finishOpening(
    _ handle: OpaquePointer, _ cutoff: Cutoff, _ outage: ConnectFailure?
  ) throws(JobStoreError) {
    let start = ContinuousClock.now
    let deadline = connectTimeout(of: handle).map { start + $0 }
    // What libpq waits for after its start.
    var state = PGRES_POLLING_WRITING
    while PQstatus(handle) != CONNECTION_BAD {
      if state == PGRES_POLLING_OK { return }
      if state == PGRES_POLLING_FAILED { break }
      let left = deadline.map { $0 - .now }
      if let left, left <= .zero {
        outage?.recordNoAnswer(since: start)
        throw JobStoreError(.unavailable, "cannot reach the database: the server does not answer")
      }
      let wake = cutoff.wait(
        socket: PQsocket(handle), for: state == PGRES_POLLING_WRITING ? POLLOUT : POLLIN,
        milliseconds: left.map { Int32(clamping: $0.microseconds / 1_000 + 1) })
      switch wake {
      case .cut: throw Cutoff.closed
      case .over: continue
      case .ready: state = PQconnectPoll(handle)
      }
    }
    throw JobStoreError(.unavailable, "cannot reach the database: \(String(libpq: PQerrorMessage(handle)))")
  }

  /// The connection's `connect_timeout`, which only `PQconnectdb` would regard. Nil if it has none.
  private static func connectTimeout(of handle: OpaquePointer) -> Duration? {
    guard let options = PQconninfo(handle) else { return nil }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      if String(cString: keyword) == "connect_timeout", let value = option.pointee.val,
        let seconds = Int64(String(cString: value)), seconds > 0
      {
        return .seconds(max(seconds, 2))
      }
      option += 1
    }
    return nil
  }

  func requireVersion() throws(JobStoreError) {
    let version = serverVersion
    guard version >= 130_000 else {
      throw JobStoreError(.invalid, "the database is PostgreSQL \(version / 10_000); Sheaf needs 13 or newer")
    }
  }

  /// Throws `.invalid` for a URL that libpq cannot parse, which is not the same as a server that is not there.
  private static func requireParsable(_ url: String) throws(JobStoreError) {
    guard url.contains("=") || url.contains("://") else { return }
    var error: UnsafeMutablePointer<CChar>?
    if let options = PQconninfoParse(url, &error) {
      PQconninfoFree(options)
      return
    }
    defer { PQfreemem(error) }
    throw JobStoreError(
      .invalid,
      """
      not a database URL: \(error.map { String(libpq: $0) } ?? "out of memory"); \
      a database URL looks like postgres://user@host:port/database
      """)
  }
}

/// Passes a null-terminated array of C strings, which are valid while the body runs.
private func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
  var bytes: [CChar] = []
  var offsets: [Int] = []
  for string in strings {
    offsets.append(bytes.count)
    bytes.append(contentsOf: string.utf8CString)
  }
  return bytes.withUnsafeBufferPointer { bytes in
    var pointers: [UnsafePointer<CChar>?] = offsets.map { offset in bytes.baseAddress.map { $0 + offset } }
    pointers.append(nil)
    return pointers.withUnsafeBufferPointer { pointers in
      guard let base = pointers.baseAddress else { preconditionFailure("the array has at least the null at its end") }
      return body(base)
    }
  }
}

extension String {
  /// A message from libpq, on one line.
  init(libpq message: UnsafePointer<CChar>?) {
    guard let message else {
      self = "no message"
      return
    }
    self = Self.onOneLine(String(cString: message))
  }

  /// libpq breaks a hint into lines that begin with a tab.
  static func onOneLine(_ message: String) -> String {
    var text = ""
    var isHint = false
    for line in message.split(whereSeparator: \.isNewline) {
      let words = line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      guard !words.isEmpty else { continue }
      if !text.isEmpty { text += isHint && line.hasPrefix("\t") ? " " : "; " }
      isHint = line.hasPrefix("\t")
      text += words
    }
    return text
  }
}

extension JobStoreError {
  init(failed result: OpaquePointer, connectionIsBroken: Bool) {
    let condition = PQresultErrorField(result, sheaf_diag_sqlstate).map { String(cString: $0) }
    let message = String(libpq: PQresultErrorField(result, sheaf_diag_message) ?? PQresultErrorMessage(result))
    let detail = PQresultErrorField(result, sheaf_diag_detail).map { "; " + String(libpq: $0) } ?? ""
    self.init(
      connectionIsBroken || Self.isTemporary(condition) ? .unavailable : .internal,
      Self.isBusy[condition ?? ""] ?? "the database: \(message)\(detail)", condition: condition)
  }

  /// What a person reads of these conditions, whose own messages are about a canceled statement.
  private static let isBusy = [
    lockNotAvailable: """
    the database is locked: something else has locked what this needs for more than \
    \(Connection.lockTimeout.components.seconds) s; try again later
    """,
    queryCanceled: "the database is busy: a statement took too long and was ended; try again later",
  ]

  /// Whether the operation may succeed later or on another server: the server is full, busy, shutting down, or has
  /// become a standby.
  private static func isTemporary(_ condition: String?) -> Bool {
    guard let condition else { return false }
    return ["08", "53", "57"].contains { condition.hasPrefix($0) } || ["25006", lockNotAvailable].contains(condition)
  }
}

import CPostgres

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

/// One libpq connection. Every call blocks, so it belongs on a thread of its own.
final class Connection {
  private let handle: OpaquePointer
  private var prepared: Set<String> = []

  init(url: String) throws(JobStoreError) {
    handle = try Self.open(url: url)
    // From here on `deinit` closes the connection, also if the rest throws.
    try requireVersion()
    try script(Self.settings)
  }

  deinit { PQfinish(handle) }

  var isBroken: Bool { PQstatus(handle) != CONNECTION_OK }
  /// 150007 is 15.7.
  var serverVersion: Int32 { PQserverVersion(handle) }
  /// To be polled for notifications.
  var socket: Int32 { PQsocket(handle) }

  /// Runs one or several statements without parameters.
  func script(_ text: String) throws(JobStoreError) {
    _ = try check(PQexec(handle, text))
  }

  /// Runs one statement: in the open transaction, or else as a transaction of its own.
  func run(_ statement: Statement, _ parameters: [Parameter] = []) throws(JobStoreError) -> Rows {
    try prepare(statement, parameters)
    return try check(
      send(parameters) { values, lengths, formats in
        PQexecPrepared(handle, statement.name, Int32(parameters.count), values, lengths, formats, 1)
      })
  }

  /// Runs statements as one transaction in one round trip. Each sees what was committed when it began, not when the
  /// first one did, so a statement after a lock sees what the lock's former holder wrote.
  func transaction(_ calls: [Call]) throws(JobStoreError) -> [Rows] {
    var all: [Call] = [(.begin, [])]
    all.append(contentsOf: calls)
    all.append((.commit, []))
    return Array(try pipeline(all).dropFirst().dropLast())
  }

  /// Runs a body as one transaction, where a later statement depends on what an earlier one returned.
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
      do { results.append(try check(PQgetResult(handle))) } catch { first = first ?? error }
      while let rest = PQgetResult(handle) { PQclear(rest) }
      if isBroken { throw first ?? failure() }
    }
    PQclear(PQgetResult(handle))
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
    _ = try check(PQprepare(handle, statement.name, statement.text, Int32(types.count), types))
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

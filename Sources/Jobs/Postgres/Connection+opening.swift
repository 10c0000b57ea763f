import CPostgres

extension Connection {
  /// What every connection sets first.
  ///
  /// Each statement here is a few index probes, whatever its parameters. The planner has no statistics when a farm is
  /// new, so it is kept from other plans, and from planning at each call. The timeouts keep a coordinator that hangs, or
  /// waits for another one, from holding a lock for long.
  static let settings = """
    SET client_min_messages = error;
    SET default_transaction_isolation = 'read committed';
    SET statement_timeout = '60s';
    SET lock_timeout = '20s';
    SET idle_in_transaction_session_timeout = '20s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    """

  static func open(url: String) throws(JobStoreError) -> OpaquePointer {
    try requireParsable(url)
    // The URL, as `dbname`, overrides what is before it and not what is after it. A server that does not answer for 15 s
    // is taken for lost.
    let settings = [
      ("fallback_application_name", "sheaf"), ("connect_timeout", "10"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
      ("dbname", url), ("client_encoding", "UTF8"),
    ]
    let handle = withCStrings(settings.map(\.0)) { names in
      withCStrings(settings.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
    }
    guard let handle else { throw JobStoreError(.internal, "there is no memory for a database connection") }
    guard PQstatus(handle) == CONNECTION_OK else {
      let message = String(libpq: PQerrorMessage(handle))
      PQfinish(handle)
      throw JobStoreError(.unavailable, "cannot reach the database: \(message)")
    }
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    return handle
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
    self = String(cString: message).split(separator: "\n").joined(separator: "; ")
  }
}

extension JobStoreError {
  init(failed result: OpaquePointer, connectionIsBroken: Bool) {
    let condition = PQresultErrorField(result, sheaf_diag_sqlstate).map { String(cString: $0) }
    let message = String(libpq: PQresultErrorField(result, sheaf_diag_message) ?? PQresultErrorMessage(result))
    let detail = PQresultErrorField(result, sheaf_diag_detail).map { "; " + String(libpq: $0) } ?? ""
    self.init(
      connectionIsBroken || Self.isTemporary(condition) ? .unavailable : .internal, "the database: \(message)\(detail)",
      condition: condition)
  }

  /// Whether the operation may succeed later or on another server: the server is full, busy, shutting down, or has become
  /// a standby.
  private static func isTemporary(_ condition: String?) -> Bool {
    guard let condition else { return false }
    return ["08", "53", "57"].contains { condition.hasPrefix($0) } || ["25006", "55P03"].contains(condition)
  }
}

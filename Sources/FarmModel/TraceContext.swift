/// The place of a request in a trace of several programs, by W3C Trace Context: what its header `traceparent` says. It
/// is for logs alone, and nothing of a result depends on it.
package struct TraceContext: Sendable, Hashable, CustomStringConvertible {
  /// 32 lower-case hexadecimal digits, not all zero.
  package let traceID: String
  /// The span of whoever asks: 16 lower-case hexadecimal digits, not all zero.
  package let parentID: String
  /// 2 lower-case hexadecimal digits.
  package let flags: String

  private init(traceID: String, parentID: String, flags: String) {
    self.traceID = traceID
    self.parentID = parentID
    self.flags = flags
  }

  /// Nil if the header is malformed: then the specification has it ignored. Of a version that is not known yet the
  /// first four fields count.
  package init?(_ header: String) {
    let text = header.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let fields = text.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard fields.count >= 4, zip(fields, [2, 32, 16, 2]).allSatisfy({ Self.isHex($0, digits: $1) }) else { return nil }
    // Version 00 has nothing after these, and version ff is none.
    guard fields[0] != "ff", fields[0] != "00" || fields.count == 4 else { return nil }
    guard fields[1].contains(where: { $0 != "0" }), fields[2].contains(where: { $0 != "0" }) else { return nil }
    self.init(traceID: fields[1], parentID: fields[2], flags: fields[3])
  }

  /// The start of a trace, for a request without one.
  package static func fresh() -> TraceContext {
    TraceContext(traceID: randomID() + randomID(), parentID: randomID(), flags: "00")
  }

  /// A span of the same trace.
  package func child() -> TraceContext {
    TraceContext(traceID: traceID, parentID: Self.randomID(), flags: flags)
  }

  /// As a header: version 00.
  package var description: String { "00-\(traceID)-\(parentID)-\(flags)" }

  private static func isHex(_ text: String, digits: Int) -> Bool {
    text.utf8.count == digits
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }

  /// 16 hexadecimal digits.
  private static func randomID() -> String {
    let digits = String(UInt64.random(in: 1 ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

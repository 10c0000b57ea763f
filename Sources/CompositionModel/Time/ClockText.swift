/// Times as people read them.
package enum ClockText {
  /// Hours, minutes, seconds and milliseconds: `1:02:03.500`. Hours are left out if there are none.
  package static func of(milliseconds: Int64) -> String {
    func padded(_ value: UInt64, _ count: Int) -> String {
      let digits = "\(value)"
      return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
    let total = milliseconds.magnitude
    let (minutes, hours) = (total / 60_000 % 60, total / 3_600_000)
    let head = hours > 0 ? "\(hours):\(padded(minutes, 2))" : "\(minutes)"
    return (milliseconds < 0 ? "-" : "") + "\(head):\(padded(total / 1000 % 60, 2)).\(padded(total % 1000, 3))"
  }

  /// The same of seconds, to the nearest millisecond. Nil for more than can be shown so.
  package static func of(seconds: Double) -> String? {
    guard seconds.magnitude < 1e9 else { return nil }
    return of(milliseconds: Int64((seconds * 1000).rounded()))
  }
}

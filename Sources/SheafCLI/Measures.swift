/// Quantities as people read them.
enum Measure {
  /// Such as `45 s`, `3 min`, `5 h`, `2 d`: how long ago something was.
  static func age(_ seconds: Double) -> String {
    let seconds = whole(seconds)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3600) h"
    default: return "\(seconds / 86_400) d"
    }
  }

  /// Such as `4.2 s`, `1:05 min`, `1:02:03 h`: how long something took.
  static func duration(_ seconds: Double) -> String {
    guard seconds >= 60 else { return "\(decimal(max(0, seconds))) s" }
    return clock(whole(seconds)) + (seconds < 3600 ? " min" : " h")
  }

  /// What a coordinator sends may be any number.
  private static func whole(_ seconds: Double) -> Int64 {
    Int64(exactly: max(0, seconds).rounded(.down)) ?? .max
  }

  /// Such as `1:05` or `1:02:03`.
  static func clock(_ seconds: Int64) -> String {
    let (minutes, rest) = seconds.quotientAndRemainder(dividingBy: 60)
    let end = (rest < 10 ? "0" : "") + "\(rest)"
    guard minutes >= 60 else { return "\(minutes):\(end)" }
    return "\(minutes / 60):" + (minutes % 60 < 10 ? "0" : "") + "\(minutes % 60):\(end)"
  }

  /// Such as `512 bytes`, `12.3 MB`, `4.0 GB`, in powers of ten.
  static func bytes(_ count: some BinaryInteger) -> String {
    var value = Double(count)
    guard value >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
    for unit in ["kB", "MB", "GB"] {
      value /= 1000
      // 999.95 would be written as 1000.0.
      if value < 999.95 { return "\(decimal(value)) \(unit)" }
    }
    return "\(decimal(value / 1000)) TB"
  }

  /// Whole percent. 100 only when all of it is done.
  static func percent(_ done: some BinaryInteger, of total: some BinaryInteger) -> Int {
    guard total > 0 else { return 0 }
    return done >= total ? 100 : min(99, Int(Double(done) / Double(total) * 100))
  }

  /// With one digit after the point.
  static func decimal(_ value: Double) -> String {
    guard let tenths = Int(exactly: (value * 10).rounded()) else { return "\(value)" }
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// A count and its noun, such as `1 file` or `3 files`.
  static func count(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}

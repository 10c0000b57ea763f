import FoundationEssentials

/// When the clocks of a time zone are set on and back: a file of the IANA time zone database (RFC 8536). Pure but for
/// `named`, which reads the file. PostgreSQL has its own; the traces compare both.
struct TimeZoneRules: Sendable, Hashable {
  /// From when on, in seconds since 1970, and how far the clock is ahead of UTC then, in seconds. In their order.
  private var transitions: [(at: Int64, offset: Int64)] = []
  /// Before the first of them.
  private var firstOffset: Int64 = 0
  /// After the last of them. Nil: as the last has it.
  private var rule: YearlyRule?

  static let utc = TimeZoneRules()

  private init() {}

  /// - Parameter zone: A name that `Pool.validate` accepts.
  /// - Returns: Nil: this machine has no such time zone.
  static func named(_ zone: String, in folder: String = "/usr/share/zoneinfo") -> TimeZoneRules? {
    if let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(zone)", directoryHint: .notDirectory)),
      let rules = TimeZoneRules(file: Array(data))
    {
      return rules
    }
    return zone == "UTC" ? .utc : nil
  }

  /// Nil: it is no such file.
  init?(file bytes: [UInt8]) {
    guard let first = Header(bytes[...]), first.version >= 50 else { return nil }
    // The first part has times of 32 bits, and is for readers of another time.
    let second = bytes.dropFirst(first.length(timeSize: 4))
    guard let header = Header(second) else { return nil }
    var rest = second.dropFirst(Header.size)
    guard rest.count >= header.length(timeSize: 8) - Header.size, header.types > 0 else { return nil }
    let times = (0..<header.times).map { _ in rest.takeInteger(of: 8) }
    let kinds = (0..<header.times).map { _ in Int(rest.takeInteger(of: 1) & 0xFF) }
    let offsets = (0..<header.types).map { _ in
      let offset = rest.takeInteger(of: 4)
      rest = rest.dropFirst(2)
      return offset
    }
    guard kinds.allSatisfy(offsets.indices.contains) else { return nil }
    firstOffset = offsets[0]
    transitions = zip(times, kinds).map { ($0, offsets[$1]) }
    let footer = second.dropFirst(header.length(timeSize: 8))
    guard footer.first == 10, let end = footer.dropFirst().firstIndex(of: 10) else { return nil }
    let text = String(decoding: footer[(footer.startIndex + 1)..<end], as: UTF8.self)
    if !text.isEmpty {
      guard let rule = YearlyRule(text) else { return nil }
      self.rule = rule
    }
  }

  static func == (left: TimeZoneRules, right: TimeZoneRules) -> Bool {
    left.firstOffset == right.firstOffset && left.rule == right.rule
      && left.transitions.elementsEqual(right.transitions) { $0.at == $1.at && $0.offset == $1.offset }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(firstOffset)
    hasher.combine(transitions.count)
  }

  /// How far the clock is ahead of UTC, in seconds.
  func offset(at time: Int64) -> Int64 {
    let index = transitions.partitioningIndex { $0.at > time }
    if index == transitions.count, let rule { return rule.offset(at: time) }
    return index == 0 ? firstOffset : transitions[index - 1].offset
  }

  /// When a clock of the zone shows a time: seconds of its calendar since 1970. One that it skips is as much later as
  /// the clock is set on; of one that it shows twice the second one counts. So has PostgreSQL's `AT TIME ZONE`.
  func time(showing local: Int64) -> Int64 {
    // No zone is a day away from UTC, and none sets its clock twice in two days.
    let times = [local - offset(at: local - 86_400), local - offset(at: local + 86_400)]
    let shown = times.filter { $0 + offset(at: $0) == local }
    return (shown.isEmpty ? times : shown).max() ?? local
  }
}

/// What a part of the file begins with.
private struct Header {
  static let size = 44

  var version: UInt8
  private var isUTC: Int
  private var isStandard: Int
  private var leaps: Int
  var times: Int
  var types: Int
  private var characters: Int

  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.size, bytes.starts(with: Array("TZif".utf8)) else { return nil }
    version = bytes[bytes.startIndex + 4]
    var counts = bytes.dropFirst(20)
    let numbers = (0..<6).map { _ in Int(counts.takeInteger(of: 4)) }
    guard numbers.allSatisfy({ (0..<1 << 20).contains($0) }) else { return nil }
    (isUTC, isStandard, leaps) = (numbers[0], numbers[1], numbers[2])
    (times, types, characters) = (numbers[3], numbers[4], numbers[5])
  }

  /// Of the part, with this.
  func length(timeSize: Int) -> Int {
    Self.size + times * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + isStandard + isUTC
  }
}

extension ArraySlice<UInt8> {
  /// A big-endian number with a sign.
  fileprivate mutating func takeInteger(of size: Int) -> Int64 {
    let number = prefix(size).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    self = dropFirst(size)
    let unused = 64 - size * 8
    return (number << unused) >> unused
  }
}

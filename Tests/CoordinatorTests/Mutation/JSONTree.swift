import CompositionModel
import EditDocument
import TestPrograms

/// A JSON text whose values can be changed at random. Numbers keep their digits.
indirect enum JSONTree: Sendable {
  case null
  case boolean(Bool)
  case number(String)
  case string(String)
  case array([JSONTree])
  case object([(key: String, value: JSONTree)])

  init(_ text: String) throws {
    self.init(try JSONReader.read([UInt8](text.utf8)).value)
  }

  private init(_ value: JSONValue) {
    switch value.content {
    case .null: self = .null
    case .boolean(let flag): self = .boolean(flag)
    case .number(let digits): self = .number(digits)
    case .string(let text): self = .string(text)
    case .array(let items): self = .array(items.map { JSONTree($0) })
    case .object(let members): self = .object(members.map { ($0.key, JSONTree($0.value)) })
    }
  }

  var text: String {
    switch self {
    case .null: "null"
    case .boolean(let flag): flag ? "true" : "false"
    case .number(let digits): digits
    case .string(let text): Self.quoted(text)
    case .array(let items): "[\(items.map(\.text).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(separator: ","))}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// The number of values, with this one.
  var count: Int {
    switch self {
    case .array(let items): items.reduce(1) { $0 + $1.count }
    case .object(let members): members.reduce(1) { $0 + $1.value.count }
    default: 1
    }
  }

  /// Changes one to three values.
  func mutated(_ random: inout SeededRandom) -> JSONTree {
    var tree = self
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      // A number or a time twice in three: they are what arithmetic meets.
      let isSure = Int.random(in: 0..<3, using: &random) > 0
      for _ in 0..<16 {
        var place = Int.random(in: 0..<tree.count, using: &random)
        var other = tree
        if other.change(&place, onlyNumbers: isSure, &random) {
          tree = other
          break
        }
      }
    }
    return tree
  }

  /// Changes the value that is `place` values after this one. Returns whether it has.
  private mutating func change(_ place: inout Int, onlyNumbers: Bool, _ random: inout SeededRandom) -> Bool {
    if place == 0 {
      if onlyNumbers, !isNumeric { return false }
      self = changed(&random)
      return true
    }
    place -= 1
    switch self {
    case .array(var items):
      for index in items.indices {
        let count = items[index].count
        if place < count {
          let isChanged = items[index].change(&place, onlyNumbers: onlyNumbers, &random)
          self = .array(items)
          return isChanged
        }
        place -= count
      }
    case .object(var members):
      for index in members.indices {
        let count = members[index].value.count
        if place < count {
          let isChanged = members[index].value.change(&place, onlyNumbers: onlyNumbers, &random)
          self = .object(members)
          return isChanged
        }
        place -= count
      }
    default: break
    }
    return false
  }

  private var isNumeric: Bool {
    switch self {
    case .number: true
    case .string(let text): MediaTime(text) != nil
    default: false
    }
  }

  static let numbers = [
    "0", "1", "-1", "2", "3", "7", "255", "256", "16384", "16385", "32768", "65535", "65536", "2147483647",
    "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "1099511627776", "4503599627370497",
    "9007199254740993", "1152921504606846976", "4611686018427387904", "4611686018427387903", "-4611686018427387905",
    "9223372036854775806", "9223372036854775807", "-9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "18446744073709551615", "1e308", "-1e308", "1e-308", "0.5", "-0.5", "1e19", "1e18",
    "1e400",
  ]
  static let times = [
    "0", "1", "-1", "1/2", "1/3", "1/2147483647", "2147483647/2", "-1/2147483647", "2147483646/2147483647",
    "9223372036854775807", "-9223372036854775808", "-9223372036854775807", "9223372036854775807/2147483647",
    "-9223372036854775808/2147483647", "9223372036854775806/2147483647", "4611686018427387904",
    "1152921504606846976/3", "1000000000000", "100000000", "invalid", "+inf", "-inf", "1/0", "9223372036854775808",
    "1/90001", "1/1000003", "1000000007/1000000009", "1/2147483629",
  ]
  static let texts = [
    "", " ", "\0", "é\u{301}", "yuv420p16le", "gray", "rgba64le", "png", "h264", "mjpeg", "aac", "video", "audio",
    "subtitle", "metadata", "mono", "5.1(side)", "24 channels", "smpte2084", "arib-std-b67", "bt2020nc", "unknown",
    "../../etc/passwd", "-9223372036854775808", "9223372036854775807..9223372036854775808", "9223372036854775807f",
    "99999999:59:59.999", "-0:00.001", "1e400", "99999999999999999999%", "1/0..2/0", "0..1/2147483647", "inf",
  ]

  private func changed(_ random: inout SeededRandom) -> JSONTree {
    switch self {
    case .number(let digits):
      if Int.random(in: 0..<4, using: &random) == 0, let value = Int64(digits) {
        return .number("\(value &+ [-1, 1, value, Int64.max / 2][Int.random(in: 0..<4, using: &random)])")
      }
      return Int.random(in: 0..<20, using: &random) == 0 ? .string("x") : .number(pick(Self.numbers, &random))
    case .string(let text):
      if MediaTime(text) != nil { return .string(pick(Self.times, &random)) }
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return .string(String(repeating: "long ", count: 20_000))
      case 1: return .string(text + text)
      case 2: return .string(pick(Self.times, &random))
      case 3: return .number(pick(Self.numbers, &random))
      default: return .string(pick(Self.texts, &random))
      }
    case .boolean(let flag): return .boolean(!flag)
    case .null: return .number(pick(Self.numbers, &random))
    case .array(var items):
      guard !items.isEmpty else { return .array([.number(pick(Self.numbers, &random))]) }
      let index = Int.random(in: items.indices, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: return .array([])
      case 1: items.remove(at: index)
      case 2: items.insert(items[index], at: 0)
      case 3: items.reverse()
      case 4: items += Array(repeating: items[index], count: 300)
      default: return .null
      }
      return .array(items)
    case .object(var members):
      guard !members.isEmpty else { return .null }
      members.remove(at: Int.random(in: members.indices, using: &random))
      return .object(members)
    }
  }

  private func pick(_ list: [String], _ random: inout SeededRandom) -> String {
    list[Int.random(in: list.indices, using: &random)]
  }
}

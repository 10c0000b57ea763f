import CompositionModel

/// The telemetry of action cameras (`gpmd`), in the General Purpose Metadata Format: keys of four characters with
/// values, nested. A sample is about a second: of each sensor (`STRM`) it has the readings since the last one, and what
/// describes them, such as their scale. https://github.com/gopro/gpmf-parser
enum TelemetryMetadata {
  /// The readings of a sensor in a sample.
  struct Stream {
    /// At equal distances over the sample's time.
    var readings: [MetadataItem]
    /// What is stated once for all of them, such as whether there is a fix.
    var others: [MetadataItem]
  }

  /// What was wrong, as a sentence.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// A key with its values, as it is stored.
  private struct Entry {
    var key: String
    /// 0: the values are entries.
    var type: UInt8
    /// Of one element.
    var size: Int
    var count: Int
    var contents: ArraySlice<UInt8>
  }

  /// How deep entries may be nested.
  private static let greatestDepth = 8
  /// The most readings of a sample, of which cameras have some hundreds.
  private static let greatestCount = 100_000
  /// The most values that are stated once for the readings of a sensor.
  private static let mostOthers = 8
  /// The most numbers of a structure, whose size is stated in a byte.
  private static let mostNumbers = 255
  /// Keys that say how others are read.
  private static let describing: Set = [
    "SCAL", "TYPE", "STNM", "SIUN", "UNIT", "TSMP", "TICK", "TOCK", "EMPT", "STMP", "MTRX", "ORIN", "ORIO",
  ]

  static func streams(in sample: [UInt8]) throws(Failure) -> [Stream] {
    var streams: [Stream] = []
    try add(sample[...], depth: 0, to: &streams)
    return streams
  }

  private static func add(
    _ bytes: ArraySlice<UInt8>, depth: Int, to streams: inout [Stream]
  ) throws(Failure) {
    guard depth < greatestDepth else { throw Failure("entries are nested \(depth) deep") }
    for entry in try entries(in: bytes) where entry.type == 0 {
      if entry.key == "STRM" {
        if let stream = stream(try entries(in: entry.contents)) { streams.append(stream) }
        guard streams.reduce(0, { $0 + $1.readings.count }) <= greatestCount else {
          throw Failure("it has more than \(greatestCount) readings")
        }
      } else {
        try add(entry.contents, depth: depth + 1, to: &streams)
      }
    }
  }

  private static func entries(in bytes: ArraySlice<UInt8>) throws(Failure) -> [Entry] {
    var entries: [Entry] = []
    var rest = bytes
    while rest.count >= 8 {
      let key = rest.prefix(4)
      // The rest is not used.
      if key.allSatisfy({ $0 == 0 }) { break }
      let start = rest.startIndex
      let (type, size) = (rest[start + 4], Int(rest[start + 5]))
      let count = Int(rest[start + 6]) << 8 | Int(rest[start + 7])
      let length = size * count
      let padded = (length + 3) & ~3
      guard padded <= rest.count - 8 else {
        throw Failure("an entry has \(padded) bytes where \(rest.count - 8) are left")
      }
      entries.append(
        Entry(
          key: String(decoding: key, as: UTF8.self), type: type, size: size, count: count,
          contents: rest.dropFirst(8).prefix(length)))
      rest = rest.dropFirst(8 + padded)
    }
    return entries
  }

  /// The readings are the last entry. Nil: there are none.
  private static func stream(_ entries: [Entry]) -> Stream? {
    guard let last = entries.last, last.count > 0, !describing.contains(last.key), last.type != 0 else { return nil }
    let scales = entries.last { $0.key == "SCAL" }.map(numbers) ?? []
    let form = entries.last { $0.key == "TYPE" }.map(form)
    let readings = items(last, scales: scales, form: form)
    guard !readings.isEmpty else { return nil }
    let others = entries.dropLast().filter { !describing.contains($0.key) && $0.type != 0 }
      .compactMap { entry in
        let items = items(entry, scales: [], form: nil)
        return items.count == 1 ? items[0] : nil
      }
    return Stream(readings: readings, others: Array(others.prefix(mostOthers)))
  }

  /// The types of the numbers of a structure, such as `lllS` or `f[3]L`.
  private static func form(_ entry: Entry) -> [UInt8] {
    var types: [UInt8] = []
    var rest = entry.contents.prefix { $0 != 0 }
    while types.count < mostNumbers, let type = rest.popFirst() {
      guard rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) else {
        types.append(type)
        continue
      }
      let count = Int(String(decoding: rest[..<end].dropFirst(), as: UTF8.self)) ?? 0
      types += Array(repeating: type, count: min(max(0, count), mostNumbers))
      rest = rest[(end + 1)...]
    }
    return types
  }

  private static func items(_ entry: Entry, scales: [Double], form: [UInt8]?) -> [MetadataItem] {
    let identifier = "gpmd/\(entry.key)"
    let type = MetadataItem.DataType.named("com.gopro.gpmf.\(String(decoding: [entry.type], as: UTF8.self))")
    func item(_ value: MetadataItem.Value) -> MetadataItem { MetadataItem(identifier, value, as: type) }
    func parts(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
      guard entry.size > 0 else { return [] }
      return stride(from: bytes.startIndex, to: bytes.endIndex, by: entry.size).map { bytes[$0..<($0 + entry.size)] }
    }
    switch entry.type {
    // A text is one value, whose characters may be counted as elements.
    case UInt8(ascii: "c"), UInt8(ascii: "U"):
      return [item(.text(String(decoding: entry.contents.prefix { $0 != 0 }, as: UTF8.self)))]
    case UInt8(ascii: "F"):
      return parts(entry.contents).map { item(.text(String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self))) }
    default:
      return parts(entry.contents).map { part in
        guard let values = numbers(part, entry.type == UInt8(ascii: "?") ? form : nil, entry.type) else {
          return item(.data(Array(part)))
        }
        let scaled = values.enumerated().map { index, value in
          let scale = scales.count == 1 ? scales[0] : scales.indices.contains(index) ? scales[index] : 1
          return scale == 0 ? value : value / scale
        }
        return item(scaled.count == 1 ? .number(scaled[0]) : .numbers(scaled))
      }
    }
  }

  private static func numbers(_ entry: Entry) -> [Double] { numbers(entry.contents, nil, entry.type) ?? [] }

  /// - Parameter form: The types of the numbers. Nil: all are of the type.
  /// - Returns: Nil if they are no numbers.
  private static func numbers(_ bytes: ArraySlice<UInt8>, _ form: [UInt8]?, _ type: UInt8) -> [Double]? {
    var (values, rest, place): ([Double], ArraySlice<UInt8>, Int) = ([], bytes, 0)
    while !rest.isEmpty {
      if let form, !form.indices.contains(place) { return nil }
      let type = form?[place] ?? type
      guard let size = sizes[type], size <= rest.count else { return nil }
      values.append(number(bigEndian(rest.prefix(size)), type))
      rest = rest.dropFirst(size)
      place += 1
    }
    return values
  }

  private static let sizes: [UInt8: Int] = [
    UInt8(ascii: "b"): 1, UInt8(ascii: "B"): 1, UInt8(ascii: "s"): 2, UInt8(ascii: "S"): 2, UInt8(ascii: "l"): 4,
    UInt8(ascii: "L"): 4, UInt8(ascii: "f"): 4, UInt8(ascii: "d"): 8, UInt8(ascii: "j"): 8, UInt8(ascii: "J"): 8,
    UInt8(ascii: "q"): 4, UInt8(ascii: "Q"): 8,
  ]

  private static func number(_ bits: UInt64, _ type: UInt8) -> Double {
    switch type {
    case UInt8(ascii: "b"): Double(Int8(truncatingIfNeeded: bits))
    case UInt8(ascii: "s"): Double(Int16(truncatingIfNeeded: bits))
    case UInt8(ascii: "l"): Double(Int32(truncatingIfNeeded: bits))
    case UInt8(ascii: "j"): Double(Int64(bitPattern: bits))
    case UInt8(ascii: "f"): Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case UInt8(ascii: "d"): Double(bitPattern: bits)
    // Fixed point, with as many bits before the point as after it.
    case UInt8(ascii: "q"): Double(Int32(truncatingIfNeeded: bits)) / 65_536
    case UInt8(ascii: "Q"): Double(Int64(bitPattern: bits)) / 4_294_967_296
    default: Double(bits)
    }
  }
}

import CompositionModel
import Media
import Stitcher

/// Keeps the values of a track of timed metadata until the film is written, because its sample description has all
/// keys.
struct MetadataTrackWriter {
  /// The most tracks of a film.
  static let greatestCount = 32
  /// The most bytes of a track's samples.
  private static let greatestSize = 64 << 20
  /// The most bytes of a track's sample description, which has its keys.
  private static let greatestDescription = 1 << 20
  /// The ticks a second of times that have no common timescale.
  private static let usualTimescale: UInt32 = 90_000
  /// Those of a track in which a value lasts for more than half a day.
  private static let coarseTimescale: UInt32 = 1000

  private var groups: [TimedMetadataGroup] = []
  private var keys: [BoxedMetadata.Key: Int] = [:]
  private var ordered: [BoxedMetadata.Key] = []
  private var size = 0

  var isEmpty: Bool { groups.isEmpty }

  mutating func append(_ group: TimedMetadataGroup) throws(SheafError) {
    let range = group.timeRange
    guard range.start.isPlace, range.end.isPlace, !range.isEmpty else {
      throw SheafError(.misuse, "timed metadata cannot be stored for the range \(range)")
    }
    if let last = groups.last?.timeRange, range.start < last.end {
      throw SheafError(
        .misuse, "timed metadata at \(range.start) were appended after some that go on until \(last.end)")
    }
    var (keys, ordered) = (keys, ordered)
    for item in group.items {
      let key = BoxedMetadata.Key(item.identifier, item.dataType)
      if keys.updateValue(keys[key] ?? ordered.count, forKey: key) == nil { ordered.append(key) }
      guard item.byteCount <= Self.greatestSize else { throw Self.tooLarge }
    }
    let (description, added): (Int, Int)
    do throws(BoxedMetadata.Failure) {
      description = ordered.count > self.ordered.count ? try BoxedMetadata.entry(ordered).count : 0
      added = try BoxedMetadata.sample(group.items, keys).count
    } catch {
      throw SheafError(.misuse, "timed metadata cannot be stored: \(error)")
    }
    guard description <= Self.greatestDescription else {
      throw SheafError(.misuse, "the keys of a track of timed metadata have at most \(Self.greatestDescription) bytes")
    }
    guard size + added <= Self.greatestSize else { throw Self.tooLarge }
    size += added
    (self.keys, self.ordered) = (keys, ordered)
    groups.append(group)
  }

  private static var tooLarge: SheafError {
    SheafError(.misuse, "a track has at most \(greatestSize) bytes of timed metadata")
  }

  /// - Parameters:
  ///   - start: The time of what was appended at which the film starts.
  ///   - duration: That of the film.
  /// - Returns: Nil if nothing was appended.
  func track(from start: MediaTime, lasting duration: MediaTime) throws -> MetadataTracks.Track? {
    if groups.isEmpty { return nil }
    // From where to where, in seconds of the film, without a gap.
    var parts: [(end: Rational, items: [MetadataItem])] = []
    var end = Rational.zero
    for group in groups {
      let first = try max(.zero, group.timeRange.start.exact - start.exact)
      let last = try min(duration.exact, group.timeRange.end.exact - start.exact)
      guard first < last else { continue }
      if end < first { parts.append((first, [])) }
      parts.append((last, group.items))
      end = last
    }
    if try end < duration.exact { parts.append((try duration.exact, [])) }
    let timescale = try Self.timescale(of: parts.map(\.end))
    var samples: [(bytes: [UInt8], duration: UInt32)] = []
    var tick: Int64 = 0
    for part in parts {
      let next = Int64(clamping: try (part.end * Rational(timescale)).rounded)
      guard tick < next else { continue }
      samples.append((try BoxedMetadata.sample(part.items, keys), UInt32(clamping: next - tick)))
      tick = next
    }
    return MetadataTracks.Track(entry: try BoxedMetadata.entry(ordered), timescale: timescale, samples: samples)
  }

  /// Of the times at which samples end: one in which all are whole, if there is one.
  private static func timescale(of ends: [Rational]) throws(TimeError) -> UInt32 {
    var longest = Rational.zero
    var last = Rational.zero
    for end in ends { (longest, last) = (max(longest, try end - last), end) }
    var common: Int128 = 1
    for end in ends where common <= Int128(Int32.max) {
      let divisor = Rational.greatestCommonDivisor(common.magnitude, end.denominator.magnitude)
      common = common / Int128(divisor) * end.denominator
    }
    func fits(_ timescale: Int128) throws(TimeError) -> Bool {
      guard timescale <= Int128(Int32.max) else { return false }
      return try longest * Rational(timescale) <= Rational(UInt32.max)
    }
    if try fits(common) { return UInt32(common) }
    return try fits(Int128(usualTimescale)) ? usualTimescale : coarseTimescale
  }
}

extension MetadataItem {
  /// That are stored of it, about.
  fileprivate var byteCount: Int {
    switch value {
    case .data(let bytes): bytes.count
    case .text(let text): text.utf8.count
    case .integer, .unsigned, .number: 8
    case .numbers(let numbers): 8 * numbers.count
    }
  }
}

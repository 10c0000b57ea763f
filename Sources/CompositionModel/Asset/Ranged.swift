/// The numbers that a property may have when it is decoded.
public protocol DecodedRange: Sendable {
  associatedtype Number: FixedWidthInteger & Codable & Sendable
  static var allowed: ClosedRange<Number> { get }
}

/// A number that comes from outside: from a worker, a store or a client. Decoding throws for one out of its range, so
/// that arithmetic on those that were decoded cannot overflow. What this process sets itself is not checked.
@propertyWrapper public struct Ranged<Range: DecodedRange>: Sendable, Hashable, Codable {
  public var wrappedValue: Range.Number

  public init(wrappedValue: Range.Number) {
    self.wrappedValue = wrappedValue
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = try container.decode(Range.Number.self)
    guard Range.allowed.contains(wrappedValue) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: Range.allowed.exclusion(of: wrappedValue))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension ClosedRange where Bound: FixedWidthInteger {
  /// What is wrong with a number that is not in the range, for a person.
  package func exclusion(of number: Bound) -> String { "\(number) is not from \(lowerBound) to \(upperBound)" }
}

extension KeyedDecodingContainer {
  /// Decodes a number. Throws unless it is in the range.
  package func decode<Number: FixedWidthInteger & Decodable>(
    in range: ClosedRange<Number>, forKey key: Key
  ) throws -> Number {
    let number = try decode(Number.self, forKey: key)
    guard range.contains(number) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: range.exclusion(of: number))
    }
    return number
  }
}

extension DecodingError {
  /// Which field is wrong, and why, such as `tracks[0].video.size.width: 0 is not from 1 to 16384`.
  package var place: String {
    let (context, missing): (Context, (any CodingKey)?) =
      switch self {
      case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context): (context, nil)
      case .keyNotFound(let key, let context): (context, key)
      @unknown default: (Context(codingPath: [], debugDescription: "\(self)"), nil)
      }
    var path = ""
    for key in context.codingPath + [missing].compactMap(\.self) {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += (path.isEmpty ? "" : ".") + key.stringValue
      }
    }
    let reason = missing == nil ? context.debugDescription : "it is missing"
    return path.isEmpty ? reason : "\(path): \(reason)"
  }
}

extension [Int64] {
  /// Whether each is in the range of stored timestamps.
  var areTicks: Bool { allSatisfy { StoredTime.ticks.contains($0) } }
}

/// The index of a stream in its file, and other small numbers from zero.
public enum IndexRange: DecodedRange {
  public static var allowed: ClosedRange<Int> { 0...Int(Int32.max) }
}

/// Stored timestamps.
public enum TickRange: DecodedRange {
  public static var allowed: ClosedRange<Int64> { StoredTime.ticks }
}

/// Samples a second.
public enum SampleRateRange: DecodedRange {
  public static var allowed: ClosedRange<Int> { 1...1 << 24 }
}

/// The number of a sample.
public enum SampleNumberRange: DecodedRange {
  public static var allowed: ClosedRange<Int64> { 0...1 << 53 }
}

/// Channels of a sound track.
public enum ChannelRange: DecodedRange {
  public static var allowed: ClosedRange<Int> { 1...1024 }
}

/// Bits of a component of a pixel.
public enum BitDepthRange: DecodedRange {
  public static var allowed: ClosedRange<Int> { 1...64 }
}

/// The keyframes of a track, whose presentation times rise.
@propertyWrapper public struct Rising: Sendable, Hashable, Codable {
  public var wrappedValue: [Keyframe]

  public init(wrappedValue: [Keyframe]) {
    self.wrappedValue = wrappedValue
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = try container.decode([Keyframe].self)
    guard zip(wrappedValue, wrappedValue.dropFirst()).allSatisfy({ $0.pts < $1.pts }) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "the keyframes' times do not rise")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

/// Bytes of a file.
public enum SizeRange: DecodedRange {
  public static var allowed: ClosedRange<Int64> { 0...1 << 53 }
}

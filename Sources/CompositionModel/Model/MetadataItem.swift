/// What is known of a film over a range of its time, as a file stores it: AVFoundation's `AVTimedMetadataGroup`.
public struct TimedMetadataGroup: Sendable, Hashable {
  /// On the asset's timeline. Not empty.
  public var timeRange: MediaTimeRange
  /// In the order of the file.
  public var items: [MetadataItem]

  public init(timeRange: MediaTimeRange, items: [MetadataItem]) {
    self.timeRange = timeRange
    self.items = items
  }

  /// The first item of an identifier. Nil: there is none.
  public subscript(identifier: String) -> MetadataItem? { items.first { $0.identifier == identifier } }
}

/// A value with a name: AVFoundation's `AVMetadataItem`.
public struct MetadataItem: Sendable, Hashable {
  public enum Value: Sendable, Hashable {
    case text(String)
    case integer(Int64)
    /// More than an `Int64` can be, or of a type without a sign.
    case unsigned(UInt64)
    case number(Double)
    /// Such as a point, or the latitude, the longitude and the height of a place.
    case numbers([Double])
    /// Of a type that is not among those.
    case data([UInt8])
  }

  /// The key space, four characters; a slash; and the key: AVFoundation's `AVMetadataIdentifier`, such as
  /// `mdta/com.apple.quicktime.location.ISO6709`.
  public var identifier: String
  public var dataType: DataType
  public var value: Value

  /// An item of a type that the value alone would not have.
  public init(_ identifier: String, _ value: Value, as dataType: DataType) {
    (self.identifier, self.value, self.dataType) = (identifier, value, dataType)
  }

  /// A text, stored as UTF-8.
  public init(_ identifier: String, text: String) { self.init(identifier, .text(text), as: .utf8) }

  /// A number, stored in 64 bits.
  public init(_ identifier: String, number: Double) { self.init(identifier, .number(number), as: .float64) }

  /// The value as a text. Nil: it is numbers, or bytes that are no UTF-8.
  public var stringValue: String? {
    switch value {
    case .text(let text): text
    case .data(let bytes): String(validating: bytes, as: UTF8.self)
    case .integer, .unsigned, .number, .numbers: nil
    }
  }

  /// The value as numbers, of which there may be one. Nil: it is a text or bytes.
  public var numbers: [Double]? {
    switch value {
    case .integer(let value): [Double(value)]
    case .unsigned(let value): [Double(value)]
    case .number(let value): [value]
    case .numbers(let values): values
    case .text, .data: nil
    }
  }

  /// How a value is stored: one of the well-known types of the QuickTime File Format, by its number, or another by its
  /// name.
  public enum DataType: Sendable, Hashable {
    case wellKnown(UInt32)
    /// In reverse order of a domain, such as `com.example.heart-rate`.
    case named(String)

    public static let utf8 = DataType.wellKnown(1)
    /// The highest byte first, as of all types.
    public static let utf16 = DataType.wellKnown(2)
    public static let jpeg = DataType.wellKnown(13)
    public static let png = DataType.wellKnown(14)
    public static let float32 = DataType.wellKnown(23)
    public static let float64 = DataType.wellKnown(24)
    public static let bmp = DataType.wellKnown(27)
    public static let int8 = DataType.wellKnown(65)
    public static let int16 = DataType.wellKnown(66)
    public static let int32 = DataType.wellKnown(67)
    /// Two numbers of 32 bits.
    public static let point = DataType.wellKnown(70)
    /// Width and height, as numbers of 32 bits.
    public static let dimensions = DataType.wellKnown(71)
    /// A point and dimensions, as numbers of 32 bits.
    public static let rect = DataType.wellKnown(72)
    public static let int64 = DataType.wellKnown(74)
    public static let uint8 = DataType.wellKnown(75)
    public static let uint16 = DataType.wellKnown(76)
    public static let uint32 = DataType.wellKnown(77)
    public static let uint64 = DataType.wellKnown(78)
    /// Nine numbers of 64 bits.
    public static let affineTransform = DataType.wellKnown(79)

    /// The types above, by what they are called here.
    private static let names: [(DataType, String)] = [
      (.utf8, "utf8"), (.utf16, "utf16"), (.jpeg, "jpeg"), (.png, "png"), (.float32, "float32"), (.float64, "float64"),
      (.bmp, "bmp"), (.int8, "int8"), (.int16, "int16"), (.int32, "int32"), (.point, "point"),
      (.dimensions, "dimensions"), (.rect, "rect"), (.int64, "int64"), (.uint8, "uint8"), (.uint16, "uint16"),
      (.uint32, "uint32"), (.uint64, "uint64"), (.affineTransform, "affineTransform"),
    ]
  }
}

extension MetadataItem.DataType: CustomStringConvertible {
  /// What the type is called, or its number if it is called nothing here.
  public var description: String {
    switch self {
    case .named(let name): name
    case .wellKnown(let number): Self.names.first { $0.0 == self }?.1 ?? "\(number) of QuickTime"
    }
  }
}

import EditDocument

/// An object of OpenTimelineIO, of whichever schema, with the properties that timelines are made of. One that its
/// schema does not have, and one that is null, is nil.
struct OTIOObject: Codable {
  /// The name and the version, such as `Clip.2`.
  var schema: String
  var name: String?
  var metadata: [String: JSONValue]?

  // Of a timeline.
  var tracks: OTIOBox?
  var globalStartTime: OTIOTime?

  // Of an item or a transition.
  var children: [OTIOObject]?
  var kind: String?
  var sourceRange: OTIORange?
  var effects: [OTIOObject]?
  var markers: [OTIOObject]?
  var enabled: Bool?
  var mediaReference: OTIOBox?
  var mediaReferences: [String: OTIOObject?]?
  var activeMediaReferenceKey: String?
  var inOffset: OTIOTime?
  var outOffset: OTIOTime?
  var transitionType: String?

  // Of an effect.
  var effectName: String?
  var timeScalar: OTIONumber?

  // Of a marker.
  var markedRange: OTIORange?
  var comment: String?
  var color: JSONValue?

  // Of a media reference.
  var targetURL: String?
  var availableRange: OTIORange?
  var generatorKind: String?
  var parameters: [String: JSONValue]?
  var targetURLBase: String?
  var namePrefix: String?
  var nameSuffix: String?
  var startFrame: Int?
  var frameStep: Int?
  var rate: OTIONumber?
  var frameZeroPadding: Int?

  init(_ schema: String, name: String? = nil) { (self.schema, self.name) = (schema, name) }

  private enum CodingKeys: String, CodingKey {
    case schema = "OTIO_SCHEMA"
    case name, metadata, tracks
    case globalStartTime = "global_start_time"
    case children, kind
    case sourceRange = "source_range"
    case effects, markers, enabled
    case mediaReference = "media_reference"
    case mediaReferences = "media_references"
    case activeMediaReferenceKey = "active_media_reference_key"
    case inOffset = "in_offset"
    case outOffset = "out_offset"
    case transitionType = "transition_type"
    case effectName = "effect_name"
    case timeScalar = "time_scalar"
    case markedRange = "marked_range"
    case comment, color
    case targetURL = "target_url"
    case availableRange = "available_range"
    case generatorKind = "generator_kind"
    case parameters
    case targetURLBase = "target_url_base"
    case namePrefix = "name_prefix"
    case nameSuffix = "name_suffix"
    case startFrame = "start_frame"
    case frameStep = "frame_step"
    case rate
    case frameZeroPadding = "frame_zero_padding"
  }

  /// The name without the version.
  var type: String { String(schema.prefix { $0 != "." }) }

  /// The media reference that is in use, of a clip of either version.
  var activeReference: OTIOObject? {
    guard let mediaReferences else { return mediaReference?.object }
    return mediaReferences[activeMediaReferenceKey ?? Self.defaultKey] ?? nil
  }

  /// The names of the files of an image sequence, such as `shots/a.%04d.exr`.
  var sequencePattern: String {
    let base = targetURLBase ?? ""
    let number = (frameZeroPadding ?? 0) > 0 ? "%0\(frameZeroPadding ?? 0)d" : "%d"
    return base + (base.isEmpty || base.hasSuffix("/") ? "" : "/") + (namePrefix ?? "") + number + (nameSuffix ?? "")
  }

  static let defaultKey = "DEFAULT_MEDIA"
}

/// An object within another.
indirect enum OTIOBox: Codable {
  case of(OTIOObject)

  var object: OTIOObject {
    switch self {
    case .of(let object): object
    }
  }

  init(_ object: OTIOObject) { self = .of(object) }
  init(from decoder: any Decoder) throws { self = .of(try OTIOObject(from: decoder)) }
  func encode(to encoder: any Encoder) throws { try object.encode(to: encoder) }
}

/// A number, also one that is not finite. It is written without a needless decimal point.
struct OTIONumber: Codable {
  var value: Double

  init(_ value: Double) { self.value = value }
  init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Double.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let whole = Int64(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
  }
}

struct OTIOTime: Codable {
  var schema = "RationalTime.1"
  var value: OTIONumber
  var rate: OTIONumber

  private enum CodingKeys: String, CodingKey {
    case schema = "OTIO_SCHEMA"
    case value, rate
  }
}

struct OTIORange: Codable {
  var schema = "TimeRange.1"
  var start: OTIOTime
  var duration: OTIOTime

  private enum CodingKeys: String, CodingKey {
    case schema = "OTIO_SCHEMA"
    case start = "start_time"
    case duration
  }
}

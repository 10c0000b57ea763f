import CompositionModel

/// A value that is written in one way, whichever key it is of.
protocol WrittenValue: Sendable {
  var json: JSONValue { get }
}

/// An object of the document as a Swift value.
protocol WrittenObject: WrittenValue {
  /// The properties, each with its key, in the order in which they are written.
  static var properties: [Property<Self>] { get }
}

extension WrittenObject {
  var json: JSONValue { .object(self, Self.properties) }
}

extension Form where Value: WrittenValue {
  init(
    _ type: String, _ schema: JSONValue, _ read: @escaping @Sendable (inout DocumentReader, JSONValue) -> Value?
  ) { self.init(type, schema, write: JSONValue.written, read) }

  /// A form whose schema is one of `SharedForms`.
  static func shared(
    _ type: String, _ name: String, _ read: @escaping @Sendable (inout DocumentReader, JSONValue) -> Value?
  ) -> Form { Form(type, .reference(name), read) }
}

extension JSONValue {
  static func written(_ value: some WrittenValue) -> JSONValue { value.json }
  static func written<Value>(_ value: Value) -> JSONValue where Value: RawRepresentable<String> {
    .text(value.rawValue)
  }
  static func written(_ value: JSONValue) -> JSONValue { value }
}

extension Array: WrittenValue where Element: WrittenValue {
  var json: JSONValue { .array(map(\.json)) }
}

// MARK: Values

extension Document.Time: WrittenValue {}
extension Document.TimeRange: WrittenValue {}
extension Easing: WrittenValue {}
extension Document.Point: WrittenValue {}
extension Document.Rectangle: WrittenValue {}
extension Document.Transform: WrittenValue {}
extension Document.LayerRamp: WrittenValue {}
extension Document.Clip.Speed: WrittenValue {}
extension Document.Clip.End: WrittenValue {}
extension Document.ClipTransition: WrittenValue {}
extension Document.Fade: WrittenValue {}
extension Document.Stabilize: WrittenValue {}
extension Document.Filter: WrittenValue {}
extension Document.AudioFilter: WrittenValue {}
extension Document.Track: WrittenValue {}
extension ColourTags: WrittenValue {}
extension Document.FrameLength: WrittenValue {}
extension Document.Overlay: WrittenValue {}
extension Document.Overlay.Text: WrittenValue {}
extension Document.Overlay.Number: WrittenValue {}
extension Document.Overlay.Area: WrittenValue {}
extension Document.Overlay.Inset: WrittenValue {}
extension Document.Overlay.Loop: WrittenValue {}
extension Document.AudioMix: WrittenValue {}
extension Document.MetadataSource: WrittenValue {}
extension Document.Artwork: WrittenValue {}
extension Document.Video.KeyframeInterval: WrittenValue {}

extension PixelSize: WrittenValue {
  var json: JSONValue { [.integer(width), .integer(height)] }
}

extension AspectRatio: WrittenValue {
  var json: JSONValue { [.integer(horizontal), .integer(vertical)] }
}

extension PixelRect: WrittenValue {
  var json: JSONValue { .array([x, y, size.width, size.height]) }
}

extension PresetChoice: WrittenValue {
  var json: JSONValue { .text(name) }
}

extension Document.Stream: WrittenValue where Settings: WrittenObject {
  var json: JSONValue {
    switch self {
    case .automatic: .boolean(true)
    case .none: .boolean(false)
    case .settings(let settings): settings.json
    }
  }
}

extension Document.TransformParts.Scale: WrittenValue {
  /// One number if it is the same in both directions.
  var json: JSONValue { x == y ? .decimal(x) : [.decimal(x), .decimal(y)] }
}

extension Document.TransitionStyle.Center: WrittenValue {
  var json: JSONValue { [.decimal(x), .decimal(y)] }
}

extension Document.Blending: WrittenValue {
  var json: JSONValue { .text(mode?.rawValue ?? BlendMode.normal) }
}

extension Document.Deinterlace: WrittenValue {
  var json: JSONValue { mode.map { .boolean($0 == .always) } ?? .text("auto") }
}

extension Document.Filter.Parameter: WrittenValue {
  var json: JSONValue { level.json(RampQuantity.valueKey) }
}

extension JSONValue {
  static func frameDuration(_ time: MediaTime) -> JSONValue { Document.Time(time).json }

  /// In the order of the reference.
  static func carried(_ kinds: Set<Document.Carried>) -> JSONValue {
    .array(Document.Carried.allCases.filter(kinds.contains).map(\.rawValue))
  }

  /// In the order of the reference.
  static func manifests(_ manifests: Set<Manifest>) -> JSONValue {
    .array(Manifest.allCases.filter(manifests.contains).map(\.rawValue))
  }
}

extension RampQuantity {
  /// How a number that stays, or ramps of it, are written.
  var written: @Sendable (Document.Level) -> JSONValue { { $0.json(key) } }
}

// MARK: Objects

extension Document: WrittenObject { static var properties: [Property<Document>] { DocumentKeys.properties } }
extension Document.Clip: WrittenObject { static var properties: [Property<Self>] { ClipKeys.properties } }
extension Document.SpeedPoint: WrittenObject { static var properties: [Property<Self>] { SpeedPointKeys.properties } }
extension Document.MediaTrack: WrittenObject { static var properties: [Property<Self>] { TrackKeys.properties } }
extension Document.SubtitleTrack: WrittenObject {
  static var properties: [Property<Self>] { SubtitleTrackKeys.properties }
}
extension Document.SubtitleClip: WrittenObject {
  static var properties: [Property<Self>] { SubtitleTrackKeys.clipProperties }
}
extension Document.MetadataTrack: WrittenObject {
  static var properties: [Property<Self>] { MetadataTrackKeys.properties }
}
extension Document.MetadataValue: WrittenObject {
  static var properties: [Property<Self>] { MetadataTrackKeys.valueProperties }
}
extension Document.TransformParts: WrittenObject {
  static var properties: [Property<Self>] { TransformKeys.properties }
}
extension Document.Mask: WrittenObject { static var properties: [Property<Self>] { MaskKeys.properties } }
extension Document.Transition: WrittenObject { static var properties: [Property<Self>] { TransitionKeys.properties } }
extension Document.VideoComposition: WrittenObject {
  static var properties: [Property<Self>] { VideoCompositionKeys.properties }
}
extension Document.Instruction: WrittenObject { static var properties: [Property<Self>] { InstructionKeys.properties } }
extension Document.Layer: WrittenObject { static var properties: [Property<Self>] { LayerKeys.properties } }
extension Document.Compositor: WrittenObject { static var properties: [Property<Self>] { CompositorKeys.properties } }
extension Document.TrackText: WrittenObject { static var properties: [Property<Self>] { TrackTextKeys.properties } }
extension TextOutline: WrittenObject { static var properties: [Property<Self>] { OutlineKeys.properties } }
extension TextShadow: WrittenObject { static var properties: [Property<Self>] { ShadowKeys.properties } }
extension LayerBorder: WrittenObject { static var properties: [Property<Self>] { BorderKeys.properties } }
extension TextBox: WrittenObject { static var properties: [Property<Self>] { BoxKeys.properties } }
extension Document.TrackMix: WrittenObject {
  static var properties: [Property<Self>] { AudioMixKeys.properties }
  /// Of a mix of the volume alone its number or its ramps.
  var json: JSONValue {
    if let volume, self == Self(volume: volume) { return volume.json(RampQuantity.volume.key) }
    return .object(self, Self.properties)
  }
}
extension Ducking: WrittenObject { static var properties: [Property<Self>] { DuckKeys.properties } }
extension QualityTarget: WrittenObject { static var properties: [Property<Self>] { TargetQualityKeys.properties } }
extension LoudnessTarget: WrittenObject { static var properties: [Property<Self>] { LoudnessKeys.properties } }
extension Document.Captions: WrittenObject { static var properties: [Property<Self>] { CaptionKeys.properties } }
extension Document.Export: WrittenObject { static var properties: [Property<Self>] { ExportKeys.properties } }
extension Document.Video: WrittenObject { static var properties: [Property<Self>] { VideoKeys.properties } }
extension Document.Audio: WrittenObject { static var properties: [Property<Self>] { AudioKeys.properties } }
extension Document.Output: WrittenObject { static var properties: [Property<Self>] { OutputKeys.properties } }
extension Document.Chapter: WrittenObject { static var properties: [Property<Self>] { ChapterKeys.properties } }

public import CompositionModel

/// An edit as its author writes it: the JSON document of `docs/document.md` as a Swift value.
///
/// Each object of a document is a struct, and each of its keys a property with the key's name; what is nil is not
/// written. What a document can say in two ways, such as the duration of a transition alone or in an object, is one
/// value.
public struct Document: Hashable, Sendable {
  /// Where an editor finds the language: `$schema`. It has no effect on the film.
  public var schema: String?
  /// The paths of files by the names that the document has for them.
  public var assets: [AssetID: String] = [:]
  /// The assets that are no files but pictures that are drawn. Their names differ from those of files.
  public var pictures: [AssetID: DrawnPicture] = [:]
  /// The assets that are documents, whose names differ from those of the others.
  public var documents: [AssetID: Nested] = [:]
  /// Times on the film's timeline by name, from which other times count.
  public var markers: [String: Time] = [:]
  /// The first video track is on top.
  public var tracks: [Track] = []

  public var videoComposition = VideoComposition()
  public var audioMix = AudioMix()
  /// Drawn over the film, or tracks of the output.
  public var captions: [Captions] = []
  public var export = Export()

  public init() {}

  // The types of the model that documents have, by names that a program may have for its own.
  public typealias AlphaMode = CompositionModel.AlphaMode
  public typealias Anchor = CompositionModel.Anchor
  public typealias BlendMode = CompositionModel.BlendMode
  public typealias Color = CompositionModel.Color
  public typealias ColorProperties = CompositionModel.ColourTags
  public typealias Gradient = CompositionModel.Gradient
  public typealias Container = CompositionModel.Container
  public typealias Ducking = CompositionModel.Ducking
  public typealias DuckingLevels = CompositionModel.DuckingLevels
  public typealias Fit = CompositionModel.Fit
  public typealias IrisShape = CompositionModel.IrisShape
  public typealias LoudnessTarget = CompositionModel.LoudnessTarget
  public typealias MaskChannel = CompositionModel.LayerMask.Channel
  public typealias NumberRounding = CompositionModel.NumberRounding
  public typealias Picture = CompositionModel.DrawnPicture
  public typealias Preset = PresetChoice
  public typealias ToneCurves = CompositionModel.ToneCurves
  public typealias ToneMapping = CompositionModel.ToneMapping
  public typealias WipeDirection = CompositionModel.WipeDirection

  static let instead = [
    "clips": "clips are listed in a track of 'tracks'", "version": "did you mean 'sheaf'?",
    "output": "did you mean 'export'?", "subtitles": "did you mean 'captions'?",
    "audio": "did you mean 'audioMix'?", "fps": "'frameRate' is a key of 'videoComposition'",
  ]
}

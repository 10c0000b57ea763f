public import CompositionModel
public import EditDocument

extension ExportSettings {
  /// What a preset gives for an edit: AVFoundation's `AVOutputSettingsAssistant`.
  public struct Suggestion: Sendable, Hashable {
    /// The kind of file.
    public var container: Container
    /// The size of a frame as it is stored, in pixels. Nil: there are no pictures.
    public var size: PixelSize?
    /// Seconds from one frame to the next. Nil: there are no pictures, or they are copied.
    public var frameDuration: MediaTime?
    /// Those of the edit with the preset, and with the codecs and whatever else of `video` and `audio` the preset and
    /// the media decide. What the edit sets itself stays.
    public var settings: ExportSettings
  }
}

extension Edit {
  /// The kinds of file to which the edit can be exported with a preset in place of its own: AVFoundation's
  /// `determineCompatibleFileTypes(completionHandler:)` and `compatibility(ofExportPreset:with:outputFileType:)`.
  /// - Parameters:
  ///   - preset: What takes the place of the edit's own preset.
  ///   - assets: What each file contains, such as `Asset.contents`.
  /// - Returns: The suggested one first. Empty: the edit cannot meet the preset, and `suggestedExport` says why.
  public func containers(
    compatibleWith preset: ExportSettings.Preset, assets: [AssetID: AssetDescription]
  ) -> [ExportSettings.Container] {
    do {
      return switch preset {
      case .passthrough: try copied(assets).containers
      case .encode(let preset):
        try SuggestedSettings.containers(of: preset, document: examined(.encode(preset)), assets: assets)
      }
    } catch {
      return []
    }
  }

  /// The presets that the edit can meet, each in at least one kind of file: AVFoundation's
  /// `exportPresets(compatibleWith:)`.
  /// - Parameter assets: As in `containers`.
  public func presets(compatibleWith assets: [AssetID: AssetDescription]) -> [ExportSettings.Preset] {
    ExportSettings.Preset.allCases.filter { !containers(compatibleWith: $0, assets: assets).isEmpty }
  }

  /// The settings that a preset in place of the edit's own gives for it, with every default filled in.
  /// - Parameters:
  ///   - preset: What takes the place of the edit's own preset.
  ///   - assets: As in `containers`.
  /// - Throws: Why the edit cannot meet the preset, with the places.
  public func suggestedExport(
    with preset: ExportSettings.Preset, assets: [AssetID: AssetDescription]
  ) throws(DocumentError) -> ExportSettings.Suggestion {
    var settings = export
    (settings.preset, settings.outputs) = (preset, [])
    switch preset {
    case .passthrough:
      let copied = try copied(assets)
      return ExportSettings.Suggestion(
        container: copied.containers[0], size: copied.video?.video?.size, settings: settings)
    case .encode(let preset):
      let found = try SuggestedSettings(preset: preset, document: examined(.encode(preset)), assets: assets)
      settings.video = found.video.map { .settings((settings.video.own ?? .init()).completed(by: $0)) } ?? .none
      settings.audio = found.audio.map { .settings((settings.audio.own ?? .init()).completed(by: $0)) } ?? .none
      return ExportSettings.Suggestion(
        container: found.container, size: found.size, frameDuration: found.frameDuration, settings: settings)
    }
  }

  private func examined(_ preset: PresetChoice) throws(DocumentError) -> ExaminedDocument {
    try Document.examine(document(), preset: preset)
  }

  private func copied(_ assets: [AssetID: AssetDescription]) throws(DocumentError) -> PassthroughSettings {
    try PassthroughSettings(document: examined(.passthrough), assets: assets)
  }
}

extension ExportSettings.Stream {
  /// What the edit sets. Nil: nothing.
  fileprivate var own: Settings? { if case .settings(let settings) = self { settings } else { nil } }
}

extension ExportSettings.Video {
  fileprivate func completed(by found: VideoSettings) -> Self {
    var video = self
    (video.codec, video.preset) = (found.codec, found.preset)
    // One that is given fixes the keyframes, which no preset does.
    video.pixelFormat = found.pixelFormat
    guard targetQuality == nil else { return video }
    switch found.rateControl {
    case .quality(let value): video.quality = value
    case .averageBitRate(let value): video.bitRate = value
    case .lossless, .profile: break
    }
    return video
  }
}

extension ExportSettings.Audio {
  /// Codecs without a bit rate are those with a bit depth.
  fileprivate func completed(by found: AudioSettings) -> Self {
    ExportSettings.Audio(
      codec: found.codec, bitRate: found.bitRate, sampleRate: found.sampleRate, channels: found.channels,
      bitDepth: found.bitRate == nil ? found.bitDepth : bitDepth, language: language, title: title)
  }
}

/// The presets that encode, by their short names.
extension ExportSettings.Preset {
  /// `AVAssetExportPresetLowQuality`.
  public static var lowQuality: Self { .encode(.lowQuality) }
  /// `AVAssetExportPresetMediumQuality`.
  public static var mediumQuality: Self { .encode(.mediumQuality) }
  /// `AVAssetExportPresetHighestQuality`.
  public static var highestQuality: Self { .encode(.highestQuality) }
  /// `AVAssetExportPreset640x480`.
  public static var size640x480: Self { .encode(.size640x480) }
  /// `AVAssetExportPreset960x540`.
  public static var size960x540: Self { .encode(.size960x540) }
  /// `AVAssetExportPreset1280x720`.
  public static var size1280x720: Self { .encode(.size1280x720) }
  /// `AVAssetExportPreset1920x1080`.
  public static var size1920x1080: Self { .encode(.size1920x1080) }
  /// `AVAssetExportPreset3840x2160`.
  public static var size3840x2160: Self { .encode(.size3840x2160) }
  /// `AVAssetExportPresetHEVCHighestQuality`.
  public static var hevcHighestQuality: Self { .encode(.hevcHighestQuality) }
  /// `AVAssetExportPresetHEVC1920x1080`.
  public static var hevc1920x1080: Self { .encode(.hevc1920x1080) }
  /// `AVAssetExportPresetHEVC3840x2160`.
  public static var hevc3840x2160: Self { .encode(.hevc3840x2160) }
  /// `AVAssetExportPresetHEVC7680x4320`.
  public static var hevc7680x4320: Self { .encode(.hevc7680x4320) }
  /// `AVAssetExportPresetAppleProRes422LPCM`.
  public static var appleProRes422LPCM: Self { .encode(.appleProRes422LPCM) }
  /// `AVAssetExportPresetAppleProRes4444LPCM`.
  public static var appleProRes4444LPCM: Self { .encode(.appleProRes4444LPCM) }
  /// `AVAssetExportPresetAppleM4A`.
  public static var appleM4A: Self { .encode(.appleM4A) }
}

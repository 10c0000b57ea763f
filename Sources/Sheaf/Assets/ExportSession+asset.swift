public import CompositionModel
public import EditDocument
public import FoundationEssentials

extension ExportSession {
  /// Exports a whole file, or a part of it, with a preset: AVFoundation's `AVAssetExportSession(asset:presetName:)`.
  ///
  ///     let film = try await ExportSession(asset, preset: .size1280x720, to: url).export()
  ///
  /// The file is probed, and the tracks are those that players play. The film has the metadata of the file.
  /// - Parameters:
  ///   - asset: The file. It has a duration; a still picture has none.
  ///   - preset: What the film is for. Of `passthrough` the tracks are copied, with all else that the file has.
  ///   - url: The film's place, whose extension selects the container.
  ///   - timeRange: On the asset's timeline. Nil: all of it.
  ///   - place: Where the work is done. Nil: on this machine, by the renderer of the asset.
  /// - Throws: `.invalidMedia` if the file cannot be probed, `.invalidEdit` if it has nothing to export.
  public convenience init(
    _ asset: Asset, preset: ExportSettings.Preset, to url: URL, timeRange: MediaTimeRange? = nil,
    on place: Place? = nil
  ) async throws(SheafError) {
    var edit = Edit()
    let source = edit.add(try await asset.load())
    do {
      try edit.composition.insert(source.whole())
    } catch {
      throw SheafError(.invalidEdit, "\(asset.path) cannot be exported: \(error)")
    }
    edit.export.preset = preset
    edit.export.timeRange = timeRange
    // A copy has them anyway.
    if preset != .passthrough { edit.export.carriedMetadata = .asset(source.id) }
    self.init(edit, to: url, on: place ?? .local(asset.renderer))
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

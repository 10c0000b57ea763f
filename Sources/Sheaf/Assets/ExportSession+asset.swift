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

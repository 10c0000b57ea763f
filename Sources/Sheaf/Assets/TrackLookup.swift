public import CompositionModel
import EditDocument

/// The tracks of a file by what they are: AVFoundation's `loadTracks(withMediaType:)`, `loadTrack(withTrackID:)`,
/// `loadTracks(withMediaCharacteristic:)` and `AVMediaSelectionGroup.mediaSelectionOptions(from:with:)`.
extension AssetDescription {
  /// The tracks of a type, in the file's order.
  /// - Parameters:
  ///   - type: The type of every track.
  ///   - language: The code of ISO 639-2 of their language, such as `deu` or `ger`. Nil: whatever language.
  ///   - characteristic: What they are for, in libavformat's names, such as `forced`, `comment` or `hearing_impaired`.
  ///     Nil: whatever they are for.
  public func tracks(
    _ type: MediaType, language: String? = nil, characteristic: String? = nil
  ) -> [TrackDescription] {
    tracks.filter { track in
      guard track.type == type else { return false }
      if let language, !(track.language.map { Languages.areEqual($0, language) } ?? false) { return false }
      return characteristic.map { track.characteristics?.contains($0) ?? false } ?? true
    }
  }

  /// The track with the container's own number, such as a QuickTime track's ID. Nil: there is none.
  /// - Parameter id: `TrackDescription.id`.
  public func track(id: Int) -> TrackDescription? { tracks.first { $0.id == id } }
}

/// A whole edit: what a document means, with every default filled in. Planning needs the edit and the descriptions of
/// its assets, and nothing else.
public struct Edit: Sendable, Hashable, Codable {
  public var composition: Composition
  public var videoComposition: VideoComposition
  public var audioMix: AudioMix
  public var export: ExportSettings
  /// Over the film, and its text tracks, in the order of the document. Nil: none.
  public var captions: [Captions]?
  /// The tracks whose values compositors are given. Nil: none.
  public var metadata: [MetadataTrack]?
  /// The outputs, of which `export` and `captions` are those of the first one with pictures. Nil: there is one output.
  public var outputs: [EditOutput]?
  /// The assets that are no files: pictures that are drawn, and captions that are listed. Nil: none.
  public var drawn: [AssetID: AssetDescription]?
  /// The assets that are no files but edits. Nil: none. The files of an edit `intro` have names that begin with
  /// `intro/`.
  public var nested: [AssetID: NestedEdit]?

  public init(
    composition: Composition, videoComposition: VideoComposition, audioMix: AudioMix, export: ExportSettings
  ) {
    self.composition = composition
    self.videoComposition = videoComposition
    self.audioMix = audioMix
    self.export = export
  }

  /// The part of the composition that is exported: all of it, or the settings' `timeRange`.
  public var exportedRange: MediaTimeRange {
    get throws(TimeError) {
      if let range = export.timeRange { return range }
      return try MediaTimeRange(start: .zero, end: composition.duration)
    }
  }

  /// The frames of the output: exactly ceil(duration of the exported range / frameDuration).
  public var frameCount: Int {
    get throws(TimeError) {
      guard let count = Int(exactly: try (exportedRange.duration / videoComposition.frameDuration).ceiling) else {
        throw .overflow
      }
      return count
    }
  }
}

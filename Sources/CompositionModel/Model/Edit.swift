/// A whole edit, lowered: what a document or the Swift API comes down to, and all that planning needs beside the
/// descriptions of its assets.
public struct Edit: Sendable, Hashable, Codable {
  public var composition: Composition
  public var videoComposition: VideoComposition
  public var audioMix: AudioMix
  public var export: ExportSettings

  public init(
    composition: Composition, videoComposition: VideoComposition, audioMix: AudioMix, export: ExportSettings
  ) {
    self.composition = composition
    self.videoComposition = videoComposition
    self.audioMix = audioMix
    self.export = export
  }

  /// Exactly ceil(duration / frameDuration) (DESIGN 1.2).
  public var frameCount: Int {
    get throws(TimeError) {
      guard let count = Int(exactly: try (composition.duration / videoComposition.frameDuration).ceiling) else {
        throw .overflow
      }
      return count
    }
  }
}

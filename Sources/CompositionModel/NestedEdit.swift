/// An edit that is an asset of another one. Its film is what the asset shows and plays: rendered wherever it is shown,
/// and stored nowhere.
public struct NestedEdit: Sendable, Hashable, Codable {
  /// Of what it exports, its range alone counts: the pictures are in the format of the film that shows them, and the
  /// sound has its sample rate.
  public var edit: Edit
  /// Whether its backgrounds are not drawn, so that what is below is seen where it has no picture.
  public var isTransparent: Bool
  /// What it is as an asset.
  public var contents: AssetDescription

  /// Throws if its length cannot be computed exactly.
  public init(_ edit: Edit, isTransparent: Bool = false) throws(TimeError) {
    self.edit = edit
    self.isTransparent = isTransparent
    contents = try AssetDescription(edit, isTransparent: isTransparent)
  }
}

extension AssetDescription {
  /// The container of an edit that is an asset.
  public static let nestedContainer = "sheaf"

  /// A film as a file would have it: pictures of a constant rate, each a tick, and sound.
  fileprivate init(_ edit: Edit, isTransparent: Bool) throws(TimeError) {
    let duration = try edit.exportedRange.duration
    let range = try MediaTimeRange(start: .zero, duration: duration)
    var tracks: [TrackDescription] = []
    if let settings = edit.export.video {
      let frameDuration = edit.videoComposition.frameDuration
      var format = VideoFormat(
        size: edit.videoComposition.renderSize,
        pixelFormat: isTransparent ? "yuva444p10le" : settings.pixelFormat.rawValue,
        bitDepth: isTransparent ? 10 : settings.pixelFormat.bitDepth, hasAlpha: isTransparent, colour: settings.colour,
        nominalFrameRate: try MediaTime(.one / frameDuration.exact),
        frames: FrameTimes(count: try edit.frameCount), keyframes: [])
      format.hdr = settings.hdr
      tracks.append(
        TrackDescription(index: 0, type: .video, codec: "sheaf", timebase: frameDuration, range: range, video: format))
    }
    if let settings = edit.export.audio ?? edit.outputs?.lazy.compactMap(\.export.audio).first {
      let format = AudioFormat(
        sampleRate: settings.sampleRate, channels: settings.channels,
        layout: SpeakerLayout.usual(settings.channels)?.rawValue ?? "")
      tracks.append(
        TrackDescription(
          index: tracks.count, type: .audio, codec: "sheaf",
          timebase: MediaTime(value: 1, timescale: Int32(settings.sampleRate)),
          range: range, audio: format))
    }
    self.init(container: Self.nestedContainer, duration: duration, tracks: tracks)
  }
}

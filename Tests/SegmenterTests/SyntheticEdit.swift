import CompositionModel

@testable import RenderTasks
@testable import Segmenter

/// Small edits of assets that exist only as descriptions.
enum Synthetic {
  static func range(_ start: Int64, _ end: Int64, _ timescale: Int32 = 1) throws -> MediaTimeRange {
    try MediaTimeRange(
      start: MediaTime(value: start, timescale: timescale), end: MediaTime(value: end, timescale: timescale))
  }

  /// The fonts of an edit's texts: one font with an invented digest for all of a text.
  static func fonts(_ edit: Edit) -> [FontRequest: TextFonts] {
    var fonts: [FontRequest: TextFonts] = [:]
    for overlay in edit.videoComposition.overlays {
      guard case .text(let text) = overlay.content else { continue }
      let font = PlannedFont(
        digest: "font", index: 0, format: "TrueType", weight: 80, slant: 0, variations: "", isColor: false,
        pictureSize: nil)
      fonts[text.fontRequest] = TextFonts(fonts: [font], runs: [FontRun(length: text.text.utf8.count, font: 0)])
    }
    return fonts
  }

  /// A film of constant rate with a keyframe every `interval` frames; timestamps start at `origin`.
  static func film(
    frames: Int, rate: Int32 = 30, interval: Int = 60, size: PixelSize = PixelSize(width: 1280, height: 720),
    origin: Int64 = 0
  ) throws -> AssetDescription {
    let duration = try MediaTimeRange(start: .zero, duration: MediaTime(value: Int64(frames), timescale: rate))
    let times = (0..<Int64(frames)).map { $0 * 512 + origin }
    let video = VideoFormat(
      size: size, pixelFormat: "yuv420p", nominalFrameRate: MediaTime(seconds: Int64(rate)),
      frames: FrameTimes(times),
      keyframes: stride(from: 0, to: frames, by: interval).map {
        Keyframe(pts: times[$0], dts: times[$0] - 1024, position: Int64($0) * 1000)
      })
    return AssetDescription(
      container: "mov", duration: duration.duration,
      tracks: [
        TrackDescription(
          index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: rate * 512),
          origin: origin, range: duration, video: video),
        TrackDescription(
          index: 1, type: .audio, codec: "aac", timebase: MediaTime(value: 1, timescale: 48000), range: duration,
          audio: AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo")),
      ])
  }

  static func still() throws -> AssetDescription {
    let video = VideoFormat(
      size: PixelSize(width: 200, height: 100), pixelFormat: "rgba", hasAlpha: true, nominalFrameRate: .zero,
      frames: FrameTimes([0]), keyframes: [Keyframe(pts: 0, dts: 0, position: 0)], isStill: true)
    return AssetDescription(
      container: "png_pipe", duration: .zero,
      tracks: [
        TrackDescription(
          index: 0, type: .video, codec: "png", timebase: MediaTime(value: 1, timescale: 25),
          range: try MediaTimeRange(start: .zero, duration: .zero), video: video)
      ])
  }

  static func assets(_ descriptions: [AssetID: AssetDescription]) -> [AssetID: PlannedAsset] {
    Dictionary(
      uniqueKeysWithValues: descriptions.map { ($0, PlannedAsset(description: $1, digest: "digest of \($0)")) })
  }

  static func clip(_ asset: AssetID, use: MediaTimeRange, at target: MediaTimeRange) -> Clip {
    Clip(asset: asset, sourceTrack: 0, source: use, target: target)
  }

  /// Tracks shown one over the other, first on top, through one instruction.
  static func edit(
    tracks: [CompositionTrack], frameDuration: MediaTime = MediaTime(value: 1, timescale: 30),
    layers: [Layer]? = nil, overlays: [Overlay] = [], codec: VideoCodec = .h264, interval: Int = 60
  ) throws -> Edit {
    let composition = Composition(tracks: tracks)
    let whole = try MediaTimeRange(start: .zero, duration: composition.duration)
    let shown = tracks.filter { $0.type == .video }.map { Layer.track(TrackLayer(track: $0.id)) }
    return Edit(
      composition: composition,
      videoComposition: VideoComposition(
        renderSize: PixelSize(width: 1280, height: 720), frameDuration: frameDuration,
        instructions: [Instruction(over: whole, background: .black, layers: layers ?? shown)], overlays: overlays),
      audioMix: AudioMix(),
      export: ExportSettings(
        path: "out.mp4", container: .mp4,
        video: VideoSettings(
          codec: codec, rateControl: codec == .ffv1 ? .lossless : .quality(23),
          preset: codec == .ffv1 ? nil : "medium", profile: nil, keyframeInterval: interval, pixelFormat: .yuv420p,
          colour: ColourTags()),
        audio: AudioSettings(codec: .aac, bitRate: 128_000, sampleRate: 44100, channels: 2)))
  }
}

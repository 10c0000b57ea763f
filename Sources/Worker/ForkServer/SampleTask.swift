import CompositionModel
import FoundationEssentials
import RenderTasks
import SystemSupport

/// A task of a usual shape, which the fork server reads before it forks. How a type conforms to a protocol is looked up
/// by Swift's runtime at its first use in a process, in all libraries: a third of the time of a short task. What the
/// fork server has looked up, task processes inherit.
enum SampleTask {
  /// Writes the task and reads it. Throws what the encoder or the decoder throws.
  static func read() throws {
    let second = try MediaTimeRange(start: .zero, duration: MediaTime(value: 1, timescale: 1))
    for payload in [TaskPayload.video(video(second)), .audio(audio(second))] {
      let bytes = try JSONCoding.encoder.encode(payload)
      _ = try JSONDecoder().decode(TaskPayload.self, from: bytes)
    }
  }

  private static func video(_ second: MediaTimeRange) -> VideoTask {
    let frameDuration = MediaTime(value: 1, timescale: 25)
    let (size, colour) = (PixelSize(width: 64, height: 36), ColourTags())
    let format = VideoFormat(
      size: size, pixelFormat: "yuv420p", nominalFrameRate: frameDuration, frames: FrameTimes([]),
      keyframes: [Keyframe(pts: 0, dts: 0, position: 0)])
    let source = PlannedSource(
      digest: "", track: 0, codec: "h264", timebase: frameDuration, origin: 0, decodeFrom: format.keyframes.first,
      video: format)
    let clip = ClipLayer(source: 0, sourceRange: second, targetRange: second, fit: .contain, opacity: .one)
    let encoder = VideoSettings(
      codec: .h264, rateControl: .quality(23), preset: "medium", profile: nil, keyframeInterval: 50,
      pixelFormat: .yuv420p, colour: colour)
    return VideoTask(
      format: VideoTaskFormat(size: size, pixelFormat: .yuv420p, colour: colour, frameDuration: frameDuration),
      renditions: [VideoRendition(size: size, encoder: encoder)], frameCount: 25,
      spans: [Span(frames: 0..<25, background: .black, layers: [.clip(clip)])], overlays: [], sources: [source])
  }

  private static func audio(_ second: MediaTimeRange) -> AudioTask {
    let format = AudioFormat(sampleRate: 48000, channels: 2, layout: "stereo")
    let source = PlannedAudioSource(digest: "", track: 1, timebase: second.duration, origin: 0, audio: format)
    let clip = PlannedAudioClip(source: 0, sourceRange: second, targetRange: second)
    let encoder = AudioSettings(codec: .aac, bitRate: 128_000, sampleRate: 48000, channels: 2)
    return AudioTask(
      mixes: [
        AudioMixdown(
          encoder: encoder, sampleCount: 48000, tracks: [PlannedAudioTrack(volume: .one, clips: [clip])],
          sources: [source])
      ])
  }
}

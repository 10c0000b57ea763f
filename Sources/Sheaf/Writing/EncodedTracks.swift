import CompositionModel
import Media
import RenderTasks
import Stitcher
import SystemSupport

extension TrackWriter {
  /// An encoded track as one that is copied: it is joined to a file of its own first, where the container's rules for
  /// its delay are applied.
  func encodedPart(
    from start: MediaTime, to end: MediaTime?, in container: Container
  ) throws -> StoredTrackWriter.Part {
    switch self {
    case .video(let video):
      let frames = try video.finish(start: start, end: end)
      let track = try part(video, nil, lasting: video.duration, label: video.label, in: container)
      return StoredTrackWriter.Part(track: track, pictures: frames)
    case .audio(let audio):
      let samples = try audio.finish()
      let track = try part(nil, audio, lasting: audio.duration, label: audio.label, in: container)
      return StoredTrackWriter.Part(track: track, samples: samples)
    case .stored(let track): return try track.part(from: start, to: end, in: container)
    }
  }

  private func part(
    _ video: VideoTrackWriter?, _ audio: AudioTrackWriter?, lasting duration: MediaTime, label: TrackLabel?,
    in container: Container
  ) throws -> CopiedFilm.Track {
    let file = try OpenFile.unnamed()
    try WriterPlan.join(
      video, audio, container: container, optimizeForNetworkUse: false, metadata: [:], to: file.descriptor)
    let packets = try StoredPackets(
      file.source(), name: "an encoded track", track: 0, codec: nil, timebase: nil, discontinuities: nil, from: nil,
      liveness: nil)
    let ticks = try (duration.exact / packets.format.timebase.exact).rounded
    let clip = PassthroughTask.Clip(
      digest: "", track: 0, codec: packets.format.codec, timebase: packets.format.timebase, discontinuities: nil,
      from: nil, start: 0, end: Int64(clamping: ticks), target: 0)
    var plan = PassthroughTask.Track(type: type, clips: [clip], duration: duration, label: label)
    plan.cleanAperture = video?.cleanAperture
    return CopiedFilm.Track(plan) { _ in packets }
  }
}

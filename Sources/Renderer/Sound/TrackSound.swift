import CMedia
import CompositionModel
import Segmenter

/// One track of the mix: its clips one after another, each opened when it is first heard and let go after its last
/// sample, and the volume over them.
struct TrackSound {
  private let volume: VolumeCurve
  private let clips: [(placement: ClipPlacement, clip: PlannedAudioClip)]
  private var next = 0
  private var playing: ClipOpener.Playing?

  init(_ track: PlannedAudioTrack, rate: Int, sampleCount: Int64) throws(TimeError) {
    volume = try VolumeCurve(track.volume, rate: rate)
    var clips: [(placement: ClipPlacement, clip: PlannedAudioClip)] = []
    for clip in track.clips {
      let placement = try ClipPlacement(clip, rate: rate, sampleCount: sampleCount)
      if !placement.output.isEmpty { clips.append((placement, clip)) }
    }
    self.clips = clips
  }

  /// Adds what the track plays during `samples` to `mix`, whose first sample is the first of `samples`. To be called
  /// for one block after another; `scratch` holds as many samples as `mix`.
  mutating func add(
    _ samples: Range<Int64>, to mix: SampleBlock, scratch: SampleBlock, opening: ClipOpener
  ) throws(RenderError) {
    while next < clips.count, clips[next].placement.output.lowerBound < samples.upperBound {
      let (placement, clip) = clips[next]
      let heard = placement.output.clamped(to: samples)
      if !heard.isEmpty {
        let current: ClipOpener.Playing
        if let playing { current = playing } else { current = try opening.open(clip, placement) }
        playing = current
        let offset = Int(heard.lowerBound - samples.lowerBound)
        try current.sound.read(into: scratch, SampleRange(start: offset, count: heard.count))
        try mixIn(heard, scratch, to: mix, origin: samples.lowerBound)
      }
      guard placement.output.upperBound <= samples.upperBound else { return }
      if let playing { opening.close(playing) }
      playing = nil
      next += 1
    }
  }

  private func mixIn(
    _ samples: Range<Int64>, _ block: SampleBlock, to mix: SampleBlock, origin: Int64
  ) throws(RenderError) {
    let runs: [VolumeCurve.Run]
    do { runs = try volume.runs(in: samples) } catch { throw RenderError(soundTime: error) }
    for run in runs {
      let (start, count) = (Int(run.samples.lowerBound - origin), run.samples.count)
      for channel in 0..<mix.channels {
        let (to, from) = (mix.row(channel) + start, block.row(channel) + start)
        switch run.shape {
        case .constant(1): sheaf_mix_add(to, from, count)
        case .constant(let gain): sheaf_mix_scaled(to, from, gain, count)
        case .line(let start, let rise, let first, let step, let whole):
          sheaf_mix_line(to, from, start, rise, first, step, whole, count)
        }
      }
    }
  }
}

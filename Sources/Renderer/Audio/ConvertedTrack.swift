package import CompositionModel
package import Media
import RenderTasks

/// The samples of a file's track at another rate and with other channels, in order, as a mix would have them. Where the
/// track has nothing there is silence.
package final class ConvertedTrack {
  /// Samples of each channel in a block.
  private static let capacity = 4096

  private let stream: any SampleStream
  private let channels: Int
  private var position: Int64
  private let end: Int64

  /// - Parameters:
  ///   - track: A track with sound.
  ///   - audio: The format of the track.
  ///   - channels: 1 to 8, or as many as the track has.
  ///   - positions: The samples that are read, counted at `sampleRate` from time zero of the asset's timeline. They are
  ///     the same as in a longer range.
  package init(
    _ track: TrackDescription, _ audio: AudioFormat, input: any ByteSource, sampleRate: Int, channels: Int,
    positions: Range<Int64>
  ) throws(RenderError) {
    self.channels = channels
    (position, end) = (positions.lowerBound, positions.upperBound)
    let planned = PlannedAudioSource(
      digest: "", track: track.index, timebase: track.timebase, origin: track.origin,
      discontinuities: track.discontinuities, audio: audio)
    let source = DecodedTrack(planned, input: input)
    // Speakers that have only another name are not mixed.
    let plan = channels == audio.channels ? ChannelPlan.same : ChannelPlan(from: audio, to: channels)
    if plan == .same, sampleRate == audio.sampleRate {
      stream = CopiedStream(source, from: positions.lowerBound)
    } else {
      stream = try ConvertedStream(
        source, plan: plan, start: .zero, speed: .one, skipping: positions.lowerBound, outputRate: sampleRate,
        outputChannels: channels)
    }
  }

  /// The next samples and the position of the first of them; nil after the last.
  package func next() throws(RenderError) -> (position: Int64, samples: SampleBlock)? {
    guard position < end else { return nil }
    let count = Int(min(Int64(Self.capacity), end - position))
    let block = SampleBlock(channels: channels, capacity: count)
    try stream.read(into: block, SampleRange(start: 0, count: count))
    defer { position += Int64(count) }
    return (position, block)
  }
}

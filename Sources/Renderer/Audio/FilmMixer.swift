import CKernels
import CompositionModel
import Media
import RenderTasks

/// The tracks of a mix, mixed from the first sample of the output on, or, if a sample depends on all before it, from
/// that of the composition. After the last there is silence.
final class FilmMixer {
  private enum Part {
    case track(TrackMixer)
    /// `under` is the number of the track that it is lowered under.
    case bus(TrackBus, under: Int?)
  }

  private var parts: [Part] = []
  /// A track after that which it is lowered under.
  private let order: [Int]
  private let opener: ClipOpener
  private let scratch: SampleBlock
  /// The sample of the composition that is mixed next.
  private(set) var position: Int64

  /// - Parameter capacity: How many samples are mixed at a time at most.
  init(_ mix: AudioMixdown, opening opener: ClipOpener, capacity: Int) throws(RenderError) {
    self.opener = opener
    scratch = SampleBlock(channels: mix.channels, capacity: capacity)
    order = try Self.order(of: mix.tracks)
    let firstSample = mix.firstSample ?? 0
    let samples = (mix.hasState ? 0 : firstSample)..<(firstSample + mix.sampleCount)
    position = samples.lowerBound
    let keys = Set(mix.tracks.compactMap { $0.ducking?.under })
    for (number, track) in mix.tracks.enumerated() {
      let isPlain =
        track.pan == nil && track.filters == nil && track.ducking == nil && track.lanes == nil && !keys.contains(number)
      guard isPlain else {
        let bus = try TrackBus(track, mix, samples, opening: opener, capacity: capacity)
        parts.append(.bus(bus, under: track.ducking?.under))
        continue
      }
      let mixer = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
        try TrackMixer(
          track.clips, volume: track.volume, fades: track.fades, rate: mix.sampleRate,
          samples: samples)
      }
      parts.append(.track(mixer))
    }
  }

  /// Mixes the next `count` samples into the first of `mix`, which has the mixer's capacity.
  func mix(_ count: Int, into mix: SampleBlock) throws(RenderError) {
    let samples = position..<position + Int64(count)
    mix.clear(0, count)
    for number in order {
      switch parts[number] {
      case .track(var mixer):
        try mixer.add(samples, to: mix, scratch: scratch, opening: opener)
        parts[number] = .track(mixer)
      case .bus(let bus, let under):
        var key: TrackBus?
        if let under, case .bus(let other, _) = parts[under] { key = other }
        try bus.render(samples, under: key)
        for channel in 0..<mix.channels { sheaf_mix_add(mix.row(channel), bus.block.row(channel), count) }
      }
    }
    position = samples.upperBound
  }

  private static func order(of tracks: [PlannedAudioTrack]) throws(RenderError) -> [Int] {
    var order: [Int] = []
    var isOrdered = [Bool](repeating: false, count: tracks.count)
    while order.count < tracks.count {
      let before = order.count
      for (number, track) in tracks.enumerated() where !isOrdered[number] {
        if let under = track.ducking?.under {
          guard tracks.indices.contains(under) else {
            throw RenderError(.task, "track \(number) is lowered under track \(under), which the mix does not have")
          }
          if !isOrdered[under] { continue }
        }
        isOrdered[number] = true
        order.append(number)
      }
      guard order.count > before else { throw RenderError(.task, "tracks are lowered under each other in a circle") }
    }
    return order
  }
}

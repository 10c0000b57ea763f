import CKernels
import CompositionModel
import Media
import RenderTasks

/// A track that is changed as a whole, or that others are lowered under: its lanes are mixed and filtered, and then get
/// the track's volume, pan and ducking.
final class TrackBus {
  private let sound: any SampleStream
  private let raw: SampleBlock
  private let volume: VolumeCurve
  private let pan: PanCurve?
  private var ducking: DuckingGain?
  /// The track as it is in the mix, from the block's first sample on.
  let block: SampleBlock

  /// - Parameters:
  ///   - samples: The samples of the composition that are rendered.
  ///   - capacity: How many samples are rendered at a time at most.
  init(
    _ track: PlannedAudioTrack, _ mix: AudioMixdown, _ samples: Range<Int64>, opening opener: ClipOpener, capacity: Int
  ) throws(RenderError) {
    let (rate, channels) = (mix.sampleRate, mix.channels)
    var lanes = [PlannedAudioLane(fades: track.fades, clips: track.clips)]
    lanes += track.lanes ?? []
    let mixers = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      try lanes.map { lane throws(TimeError) in
        try TrackMixer(lane.clips, volume: .one, fades: lane.fades, rate: rate, samples: samples)
      }
    }
    let mixed = LanesStream(mixers, from: samples.lowerBound, opening: opener, channels: channels, capacity: capacity)
    let filters = track.filters ?? []
    sound = filters.isEmpty ? mixed : try FilteredStream(mixed, filters, sampleRate: rate, channels: channels)
    (volume, pan) = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      (
        try VolumeCurve(track.volume, rate: rate),
        try track.pan.map { pan throws(TimeError) in try PanCurve(pan, rate: rate) }
      )
    }
    ducking = track.ducking.map { DuckingGain($0.levels, sampleRate: rate) }
    raw = SampleBlock(channels: channels, capacity: capacity)
    block = SampleBlock(channels: channels, capacity: capacity)
  }

  /// Renders the next samples into `block`. Successive calls pass successive ranges.
  /// - Parameter key: The track that this one is lowered under, with the same samples rendered.
  func render(_ samples: Range<Int64>, under key: TrackBus?) throws(RenderError) {
    try sound.read(into: raw, SampleRange(start: 0, count: samples.count))
    block.clear(0, samples.count)
    try volume.add(samples, of: raw, to: block, origin: samples.lowerBound)
    try pan?.apply(samples, to: block, origin: samples.lowerBound)
    if let key { ducking?.apply(to: block, under: key.block, count: samples.count) }
  }
}

/// The lanes of a track mixed, from one sample of the composition on.
private final class LanesStream: SampleStream {
  private var lanes: [TrackMixer]
  private let opener: ClipOpener
  private let (mix, scratch): (SampleBlock, SampleBlock)
  private var position: Int64

  init(_ lanes: [TrackMixer], from position: Int64, opening opener: ClipOpener, channels: Int, capacity: Int) {
    self.position = position
    self.lanes = lanes
    self.opener = opener
    mix = SampleBlock(channels: channels, capacity: capacity)
    scratch = SampleBlock(channels: channels, capacity: capacity)
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      let count = min(mix.capacity, range.count - filled)
      let samples = position..<position + Int64(count)
      mix.clear(0, count)
      for index in lanes.indices { try lanes[index].add(samples, to: mix, scratch: scratch, opening: opener) }
      block.copy(mix, from: 0, to: range.start + filled, count: count)
      position += Int64(count)
      filled += count
    }
  }
}

/// How far a track is lowered under another, from sample to sample.
struct DuckingGain {
  private var state = SheafDucking(position: 0, held: 0)
  private let threshold: Float
  private let hold: Int64
  private let (attack, release): (Double, Double)
  private let gain: Double

  init(_ levels: DuckingLevels, sampleRate: Int) {
    func step(_ seconds: Double) -> Double { seconds > 0 ? min(1, 1 / (seconds * Double(sampleRate))) : 1 }
    threshold = Float(amplitude(levels.threshold))
    hold = Int64((levels.hold * Double(sampleRate)).rounded())
    (attack, release) = (step(levels.attack), step(levels.release))
    gain = amplitude(levels.by)
  }

  /// Lowers the next samples of a track.
  mutating func apply(to block: SampleBlock, under key: SampleBlock, count: Int) {
    let channels = Int32(block.channels)
    key.withConstantRows { keys in
      block.withRows(from: 0) { rows in
        sheaf_duck(&state, UnsafePointer(rows), channels, keys, count, threshold, hold, attack, release, gain)
      }
    }
  }
}

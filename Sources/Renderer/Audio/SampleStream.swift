import CompositionModel
import Media
import RenderTasks

/// Samples that are read in order, a part of a block at a time. A stream never ends: after its last sample it is
/// silent.
protocol SampleStream: AnyObject {
  /// Fills `range` of every channel of `block` with the next samples.
  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// A stream that starts before the first requested sample, because its first samples depend on those before them.
protocol RunUpStream: SampleStream {
  /// How many samples are still to be received before the first requested one.
  var discarded: Int { get set }

  /// Receives at least one sample, and at most `capacity`.
  func receive(into block: SampleBlock, start: Int, capacity: Int) throws(RenderError) -> Int
}

extension RunUpStream {
  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    while discarded > 0 {
      // Dropped samples are written where the requested ones overwrite them.
      discarded -= try receive(into: block, start: range.start, capacity: min(discarded, range.count))
    }
    var filled = 0
    while filled < range.count {
      filled += try receive(into: block, start: range.start + filled, capacity: range.count - filled)
    }
  }
}

/// A track's samples at the track's own rate and channels.
protocol SampleSource: AnyObject {
  /// Samples a second.
  var sampleRate: Int { get }
  var channels: Int { get }

  /// Fills `range` of every channel of `block` with the samples from `position` on, where 0 is time zero of the asset's
  /// timeline, and with silence if the track has none. A position before the last one read is slow: it seeks.
  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// A source that clips read one after the other.
protocol SharedSource: SampleSource {
  /// Whether this position is read without beginning again: samples before it are made and dropped.
  func isNear(_ position: Int64) -> Bool
}

/// A part of a block.
struct SampleRange {
  var start: Int
  var count: Int
}

/// A source's samples as they are, from one position on.
final class CopiedStream: SampleStream {
  private let source: any SampleSource
  private var position: Int64

  init(_ source: any SampleSource, from position: Int64) {
    self.source = source
    self.position = position
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    try source.read(at: position, into: block, range)
    position += Int64(range.count)
  }
}

/// A track of a file as continuous samples: silence if the file has none.
final class DecodedTrack: SharedSource {
  /// How many samples before the last one read are kept. A clip that continues where another ended starts a little
  /// earlier, to fill its filters, and can then be read without a seek.
  private static let history: Int64 = 16384

  let sampleRate: Int
  let channels: Int
  private let input: any ByteSource
  private let liveness: Liveness?
  private let planned: PlannedAudioSource
  private let name: String
  private var reader: AudioReader?
  /// The latest decoded blocks, in order.
  private var recent: [AudioBlock] = []
  private var recentCount: Int64 = 0
  /// Every sample in [readable, decoded) is in `recent`, or is silence.
  private var readable: Int64 = 0
  private var decoded: Int64 = 0
  private let damage: DamageLog?
  /// The positions of damaged packets that have been decoded and are not recorded.
  private var damaged: [Int64] = []

  /// - Parameters:
  ///   - liveness: Advanced with every packet that is read and every block of samples that is decoded.
  ///   - damage: Receives the damaged packets whose samples are read.
  init(
    _ planned: PlannedAudioSource, input: any ByteSource, liveness: Liveness? = nil, damage: DamageLog? = nil
  ) {
    self.damage = damage
    self.liveness = liveness
    self.planned = planned
    self.input = input
    sampleRate = planned.audio.sampleRate
    channels = planned.audio.channels
    name = "track \(planned.track) of \(planned.digest.prefix(12))"
  }

  /// Whether this position is read without opening the file again: samples before it are decoded and dropped. Only
  /// codecs with a bit depth are lossless and can be sought in. With any other, a new reader would start at the file's
  /// head, which is farther away.
  func isNear(_ position: Int64) -> Bool {
    guard reader != nil, position >= readable else { return false }
    return planned.audio.bitDepth == nil || position - decoded <= Int64(sampleRate) * 2
  }

  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    if !isNear(position) { try open(at: position) }
    var (at, start) = (position, range.start)
    let end = range.start + range.count
    while start < end {
      let next = try run(at: at)
      let count = Int(min(Int64(end - start), next.end - at))
      if let found = next.block {
        block.copy(found.samples, from: Int(at - found.position), to: start, count: count)
      } else {
        block.clear(start, count)
      }
      at += Int64(count)
      start += count
    }
    damaged += reader?.takeDamage() ?? []
    guard !damaged.isEmpty else { return }
    // A packet's time may be a little before its samples.
    for place in damaged where place >= position - Int64(sampleRate / 20) && place < at {
      damage?.add(
        source: Double(place) / Double(sampleRate), digest: planned.digest, track: planned.track, type: .audio)
    }
    damaged.removeAll { $0 < at }
  }

  /// The block that holds a sample, or nil for silence, and the end of that block or silence.
  private func run(at position: Int64) throws(RenderError) -> (block: AudioBlock?, end: Int64) {
    while decoded <= position { try decode() }
    for block in recent where block.end > position {
      return block.position <= position ? (block, block.end) : (nil, block.position)
    }
    return (nil, decoded)
  }

  private func decode() throws(RenderError) {
    let next = try mapErrors(to: RenderError.during("reading the audio of \(name)")) { () throws(MediaError) in
      try reader?.next()
    }
    guard let next else {
      decoded = .max
      return
    }
    guard next.end > decoded else { return }
    recent.append(next)
    recentCount += next.end - next.position
    decoded = next.end
    while let first = recent.first, recentCount - (first.end - first.position) >= Self.history {
      recent.removeFirst()
      recentCount -= first.end - first.position
      readable = first.end
    }
  }

  private func open(at position: Int64) throws(RenderError) {
    // An asset has nothing before its time zero.
    let first = max(0, position)
    reader = try mapErrors(to: RenderError.during("opening the audio of \(name)")) { () throws(MediaError) in
      try AudioReader(
        source: input, name: name, track: planned.track, timebase: planned.timebase, origin: planned.origin,
        discontinuities: planned.discontinuities, format: planned.audio, from: first, liveness: liveness)
    }
    (recent, recentCount) = ([], 0)
    (readable, decoded) = (min(position, first), first)
  }
}

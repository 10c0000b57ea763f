import CompositionModel
import Media
import Segmenter

/// A track of a file as one row of samples a channel: silence where the file has none.
final class DecodedTrack: SampleSource {
  /// Samples that are kept behind the last one read: a clip that goes on where another ended starts a little earlier,
  /// to fill its filters, and should not have to seek for that.
  private static let history: Int64 = 16384

  let sampleRate: Int
  let channels: Int
  private let input: any ByteSource
  private let planned: PlannedAudioSource
  private let name: String
  private var reader: AudioReader?
  /// What was decoded last, in order.
  private var recent: [SoundBlock] = []
  private var recentCount: Int64 = 0
  /// Everything in [readable, decoded) is in `recent`, or is silence.
  private var readable: Int64 = 0
  private var decoded: Int64 = 0

  init(_ planned: PlannedAudioSource, input: any ByteSource) {
    self.planned = planned
    self.input = input
    sampleRate = planned.audio.sampleRate
    channels = planned.audio.channels
    name = "track \(planned.track) of \(planned.digest.prefix(12))"
  }

  /// Whether reading at this position goes on from where it stands, dropping what is decoded on the way. Only codecs
  /// that have a bit depth lose nothing and so can be sought in; in others whatever is ahead is nearer from here than
  /// from the file's head, where a new reader would start.
  func isNear(_ position: Int64) -> Bool {
    guard reader != nil, position >= readable else { return false }
    return planned.audio.bitDepth == nil || position - decoded <= Int64(sampleRate) * 2
  }

  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    if !isNear(position) { try open(at: position) }
    var (at, start) = (position, range.start)
    let end = range.start + range.count
    while start < end {
      let next = try heard(at: at)
      let count = Int(min(Int64(end - start), next.end - at))
      if let sound = next.sound {
        let offset = Int(at - sound.position)
        for channel in 0..<channels {
          (block.row(channel) + start).update(from: sound.channel(channel) + offset, count: count)
        }
      } else {
        block.clear(start, count)
      }
      at += Int64(count)
      start += count
    }
  }

  /// The block that has a sample, or nil for silence, and where that ends.
  private func heard(at position: Int64) throws(RenderError) -> (sound: SoundBlock?, end: Int64) {
    while decoded <= position { try decode() }
    for sound in recent where sound.position + Int64(sound.count) > position {
      return sound.position <= position ? (sound, sound.position + Int64(sound.count)) : (nil, sound.position)
    }
    return (nil, decoded)
  }

  private func decode() throws(RenderError) {
    let next: SoundBlock?
    do { next = try reader?.next() } catch { throw RenderError(sound: error, "reading the sound of \(name)") }
    guard let next else {
      decoded = .max
      return
    }
    guard next.channels == channels else {
      let fault = MediaError(
        .damaged, operation: "decoding", subject: name,
        message: "the sound changes from \(channels) to \(next.channels) channels at sample \(next.position)")
      throw RenderError(sound: fault, "reading the sound of \(name)")
    }
    let end = next.position + Int64(next.count)
    guard next.count > 0, end > decoded else { return }
    recent.append(next)
    recentCount += Int64(next.count)
    decoded = end
    while let first = recent.first, recentCount - Int64(first.count) >= Self.history {
      recent.removeFirst()
      recentCount -= Int64(first.count)
      readable = first.position + Int64(first.count)
    }
  }

  private func open(at position: Int64) throws(RenderError) {
    // Nothing of an asset lies before its time zero.
    let first = max(0, position)
    do {
      reader = try AudioReader(
        source: input, name: name, track: planned.track, timebase: planned.timebase, origin: planned.origin,
        format: planned.audio, from: first)
    } catch {
      throw RenderError(sound: error, "opening the sound of \(name)")
    }
    (recent, recentCount) = ([], 0)
    (readable, decoded) = (min(position, first), first)
  }
}

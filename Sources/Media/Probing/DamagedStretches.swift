internal import CMedia
internal import CompositionModel

/// The stretches of a track from a start to the next in which something is damaged.
///
/// A decoder conceals what is missing with parts of earlier pictures, and the result may depend on all that it has
/// decoded before. Where a stretch is damaged, decoding starts before it, so that its pictures are the same at any cut.
struct DamagedStretches {
  /// The number of starts up to each damaged packet.
  private var stretches: Set<Int> = []
  /// The times of damaged pictures, and of those that could not be decoded at all.
  private var times: [Int64] = []

  /// - Parameter starts: How many starts there are up to the packet, its own included.
  mutating func add(packetAfter starts: Int) {
    stretches.insert(starts)
  }

  mutating func add(pictureAt time: Int64) {
    times.append(time)
  }

  /// The starts whose stretches are whole.
  func whole(_ starts: [Keyframe]) -> [Keyframe] {
    var damaged = stretches
    for time in times { damaged.insert(starts.partitionPoint { time < $0.pts }) }
    return starts.enumerated().filter { !damaged.contains($0.offset + 1) }.map(\.element)
  }

  /// Nil if there are none.
  var pictures: FrameTimes? { times.isEmpty ? nil : FrameTimes(times.sorted()) }
}

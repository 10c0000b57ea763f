import Media

/// Some channels of a track, in an order of their own.
final class ChosenChannels: SampleSource {
  private let track: any SampleSource
  /// Indices among the track's.
  private let chosen: [Int]
  private var all: SampleBlock

  /// - Parameter chosen: Indices among the track's channels, at least one. Throws if there is no such channel.
  init(_ track: any SampleSource, _ chosen: [Int]) throws(RenderError) {
    guard !chosen.isEmpty, chosen.allSatisfy({ (0..<track.channels).contains($0) }) else {
      throw RenderError(.task, "a clip names the channels \(chosen) of sound with \(track.channels)")
    }
    (self.track, self.chosen) = (track, chosen)
    all = SampleBlock(channels: track.channels, capacity: 8192)
  }

  var sampleRate: Int { track.sampleRate }
  var channels: Int { chosen.count }

  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    if all.capacity < range.count { all = SampleBlock(channels: track.channels, capacity: range.count) }
    try track.read(at: position, into: all, SampleRange(start: 0, count: range.count))
    for (channel, source) in chosen.enumerated() {
      (block.row(channel) + range.start).update(from: all.row(source), count: range.count)
    }
  }
}

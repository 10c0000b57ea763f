import CompositionModel

/// When captions are shown, and which of them are connected.
///
/// The renderer of ASS places a caption beside those that are on the screen when it appears. So its place depends on
/// the captions that overlap it in time, and on those that overlap these.
package struct CaptionTimes: Sendable {
  package struct Caption: Sendable {
    /// In milliseconds.
    package var start: Int64
    /// In milliseconds; after the start.
    package var end: Int64
    /// Whether its place may depend on that of others.
    package var isPlacedFreely: Bool

    package init(start: Int64, end: Int64, isPlacedFreely: Bool) {
      (self.start, self.end, self.isPlacedFreely) = (start, end, isPlacedFreely)
    }
  }

  private let captions: [Caption]
  /// For each caption, the latest end of those up to it.
  private let latestEnds: [Int64]

  /// - Parameter captions: In order of their start.
  package init(_ captions: [Caption]) {
    self.captions = captions
    latestEnds = captions.map(\.end).runningMaxima
  }

  /// The captions that are shown at a time from `first` through `last`, and those that are connected with them and have
  /// appeared before. Rising; empty if none is shown.
  package func connected(from first: Int64, through last: Int64) -> [Int] {
    let end = captions.partitionPoint { last < $0.start }
    guard captions[..<end].contains(where: { first < $0.end }) else { return [] }
    var from = first
    var index = end
    var connected: [Int] = []
    while index > 0, latestEnds[index - 1] > from {
      index -= 1
      let caption = captions[index]
      guard caption.end > from, caption.end > first || caption.isPlacedFreely else { continue }
      connected.append(index)
      if caption.isPlacedFreely { from = min(from, caption.start) }
    }
    return connected.reversed()
  }
}

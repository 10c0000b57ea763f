import CompositionModel
import Media

/// A part of a track that players ask for as a whole: successive fragments of a file.
struct MediaSegment: Sendable, Hashable {
  /// Of the file.
  var bytes: Range<Int64>
  /// In ticks of the film. The first segment may begin before zero, with what is not presented.
  var time: Range<Int64>
}

extension FragmentedMovie {
  /// A segment has the fragments from one of its boundaries on, up to the next.
  /// - Parameter boundaries: Where segments begin after the first, in seconds, rising.
  func segments(at boundaries: [MediaTime]) -> [MediaSegment] {
    var segments: [MediaSegment] = []
    var next = 0
    for (index, fragment) in fragments.enumerated() {
      var begins = index == 0
      while next < boundaries.count, boundaries[next].isReached(fragment.start, perSecond: timescale) {
        (begins, next) = (true, next + 1)
      }
      let end = end(of: index)
      if begins {
        segments.append(MediaSegment(bytes: fragment.bytes, time: fragment.start..<max(fragment.start, end)))
      } else {
        let last = segments[segments.count - 1]
        segments[segments.count - 1] = MediaSegment(
          bytes: last.bytes.lowerBound..<fragment.bytes.upperBound,
          time: last.time.lowerBound..<max(last.time.lowerBound, end))
      }
    }
    return segments
  }

  /// The first picture of each fragment, which is a keyframe and shown until the next one.
  var keyframes: [MediaSegment] {
    fragments.enumerated().map { index, fragment in
      MediaSegment(
        bytes: fragment.bytes.lowerBound..<fragment.firstSampleEnd,
        time: fragment.start..<max(fragment.start, end(of: index)))
    }
  }

  private func end(of index: Int) -> Int64 { index + 1 < fragments.count ? fragments[index + 1].start : end }
}

extension MediaTime {
  /// Whether a number of ticks is at this time or later.
  func isReached(_ ticks: Int64, perSecond timescale: Int64) -> Bool {
    Int128(value) * Int128(timescale) <= Int128(ticks) * Int128(self.timescale)
  }
}

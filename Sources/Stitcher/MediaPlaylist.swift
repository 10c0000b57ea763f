import CompositionModel
import Media

/// A playlist of the media segments of one rendition, which are ranges of one file (RFC 8216, section 4.3.3).
struct MediaPlaylist: Sendable {
  struct Segment: Sendable, Hashable {
    /// Of the file.
    var bytes: Range<Int64>
    /// In microseconds of the film, rounded by itself: the durations add up without an error.
    var time: Range<Int64>

    var seconds: Double { Double(time.count) / 1e6 }
    var bits: Double { Double(bytes.count) * 8 }
  }

  private static let microseconds: Int128 = 1_000_000

  /// The name of the file.
  var file: String
  /// The head that a player needs before any segment. Nil: segments need none.
  var head: Range<Int64>?
  /// In order.
  var segments: [Segment]
  /// Whether a segment is a keyframe alone, shown until the next one.
  var isOfKeyframes = false

  /// The whole seconds that no segment is longer than, rounded.
  var targetDuration: Int { max(1, segments.map { Int($0.seconds.rounded()) }.max() ?? 1) }

  var text: String {
    var lines = [
      "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(targetDuration)", "#EXT-X-MEDIA-SEQUENCE:0",
      "#EXT-X-PLAYLIST-TYPE:VOD",
    ]
    if isOfKeyframes { lines.append("#EXT-X-I-FRAMES-ONLY") } else { lines.append("#EXT-X-INDEPENDENT-SEGMENTS") }
    if let head { lines.append("#EXT-X-MAP:URI=\"\(file)\",BYTERANGE=\"\(head.count)@\(head.lowerBound)\"") }
    for segment in segments {
      lines.append("#EXTINF:\(Self.decimal(Int64(segment.time.count))),")
      lines.append("#EXT-X-BYTERANGE:\(segment.bytes.count)@\(segment.bytes.lowerBound)")
      lines.append(file)
    }
    return (lines + ["#EXT-X-ENDLIST"]).joined(separator: "\n") + "\n"
  }

  /// Microseconds as seconds with six decimals.
  private static func decimal(_ microseconds: Int64) -> String {
    let fraction = String(microseconds % 1_000_000)
    return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
  }

  /// A time in microseconds, rounded.
  static func microseconds(_ time: MediaTime) -> Int64 {
    microseconds(Int128(time.value), perSecond: Int128(time.timescale))
  }

  private static func microseconds(_ ticks: Int128, perSecond timescale: Int128) -> Int64 {
    Int64(clamping: (max(0, ticks) * microseconds * 2 + timescale) / (timescale * 2))
  }
}

extension MediaPlaylist {
  /// - Parameters:
  ///   - segments: Of a movie, in its ticks.
  ///   - isOfKeyframes: Whether they are its keyframes alone.
  init(_ movie: FragmentedMovie, file: String, segments: [MediaSegment], isOfKeyframes: Bool = false) {
    func time(_ ticks: Int64) -> Int64 { Self.microseconds(Int128(ticks), perSecond: Int128(movie.timescale)) }
    self.init(
      file: file, head: movie.head,
      segments: segments.map { segment in
        let start = time(segment.time.lowerBound)
        return Segment(bytes: segment.bytes, time: start..<max(start, time(segment.time.upperBound)))
      }, isOfKeyframes: isOfKeyframes)
  }
}

// MARK: Bit rates

extension MediaPlaylist {
  /// The greatest bit rate of successive segments that last from half to one and a half of the target duration together
  /// (RFC 8216, section 4.1). Of a film that is shorter than that, its own.
  var peakBitRate: Double {
    let half = Int64(targetDuration) * 500_000
    var peak = 0.0
    for first in segments.indices {
      var (bits, time) = (0.0, Int64(0))
      for segment in segments[first...] {
        bits += segment.bits
        time += Int64(segment.time.count)
        if time > 3 * half { break }
        if time >= half { peak = max(peak, bits / (Double(time) / 1e6)) }
      }
    }
    return peak > 0 ? peak : averageBitRate
  }

  var averageBitRate: Double {
    let seconds = segments.reduce(0) { $0 + $1.seconds }
    return seconds > 0 ? segments.reduce(0) { $0 + $1.bits } / seconds : 0
  }
}

import CompositionModel

/// A playlist that grows while its film is rendered (RFC 8216, section 4.3.3.5): pure. Segments are added at its end,
/// and none is changed.
struct EventPlaylist: Sendable, Hashable {
  struct Segment: Sendable, Hashable {
    var uri: String
    /// In seconds of the film. The durations are differences of rounded times, so they add up without an error.
    var start: MediaTime
    var end: MediaTime

    /// In microseconds.
    fileprivate var length: Int64 { EventPlaylist.microseconds(end) - EventPlaylist.microseconds(start) }
  }

  /// The name of the file that a player needs before any segment.
  var head: String
  /// In order, those that are there.
  var segments: [Segment]
  /// The longest segment of the whole film, in seconds: a playlist states it once and for all.
  var longest: MediaTime
  /// Whether no segment follows.
  var isComplete: Bool

  var text: String {
    let most = (Self.microseconds(longest) + 500_000) / 1_000_000
    var lines = [
      "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(max(1, most))", "#EXT-X-MEDIA-SEQUENCE:0",
      "#EXT-X-PLAYLIST-TYPE:EVENT", "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-MAP:URI=\"\(head)\"",
    ]
    for segment in segments {
      let fraction = String(segment.length % 1_000_000)
      lines.append(
        "#EXTINF:\(segment.length / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + "\(fraction),")
      lines.append(segment.uri)
    }
    if isComplete { lines.append("#EXT-X-ENDLIST") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Rounded.
  private static func microseconds(_ time: MediaTime) -> Int64 {
    let scaled = Int128(time.value) * 2_000_000 + Int128(time.timescale)
    return Int64(clamping: max(0, scaled) / (2 * Int128(time.timescale)))
  }
}

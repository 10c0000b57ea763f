import CompositionModel
import Media
import RenderTasks

/// Subtitles in WebVTT as one file, of which each media segment is a range that can be read by itself (RFC 8216,
/// section 3.5). A caption is in each segment in which it is shown.
struct WebVTTSegments: Sendable {
  let bytes: [UInt8]
  let segments: [MediaPlaylist.Segment]

  /// What each segment begins with: the times of captions count from the film's start.
  private static let head = "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n"

  /// - Parameters:
  ///   - boundaries: Where segments begin after the first, in seconds, rising.
  ///   - duration: Of the film, in seconds.
  init(_ text: StitchedText, boundaries: [MediaTime], duration: MediaTime) throws(StitchError) {
    let captions = try Self.cues(text)
    var (bytes, segments): ([UInt8], [MediaPlaylist.Segment]) = ([], [])
    let starts = [MediaTime.zero] + boundaries
    var first = 0
    for (start, end) in zip(starts, boundaries + [duration]) {
      let time = MediaPlaylist.microseconds(start)..<MediaPlaylist.microseconds(end)
      // In milliseconds, as captions are.
      let shown = (time.lowerBound / 1000)..<((time.upperBound + 999) / 1000)
      var part = Self.head
      while first < captions.count, captions[first].end <= shown.lowerBound { first += 1 }
      for caption in captions[first...].prefix(while: { $0.start < shown.upperBound })
      where shown.lowerBound < caption.end {
        part += caption.text
      }
      let offset = Int64(bytes.count)
      bytes += part.utf8
      segments.append(MediaPlaylist.Segment(bytes: offset..<Int64(bytes.count), time: time))
    }
    (self.bytes, self.segments) = (bytes, segments)
  }

  /// The captions as one file, in which each is once.
  static func whole(_ text: StitchedText) throws(StitchError) -> [UInt8] {
    Array(("WEBVTT\n\n" + (try cues(text)).map(\.text).joined()).utf8)
  }

  /// The captions in order, with their times in milliseconds.
  private static func cues(_ text: StitchedText) throws(StitchError) -> [(start: Int64, end: Int64, text: String)] {
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in
      let encoder = try CaptionEncoder(text.codec, header: text.header)
      return try text.events.map { event throws(MediaError) in (event, cue(try encoder.encode(event.fields))) }
        .filter { !$0.1.isEmpty }
        .map { ($0.start, $0.end, "\(clock($0.start)) --> \(clock($0.end))\n\($1)\n\n") }
    }
  }

  /// The text of a caption without what would end it.
  private static func cue(_ bytes: [UInt8]) -> String {
    let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    return lines.joined(separator: "\n").replacing("-->", with: "--&gt;")
  }

  private static func clock(_ milliseconds: Int64) -> String {
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let seconds = milliseconds / 1000
    return "\(digits(seconds / 3600, 2)):\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2))."
      + digits(milliseconds % 1000, 3)
  }
}

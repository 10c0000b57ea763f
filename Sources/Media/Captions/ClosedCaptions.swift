/// The texts of closed captions of CEA-608, as libavcodec's decoder has them: each line with its place on a screen of
/// 384x288, in a script's tags.
enum ClosedCaptions {
  /// Rows of the decoder's screen.
  private static let height = 288.0

  /// The fields of an event whose lines have no places of their own: the lines of a caption are one text, at the top of
  /// the picture if the first of them is in the upper half, else at the bottom. What is slanted or underlined stays.
  /// - Parameter fields: A script's fields, the text last.
  static func placed(_ fields: String) -> String {
    var parts = fields.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 9 else { return fields }
    let row = parts[8].firstMatch(of: /\\pos\([0-9]+,([0-9]+)\)/).flatMap { Double($0.1) }
    let places = /\{\\an7\}|\{\\pos\([0-9]+,[0-9]+\)\}|\{\\[134]?[ac]&H[0-9A-Fa-f]+&\}/
    parts[8] = (row.map { $0 < height / 2 } ?? false ? "{\\an8}" : "") + parts[8].replacing(places, with: "")
    return parts.joined(separator: ",")
  }
}

/// The timecodes of a file of Scenarist (SCC), which count pictures of 30000/1001 a second.
struct ScenaristTimecode {
  /// How much of a file is searched for its first time, in bytes.
  private static let headSize: Int64 = 4096

  /// Whether two numbers are left out in each minute that is no tenth, so that the count is close to the clock. Such
  /// timecodes have a semicolon before the picture.
  let dropsFrames: Bool

  init(_ source: any ByteSource) throws(MediaError) {
    let head = String(decoding: try source.bytes(count: Int(min(source.byteCount, Self.headSize))), as: UTF8.self)
    dropsFrames = head.firstMatch(of: /[0-9]{2}:[0-9]{2}:[0-9]{2}([:;.,])[0-9]{2}/)?.1 == ";"
  }

  /// When the picture of a timecode is shown, in milliseconds from the timecode 0.
  /// - Parameter time: libavformat's time of it: milliseconds, of which each picture is 33.
  func milliseconds(ofTime time: Int64) -> Int64 {
    let (seconds, minutes) = (time / 1000, time / 60_000)
    let dropped = dropsFrames ? 2 * (minutes - minutes / 10) : 0
    let pictures = seconds * 30 + time % 1000 / 33 - dropped
    return Int64(clamping: (Int128(pictures) * 1001 + 15) / 30)
  }
}

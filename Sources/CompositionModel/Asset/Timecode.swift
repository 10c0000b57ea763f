/// A timecode of SMPTE ST 12: the number of a picture, as hours, minutes, seconds and frames.
package struct Timecode: Sendable, Hashable {
  /// Since midnight.
  package private(set) var frame: Int
  /// Frames of a second, rounded.
  let rate: Int
  /// Whether two numbers are left out at the start of each minute but the tenth, of 30 a second.
  package let dropsFrames: Bool

  /// Nil if the text is no timecode of that rate.
  package init?(_ text: String, rate: Rational) {
    let frames = Int(clamping: rate.rounded)
    let fields = text.split(omittingEmptySubsequences: false) { ":;.".contains($0) }
    let numbers = fields.compactMap { Int($0) }
    guard frames > 0, frames <= 1000, fields.count == 4, numbers.count == 4, numbers.allSatisfy({ $0 >= 0 }),
      numbers[0] < 24, numbers[1] < 60, numbers[2] < 60, numbers[3] < frames
    else { return nil }
    self.rate = frames
    dropsFrames = text.contains { ";.".contains($0) } && frames % 30 == 0
    let minutes = numbers[0] * 60 + numbers[1]
    frame = (minutes * 60 + numbers[2]) * frames + numbers[3]
    if dropsFrames { frame -= frames / 15 * (minutes - minutes / 10) }
  }

  /// That of a frame of the day. Nil if it is not from 0 to the last one, or there are no such rates.
  /// - Parameter dropsFrames: Of no effect unless a second has 30 frames, rounded, or 60.
  package init?(frame: Int, rate: Rational, dropsFrames: Bool) {
    let frames = Int(clamping: rate.rounded)
    guard (1...1000).contains(frames) else { return nil }
    self.rate = frames
    self.dropsFrames = dropsFrames && frames % 30 == 0
    self.frame = frame
    guard (0..<perDay).contains(frame) else { return nil }
  }

  /// Whether numbers are left out in what is called drop-frame: of 29.97 and 59.94 frames a second.
  package static func dropsFrames(_ rate: Rational) -> Bool {
    rate.denominator == 1001 && rate.numerator % 30000 == 0
  }

  private var perMinute: Int { rate * 60 - rate / 15 }
  private var perTenMinutes: Int { rate * 600 - 9 * (rate / 15) }
  private var perDay: Int { dropsFrames ? perTenMinutes * 144 : rate * 86400 }

  /// Such as `01:00:00:00`, with a semicolon before the frames if numbers are left out.
  package var text: String {
    var number = frame % perDay
    if number < 0 { number += perDay }
    if dropsFrames {
      let dropped = rate / 15
      let (tens, rest) = number.quotientAndRemainder(dividingBy: perTenMinutes)
      number += 9 * dropped * tens + dropped * max(0, (rest - dropped) / perMinute)
    }
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let seconds = number / rate
    return "\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))\(dropsFrames ? ";" : ":")"
      + two(number % rate)
  }

  /// The timecode of a picture that is shown some seconds after the one that has this.
  func advanced(by seconds: Rational, rate: Rational) throws(TimeError) -> Timecode {
    var later = self
    later.frame += Int(clamping: try (seconds * rate).floor)
    return later
  }
}

extension TrackDescription {
  /// That of the first picture, such as `01:00:00:00`.
  public var timecode: String? { metadata["timecode"] ?? metadata["TIMECODE"] }

  /// The timecode of the picture that is shown at a time of the asset. Nil: the track has none.
  package func timecode(at time: MediaTime) throws(TimeError) -> String? {
    guard let text = timecode, let rate = try video?.nominalFrameRate.exact, let code = Timecode(text, rate: rate)
    else {
      return timecode
    }
    let elapsed = try time.exact - range.start.exact
    guard elapsed > .zero else { return text }
    return try code.advanced(by: elapsed, rate: rate).text
  }
}

extension AssetDescription {
  /// Has the first track of pictures state the timecode that the file states as a whole, as Matroska files do.
  package mutating func placeTimecode() {
    guard let code = metadata["timecode"] ?? metadata["TIMECODE"],
      let index = tracks.firstIndex(where: { $0.type == .video }), tracks[index].timecode == nil
    else { return }
    tracks[index].metadata["timecode"] = code
  }
}

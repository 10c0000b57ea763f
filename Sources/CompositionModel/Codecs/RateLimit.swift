/// The most bits that a player takes: it fills a buffer at a constant rate and takes each picture out of it when it is
/// decoded (the video buffering verifier of MPEG; the hypothetical reference decoder's leaky bucket). The buffer is
/// half full or more when the film starts, and never runs empty.
public struct RateLimit: Sendable, Hashable, Codable {
  /// Bits a second at which the buffer is filled. Positive.
  public var bitRate: Int
  /// Bits that the buffer holds. Positive.
  public var bufferSize: Int

  public init(bitRate: Int, bufferSize: Int) {
    self.bitRate = bitRate
    self.bufferSize = bufferSize
  }
}

extension RateLimit {
  /// What a document may give as `maxBitRate`, in bits a second.
  static let bitRates = 50_000...800_000_000
  /// What a document may give as `bufferDuration`, in seconds, and its default.
  package static let bufferDurations = (
    shortest: MediaTime(value: 1, timescale: 10), longest: MediaTime(seconds: 60),
    standard: MediaTime(seconds: 1)
  )
  /// The fewest frames for which the buffer must suffice. The encoder of a segment has half of it, and a frame must
  /// fit.
  package static let fewestFrames = 4

  /// The limit that an encoder of one segment is given, so that the film keeps its own whatever the other segments
  /// take: the film's buffer is at least half full when a segment starts, and again when it ends.
  ///
  /// The encoder's buffer starts full, and has at most half the film's size. With the bits that it can take beyond its
  /// rate the segment takes no more than the film's rate gives for its duration. So at any time since the segment's
  /// start the film's buffer has at least as many bits as the encoder's, and at its end as many as at its start; or the
  /// film's buffer was full in between, and since then half of it was taken at most.
  /// - Parameters:
  ///   - duration: The duration of the segment, in seconds. Positive.
  ///   - share: above 0, at most 1: the part of the rate that the encoder is given, for one that did not keep its
  ///     limit.
  package func ofSegment(duration: Double, share: Double = 1) -> RateLimit {
    let bits = Double(bitRate) * duration * share
    let buffer = (min(Double(bufferSize) * share, bits) / 2).rounded(.down)
    return RateLimit(
      bitRate: max(1, Int((bits - buffer) / duration)), bufferSize: max(1, Int(buffer)))
  }

  /// Whether packets of these sizes, decoded at a constant rate, never empty the buffer if it is half full at first,
  /// and leave it half full.
  /// - Parameter frameDuration: seconds from one packet to the next.
  package func isKept(bits: [Int], frameDuration: Double) -> Bool {
    let half = Double(bufferSize) / 2
    var fullness = half
    for packet in bits {
      fullness -= Double(packet)
      if fullness < 0 { return false }
      fullness = min(Double(bufferSize), fullness + Double(bitRate) * frameDuration)
    }
    return fullness >= half
  }
}

/// A level of a video codec: the greatest pictures, the most of them, and the most bits that a decoder of it takes.
package struct CodecLevel: Sendable, Hashable {
  /// As documents write it, such as `4.1`.
  package var name: String
  /// The codec's blocks of pixels (H.264: macroblocks of 16x16 pixels; HEVC: luma samples) in a picture and in a
  /// second.
  var pictureSize: Int
  var rate: Int
  /// For the codec's plainest profile.
  var limit: RateLimit

  /// The pictures that a level is for.
  struct Pictures {
    /// In the codec's blocks.
    var width: Int
    var height: Int
    var frameDuration: MediaTime

    /// Blocks in a second, rounded up.
    var rate: Int {
      Int(
        clamping: (Int128(width * height) * Int128(frameDuration.timescale) - 1)
          / Int128(frameDuration.value) + 1)
    }
  }

  /// Why a decoder of this level cannot decode pictures of this kind; nil if it can.
  func problem(with pictures: Pictures, unit: String) -> String? {
    let area = pictures.width * pictures.height
    if area > pictureSize {
      return "a picture has \(area) \(unit), and level \(name) allows \(pictureSize)"
    }
    let longest = max(pictures.width, pictures.height)
    if longest * longest > 8 * pictureSize {
      let allowed = Int(Double(8 * pictureSize).squareRoot())
      return "a side of a picture has \(longest) \(unit), and level \(name) allows \(allowed)"
    }
    if pictures.rate > rate {
      return "the film has \(pictures.rate) \(unit) a second, and level \(name) allows \(rate)"
    }
    return nil
  }
}

extension RateLimit {
  /// A level's limit for a profile that takes more bits than the plainest one.
  /// - Parameter thousandths: how many times more.
  func scaled(byThousandths thousandths: Int) -> RateLimit {
    RateLimit(bitRate: bitRate * thousandths / 1000, bufferSize: bufferSize * thousandths / 1000)
  }
}

/// The levels of a codec, rising.
struct LevelTable: Sendable {
  let levels: [CodecLevel]
  /// What pictures are measured in, for messages.
  let unit: String

  /// - Parameter rows: name, blocks in a picture, blocks a second, bits a second, bits of the buffer.
  init(unit: String, _ rows: [(String, Int, Int, Int, Int)]) {
    self.unit = unit
    levels = rows.map {
      CodecLevel(
        name: $0.0, pictureSize: $0.1, rate: $0.2, limit: RateLimit(bitRate: $0.3, bufferSize: $0.4)
      )
    }
  }

  subscript(_ name: String) -> CodecLevel? { levels.first { $0.name == name } }

  /// The lowest level for pictures of this kind with a limit of bits. Nil if there is none.
  /// - Parameter thousandths: The bits that the profile takes, in thousandths of those of the plainest one.
  func lowest(for pictures: CodecLevel.Pictures, _ limit: RateLimit?, thousandths: Int)
    -> CodecLevel?
  {
    levels.first { level in
      let allowed = level.limit.scaled(byThousandths: thousandths)
      let isWithin =
        limit.map { $0.bitRate <= allowed.bitRate && $0.bufferSize <= allowed.bufferSize } ?? true
      return isWithin && level.problem(with: pictures, unit: unit) == nil
    }
  }

  /// A reason why the level that a document asks for, or any level, cannot hold its pictures or its bits: a key of
  /// `export.video`, and a message for the document's author. Nil if there is none.
  /// - Parameter average: The bits a second that the film should have on average, if the document says it.
  func problem(
    level name: String?, _ pictures: CodecLevel.Pictures, _ limit: RateLimit?, average: Int?, thousandths: Int,
    profile: String
  ) -> (key: String, message: String)? {
    let least = lowest(for: pictures, limit, thousandths: thousandths)
    let advice = least.map { "; the lowest that can is \($0.name)" } ?? "; no level can"
    guard let name, let level = self[name] else {
      guard least == nil, let limit, let greatest = levels.last else { return nil }
      if let problem = greatest.problem(with: pictures, unit: unit) {
        return ("maxBitRate", problem)
      }
      let allowed = greatest.limit.scaled(byThousandths: thousandths)
      return limit.bitRate > allowed.bitRate
        ? (
          "maxBitRate",
          "\(limit.bitRate) is more than any level of \(profile) allows; at most \(allowed.bitRate)"
        )
        : (
          "bufferDuration",
          "a buffer of \(limit.bufferSize) bits is more than any level of \(profile) allows; at most "
            + "\(allowed.bufferSize)"
        )
    }
    if let problem = level.problem(with: pictures, unit: unit) {
      return ("level", problem + advice)
    }
    let allowed = level.limit.scaled(byThousandths: thousandths)
    guard let limit else {
      guard let average, average > allowed.bitRate else { return nil }
      let least = lowest(for: pictures, RateLimit(bitRate: average, bufferSize: 1), thousandths: thousandths)
      return (
        "bitRate",
        "\(average) is more than level \(name) of \(profile) allows, \(allowed.bitRate)"
          + (least.map { "; the lowest that can is \($0.name)" } ?? "; no level can")
      )
    }
    if limit.bitRate > allowed.bitRate {
      return (
        "maxBitRate",
        "\(limit.bitRate) is more than level \(name) of \(profile) allows, \(allowed.bitRate)"
          + advice
      )
    }
    if limit.bufferSize > allowed.bufferSize {
      return (
        "bufferDuration",
        "a buffer of \(limit.bufferSize) bits is more than level \(name) of \(profile) allows, \(allowed.bufferSize)"
          + advice
      )
    }
    return nil
  }
}

/// A codec with levels, and an encoder that keeps a limit of bits.
protocol LeveledVideoCodecDefinition: VideoCodecDefinition {
  var levelTable: LevelTable { get }
  /// How many times more bits than the plainest profile the settings' one may have, in thousandths, and its name for
  /// messages.
  func bitAllowance(_ settings: VideoSettings) -> (thousandths: Int, profile: String)
  /// Frames of a size as the level table measures them.
  func pictures(_ size: PixelSize, _ frameDuration: MediaTime) -> CodecLevel.Pictures
}

extension LeveledVideoCodecDefinition {
  var levels: [String] { levelTable.levels.map(\.name) }

  func problem(
    with settings: VideoSettings, size: PixelSize, frameDuration: MediaTime
  ) -> (key: String, message: String)? {
    guard settings.level != nil || settings.rateLimit != nil else { return nil }
    let (thousandths, profile) = bitAllowance(settings)
    var average: Int?
    if case .averageBitRate(let bitRate) = settings.rateControl { average = bitRate }
    return levelTable.problem(
      level: settings.level, pictures(size, frameDuration), settings.rateLimit, average: average,
      thousandths: thousandths, profile: profile)
  }

  func completed(_ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime)
    -> VideoSettings
  {
    guard settings.level != nil || settings.rateLimit != nil else { return settings }
    let thousandths = bitAllowance(settings).thousandths
    var completed = settings
    if completed.level == nil {
      let least = levelTable.lowest(
        for: pictures(size, frameDuration), settings.rateLimit, thousandths: thousandths)
      completed.level = least?.name
    }
    if completed.rateLimit == nil {
      completed.rateLimit = completed.level.flatMap { levelTable[$0] }?.limit.scaled(
        byThousandths: thousandths)
    }
    return completed
  }
}

/// A place in a file from which on a track's timestamps count from another zero: streams were joined, or a recording
/// was interrupted. Timestamps of a track are always meant with the offset of the last such place before them.
public struct Discontinuity: Sendable, Hashable, Codable {
  /// The byte position of the track's first packet after the place.
  public var position: Int64
  /// To be added to the timestamps in the file from there on, in ticks of the track's timebase.
  public var offset: Int64
  /// The track's first presentation time after the place, in ticks, with the offset.
  public var start: Int64

  public init(position: Int64, offset: Int64, start: Int64) {
    self.position = position
    self.offset = offset
    self.start = start
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let fields = try container.decode([Int64].self)
    guard fields.count == 3 else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a discontinuity is [position, offset, start]")
    }
    guard fields[0] >= -1, Array(fields.dropFirst()).areTicks else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "\(fields) is not a discontinuity with ticks within \(StoredTime.ticks)")
    }
    self.init(position: fields[0], offset: fields[1], start: fields[2])
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([position, offset, start])
  }
}

/// A place at which the timestamps of a file jump, for a warning.
public struct TimeJump: Sendable, Hashable {
  /// On the asset's timeline. What follows in the file continues there.
  public var time: MediaTime
  /// How far the timestamps in the file are from those that would continue there; negative if they go back.
  public var jump: MediaTime
}

extension TrackDescription {
  /// The jumps of the track's timestamps. One that exact arithmetic cannot hold is left out.
  public var timeJumps: [TimeJump] {
    var last: Int64 = 0
    return (discontinuities ?? []).compactMap { place in
      defer { last = place.offset }
      do throws(TimeError) {
        return TimeJump(
          time: try MediaTime(try timebase.exact * Rational(place.start - origin)),
          jump: try MediaTime(try timebase.exact * Rational(last - place.offset)))
      } catch { return nil }
    }
  }
}

extension AssetDescription {
  /// The jumps of the file's timestamps, as the track shows them that has the most; of equal ones, the first.
  public var timeJumps: [TimeJump] {
    let jumps = tracks.map(\.timeJumps).reduce([]) { $1.count > $0.count ? $1 : $0 }
    guard container == "mpegts" || container == "mpeg" else { return jumps }
    // Their clocks have 33 bits at 90 kHz, and libavformat takes a clock that goes back for one that has wrapped.
    return jumps.map { jump in
      let (half, whole) = (MediaTime(value: 1 << 32, timescale: 90000), MediaTime(value: 1 << 33, timescale: 90000))
      guard jump.jump > half, let distance = try? jump.jump - whole else { return jump }
      return TimeJump(time: jump.time, jump: distance)
    }
  }
}

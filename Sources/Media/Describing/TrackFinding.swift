internal import CMedia
internal import CompositionModel

/// A track as far as it is known before the asset's time zero is.
struct TrackFinding {
  let index: Int
  let type: MediaType
  let timebase: AVRational
  /// In ticks; nil where nothing is presented.
  var start: Int64?
  var end: Int64?
  var description: TrackDescription

  init(_ stream: UnsafeMutablePointer<AVStream>, type: MediaType, takesDefaultAsEnabled: Bool) throws(MediaError) {
    let parameters = stream.pointee.codecpar!
    index = Int(stream.pointee.index)
    self.type = type
    timebase = stream.pointee.time_base
    let metadata = [String: String](metadata: stream.pointee.metadata)
    let profile = avcodec_profile_name(parameters.pointee.codec_id, parameters.pointee.profile)
    description = TrackDescription(
      index: index, type: type, codec: Decoder.codecName(parameters), profile: profile.map { String(cString: $0) },
      language: metadata["language"].flatMap { $0 == "und" ? nil : $0 },
      isEnabled: !takesDefaultAsEnabled || stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0,
      timebase: MediaTime(timebase),
      range: try exactly("describing") { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      }, metadata: metadata)
  }

  /// Places the track on a timeline whose zero is at `zero` seconds.
  mutating func place(zero: Rational) throws(MediaError) {
    let tick = MediaTime(timebase)
    let (start, end) = (start ?? 0, end ?? start ?? 0)
    let (origin, range) = try exactly("describing") { () throws(TimeError) -> (Int64, MediaTimeRange) in
      guard let origin = Int64(exactly: try (zero / tick.exact).rounded) else { throw .overflow }
      let from = try tick * (Rational(start) - Rational(origin))
      let to = try tick * (Rational(max(start, end)) - Rational(origin))
      return (origin, try MediaTimeRange(start: from, end: to))
    }
    description.origin = origin
    description.range = range
  }

  /// Takes back what the container's rounding did to a track of constant rate: 65 frames at 30 a second are 65/30 s,
  /// though Matroska writes 2.167, which would be 66 frames of the output.
  mutating func settleCadence() throws(MediaError) {
    guard description.hasRoundedTimes, let video = description.video, video.nominalFrameRate > .zero else { return }
    let (rate, count, tick) = (video.nominalFrameRate, video.frames.count, MediaTime(timebase))
    let settled = try exactly("describing") { () throws(TimeError) -> MediaTimeRange? in
      let exact = try MediaTime(Rational(count) / rate.exact)
      let rounding = try exact - description.range.duration
      guard try MediaTime(rate.exact * tick.exact) <= MediaTime(value: 1, timescale: 3), rounding <= tick,
        try MediaTime.zero - rounding <= tick, let first = video.frames.first
      else { return nil }
      for (index, time) in video.frames.times.enumerated() {
        let ticks = try Rational(index) / (rate.exact * tick.exact)
        guard try ticks - Rational(time - first) <= .one, try Rational(time - first) - ticks <= .one else { return nil }
      }
      return try MediaTimeRange(start: description.range.start, duration: exact)
    }
    guard let settled, let first = video.frames.first else { return }
    description.range = settled
    description.video?.cadence = StoredTime.Cadence(first: first, rate: rate)
  }

  var startTime: Rational? {
    get throws(MediaError) {
      guard let start else { return nil }
      return try exactly("describing") { () throws(TimeError) in try MediaTime(timebase).exact * Rational(start) }
    }
  }
}

/// Arithmetic on a file's times; those that do not fit are none that a film has.
func exactly<R>(_ operation: String, _ body: () throws(TimeError) -> R) throws(MediaError) -> R {
  do throws(TimeError) {
    return try body()
  } catch {
    throw MediaError(.damaged, operation: operation, subject: "its times", message: "a time is out of range: \(error)")
  }
}

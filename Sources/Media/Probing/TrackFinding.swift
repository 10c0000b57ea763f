internal import CMedia
internal import CompositionModel

/// A track as far as it can be described before the asset's time zero is determined.
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
      range: try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      }, metadata: metadata)
  }

  /// Places the track on a timeline whose zero is at `zero` seconds.
  mutating func place(zero: Rational) throws(MediaError) {
    let tick = MediaTime(timebase)
    let (start, end) = (start ?? 0, end ?? start ?? 0)
    let (origin, range) = try mapErrors(to: MediaError.init(outOfRange:)) {
      () throws(TimeError) -> (Int64, MediaTimeRange) in
      guard let origin = Int64(exactly: try (zero / tick.exact).rounded) else { throw .overflow }
      let from = try tick * (Rational(start) - Rational(origin))
      let to = try tick * (Rational(max(start, end)) - Rational(origin))
      return (origin, try MediaTimeRange(start: from, end: to))
    }
    description.origin = origin
    description.range = range
  }

  /// Corrects the range of a track of constant rate in a container that rounds times, and records the rate. For example, 65
  /// frames at 30 a second are 65/30 s; Matroska stores 2.167 s, which would be 66 frames of the output.
  mutating func restoreCadence() throws(MediaError) {
    guard description.hasRoundedTimes, let video = description.video, video.nominalFrameRate > .zero,
      let first = video.frames.first
    else { return }
    let (rate, count, tick) = (video.nominalFrameRate, video.frames.count, MediaTime(timebase))
    let exactRange = try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) -> MediaTimeRange? in
      let exact = try MediaTime(Rational(count) / rate.exact)
      let rounding = try exact - description.range.duration
      guard try MediaTime(rate.exact * tick.exact) <= MediaTime(value: 1, timescale: 3), rounding <= tick,
        try MediaTime.zero - rounding <= tick
      else { return nil }
      for (index, time) in video.frames.times.enumerated() {
        let ticks = try Rational(index) / (rate.exact * tick.exact)
        guard try ticks - Rational(time - first) <= .one, try Rational(time - first) - ticks <= .one else { return nil }
      }
      return try MediaTimeRange(start: description.range.start, duration: exact)
    }
    guard let exactRange else { return }
    description.range = exactRange
    description.video?.cadence = StoredTime.Cadence(first: first, rate: rate)
  }

  /// In seconds of the file's own timeline; nil where nothing is presented.
  var startTime: Rational? {
    get throws(MediaError) {
      guard let start else { return nil }
      return try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        try MediaTime(timebase).exact * Rational(start)
      }
    }
  }
}

extension MediaError {
  /// A time of the file that exact arithmetic cannot hold.
  fileprivate init(outOfRange error: TimeError) {
    self.init(.damaged, operation: "probing", subject: "its times", message: "a time is out of range: \(error)")
  }
}

extension [String: String] {
  /// libav*'s dictionary. Text that is not UTF-8 is repaired; values of more than 4096 bytes are left out.
  init(metadata: OpaquePointer?) {
    self.init()
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while let next = av_dict_get(metadata, "", entry, AV_DICT_IGNORE_SUFFIX) {
      let value = String(cString: next.pointee.value)
      if value.utf8.count <= 4096 { self[String(cString: next.pointee.key)] = value }
      entry = next
    }
  }
}

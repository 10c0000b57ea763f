internal import CMedia
internal import CompositionModel

/// Where the packets of a track that is not decoded are, in ticks.
struct PacketExtent {
  private(set) var count = 0
  private(set) var start: Int64?
  private(set) var end: Int64?

  mutating func add(_ packet: Packet) {
    count += 1
    guard packet.pts != sheaf_no_pts else { return }
    start = min(start ?? .max, packet.pts)
    end = max(end ?? .min, packet.pts &+ max(0, packet.duration))
  }
}

/// A track as far as it can be described before the asset's time zero is determined.
struct TrackFinding {
  let index: Int
  let type: MediaType
  let timebase: AVRational
  /// In ticks; nil if nothing is presented.
  var start: Int64?
  var end: Int64?
  /// For audio, the number of samples from `start` on, in place of `end`.
  var length: (samples: Int64, sampleRate: Int)?
  var description: TrackDescription

  init(_ stream: UnsafeMutablePointer<AVStream>, type: MediaType, takesDefaultAsEnabled: Bool) throws(MediaError) {
    let parameters = stream.pointee.codecpar!
    index = Int(stream.pointee.index)
    self.type = type
    timebase = stream.pointee.time_base
    let metadata = [String: String](metadata: stream.pointee.metadata)
    let profile = avcodec_profile_name(parameters.pointee.codec_id, parameters.pointee.profile)
    description = TrackDescription(
      index: index, type: type, codec: StoredCodec.name(parameters), profile: profile.map { String(cString: $0) },
      language: metadata["language"].flatMap { $0 == "und" ? nil : $0 },
      isEnabled: !takesDefaultAsEnabled || stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0,
      timebase: MediaTime(timebase),
      range: try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      }, metadata: metadata)
    if takesDefaultAsEnabled || stream.pointee.id != 0 { description.id = Int(stream.pointee.id) }
    description.parameterSets = Self.digest(of: stream.joinedParameterSets)
    description.formatTag = Self.tag(parameters.pointee.codec_tag)
    if parameters.pointee.level > 0 { description.level = Int(parameters.pointee.level) }
    if parameters.pointee.bit_rate > 0 { description.bitRate = Int(exactly: parameters.pointee.bit_rate) }
    let names = (0..<31).compactMap { bit -> String? in
      let flag = Int32(1) << bit
      // Whether it is enabled is a property of its own.
      guard stream.pointee.disposition & flag != 0, flag != AV_DISPOSITION_DEFAULT else { return nil }
      return av_disposition_to_string(flag).map { String(cString: $0) }
    }
    if !names.isEmpty { description.characteristics = names }
  }

  /// The track of the closed captions that lie between the pictures of another track.
  /// - Parameter codec: As libavcodec names codecs.
  init(_ captions: TimedCaptions, codec: String, between pictures: TrackFinding) throws(MediaError) {
    index = TrackDescription.captionIndex(ofPictures: pictures.index)
    type = .subtitle
    timebase = pictures.timebase
    (start, end) = (captions.extent?.start, captions.extent?.end)
    description = TrackDescription(
      index: index, type: .subtitle, codec: codec, isEnabled: false, timebase: MediaTime(timebase),
      range: try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      })
    description.pictureTrack = pictures.index
  }

  /// FNV-1a with 64 bits. Nil for no bytes.
  private static func digest(of bytes: [UInt8]) -> String? {
    if bytes.isEmpty { return nil }
    let digest = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(digest, radix: 16)
  }

  /// Four characters; nil for numbers that are none.
  private static func tag(_ number: UInt32) -> String? {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    guard number != 0, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Adds the packets of a track that is not decoded.
  mutating func add(_ packets: PacketExtent?) {
    description.packetCount = packets?.count ?? 0
    (start, end) = (packets?.start, packets?.end)
  }

  /// Places the track on a timeline whose zero is at `zero` seconds.
  mutating func place(zero: Rational) throws(MediaError) {
    let tick = MediaTime(timebase)
    let (start, end) = (start ?? 0, end ?? start ?? 0)
    let (origin, range) = try mapErrors(to: MediaError.init(outOfRange:)) {
      () throws(TimeError) -> (Int64, MediaTimeRange) in
      guard let origin = Int64(exactly: try (zero / tick.exact).rounded) else { throw .overflow }
      let from = try tick * (Rational(start) - Rational(origin))
      guard from.isPlace else { throw .overflow }
      if let length {
        let duration = try Rational(Int128(length.samples), Int128(length.sampleRate))
        let range = try MediaTimeRange(start: from, duration: MediaTime(duration))
        if range.end.isPlace { return (origin, range) }
        // No fraction of a second has both such fine ticks and the samples: the nearest tick is taken.
        let ticks = try (duration / tick.exact).rounded
        let whole = try MediaTimeRange(start: from, duration: MediaTime(tick.exact * Rational(ticks)))
        guard whole.end.isPlace else { throw .overflow }
        return (origin, whole)
      }
      let to = try tick * (Rational(max(start, end)) - Rational(origin))
      guard to.isPlace else { throw .overflow }
      return (origin, try MediaTimeRange(start: from, end: to))
    }
    description.origin = origin
    description.range = range
  }

  /// Corrects the range of a track of constant rate in a container that rounds times, and records the rate. For
  /// example, 65 frames at 30 a second are 65/30 s; Matroska stores 2.167 s, which would be 66 frames of the output.
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

  /// In seconds of the file's own timeline; nil if nothing is presented.
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
  init(outOfRange error: TimeError) {
    self.init(.damaged, operation: "probing", subject: "its times", message: "a time is out of range: \(error)")
  }
}

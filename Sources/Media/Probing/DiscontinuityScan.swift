internal import CMedia
internal import CompositionModel

/// Finds the places at which the timestamps of a file count from another zero.
///
/// The rule is that of the ffmpeg tool, made independent of which track comes first. A packet begins a new part of the
/// file if its decoding time is earlier than that of the track's last packet by more than a limit, or later by more
/// than another limit than those of all tracks. The limits are 0.1 s and 10 s in formats whose timestamps may be
/// discontinuous (AVFMT_TS_DISCONT: transport and program streams, Ogg), and 1 s and 30 h in others. In the mov family,
/// timestamps are sums of durations, so that there is no such place.
///
/// A part is what lies between two such places. Each part is moved as a whole, so that its tracks stay in step: to the
/// earliest time at which none of its tracks begins before the same track's end in the parts before.
struct DiscontinuityScan {
  private struct Part {
    /// The lowest byte position of its packets.
    var position: Int64
    /// The first decoding time, and the latest one of all tracks, in microseconds of the file's clock.
    let first: Int64
    var latest: Int64
  }

  /// What a track has in one part, in ticks of the file's clock.
  private struct Stretch {
    var part: Int
    var position: Int64
    var start: Int64 = .max
    var end: Int64 = .min
  }

  private struct Track {
    let timebase: AVRational
    var stretches: [Stretch] = []
    /// The decoding time of the last packet, in microseconds and in ticks. Nil: no packet has had one.
    var last: Int64?
    var lastTicks: Int64 = 0
    var step: Int64 = 0
  }

  /// More than this are refused as damage.
  private static let mostParts = 10_000
  private static let second: Int64 = 1_000_000

  /// The end of the last packet, as a byte position.
  private(set) var end: Int64 = 0
  private var tracks: [Int: Track] = [:]
  private var parts: [Part] = []
  private let back: Int64
  private let ahead: Int64
  private let isActive: Bool
  private let name: String

  init(_ demuxer: Demuxer) {
    name = demuxer.name
    let isDiscontinuous = demuxer.context.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT != 0
    (back, ahead) = isDiscontinuous ? (Self.second / 10, 10 * Self.second) : (Self.second, 30 * 3600 * Self.second)
    isActive = !demuxer.formatName.hasPrefix("mov,")
  }

  /// Packets of the video and audio tracks are added in the file's order.
  mutating func add(_ packet: Packet, of stream: UnsafeMutablePointer<AVStream>) throws(MediaError) {
    end = max(end, packet.pointer.pointee.pos + Int64(packet.byteCount))
    guard isActive else { return }
    let index = Int(stream.pointee.index)
    var track = tracks[index] ?? Track(timebase: stream.pointee.time_base)
    defer { tracks[index] = track }
    let position = packet.pointer.pointee.pos
    if packet.dts != sheaf_no_pts {
      let time = av_rescale_q(packet.dts, track.timebase, AVRational(num: 1, den: Int32(Self.second)))
      let part = try self.part(of: time, at: position, after: track)
      if track.stretches.last?.part != part { track.stretches.append(Stretch(part: part, position: position)) }
      if let last = track.last, track.lastTicks < packet.dts, last < time { track.step = packet.dts - track.lastTicks }
      (track.last, track.lastTicks) = (time, packet.dts)
      parts[part].latest = max(parts[part].latest, time)
      if position >= 0 {
        parts[part].position = min(parts[part].position, position)
        // libavformat gives the first packets after FLAC begins anew positions that do not rise.
        let first = track.stretches[track.stretches.count - 1].position
        track.stretches[track.stretches.count - 1].position = min(first, position)
      }
    }
    guard let current = track.stretches.indices.last, !packet.isDiscarded else { return }
    let length = packet.duration > 0 ? packet.duration : track.step
    guard packet.pts != sheaf_no_pts else {
      if packet.dts == sheaf_no_pts, track.stretches[current].start <= track.stretches[current].end {
        track.stretches[current].end &+= try untimedLength(of: packet, stream) ?? 0
      }
      return
    }
    // Samples that are left out at the beginning of a part take no time.
    let skipped = av_rescale_q(
      Int64(packet.skippedSamples.start),
      AVRational(num: 1, den: max(1, stream.pointee.codecpar.pointee.sample_rate)), track.timebase)
    track.stretches[current].start = min(track.stretches[current].start, packet.pts &+ skipped)
    track.stretches[current].end = max(track.stretches[current].end, packet.pts &+ length)
  }

  /// How long a packet without a time is that follows the one before, in ticks of its track. libavformat makes one
  /// packet of the last frames of FLAC before another file that is joined to it, without a time or a duration. Nil for
  /// other codecs.
  private func untimedLength(of packet: Packet, _ stream: UnsafeMutablePointer<AVStream>) throws(MediaError) -> Int64? {
    guard stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_FLAC else { return nil }
    let decoder = try Decoder(stream, name: name)
    let frame = try Frame()
    var length: Int64 = 0
    try decoder.send(packet)
    while try decoder.receive(frame.pointer) {
      let sample = AVRational(num: 1, den: max(1, frame.pointer.pointee.sample_rate))
      length += av_rescale_q(Int64(frame.pointer.pointee.nb_samples), sample, stream.pointee.time_base)
      av_frame_unref(frame.pointer)
    }
    return length
  }

  /// The part that a packet belongs to; a new one if its time is discontinuous.
  private mutating func part(of time: Int64, at position: Int64, after track: Track) throws(MediaError) -> Int {
    let byPosition = position < 0 ? nil : parts.lastIndex { $0.position <= position }
    guard let own = track.stretches.last?.part, let last = track.last else {
      if parts.isEmpty { parts.append(Part(position: max(0, position), first: time, latest: time)) }
      return byPosition ?? (position < 0 ? parts.count - 1 : 0)
    }
    if let byPosition, byPosition > own { return byPosition }
    let isBack = time < last - back
    let isAhead = time > last + ahead && time > parts[own].latest + ahead
    guard position >= 0, isBack || isAhead else { return own }
    // Another track may have reached the next part first, at a later byte.
    if own + 1 < parts.count, abs(time - parts[own + 1].first) <= 10 * Self.second { return own + 1 }
    guard parts.count < Self.mostParts else {
      throw MediaError(
        .damaged, operation: "probing", subject: name,
        message: "its timestamps jump more than \(Self.mostParts - 1) times")
    }
    parts.append(Part(position: position, first: time, latest: time))
    return parts.count - 1
  }

  /// The discontinuities by track; empty if there are none. Throws if a time is out of range.
  func discontinuities() throws(MediaError) -> [Int: [Discontinuity]] {
    guard parts.count > 1 else { return [:] }
    return try mapErrors(to: MediaError.init(outOfRange:)) { () throws(TimeError) in try place() }
  }

  private func place() throws(TimeError) -> [Int: [Discontinuity]] {
    var found: [Int: [Discontinuity]] = [:]
    /// By track, in seconds of the asset's clock.
    var ends: [Int: Rational] = [:]
    for part in parts.indices {
      var here: [(track: Int, stretch: Stretch, tick: Rational)] = []
      for (index, track) in tracks {
        guard let stretch = track.stretches.first(where: { $0.part == part && $0.start <= $0.end }) else { continue }
        here.append((index, stretch, try MediaTime(track.timebase).exact))
      }
      let latest = ends.values.max()
      let hasEarlier = here.contains { ends[$0.track] != nil }
      var offset: Rational?
      for (index, stretch, tick) in here where part > 0 {
        guard let end = hasEarlier ? ends[index] : latest else { continue }
        let least = try end - tick * Rational(stretch.start)
        offset = max(offset ?? least, least)
      }
      for (index, stretch, tick) in here {
        guard let shift = Int64(exactly: try ((offset ?? .zero) / tick).ceiling) else { throw .overflow }
        if part > 0 {
          found[index, default: []].append(
            Discontinuity(position: stretch.position, offset: shift, start: stretch.start + shift))
        }
        let end = try tick * Rational(stretch.end + shift)
        ends[index] = max(ends[index] ?? end, end)
      }
    }
    return found
  }
}

internal import CMedia
package import CompositionModel

/// Gives the stored packets of one track in order of decoding.
package protocol PacketSource: AnyObject {
  var format: StoredTrackFormat { get }

  /// The next packet, which the caller may change; nil after the last.
  func next() throws(MediaError) -> Packet?
}

extension PacketSource {
  /// The next packets of a track of pictures, as many as show how they are decoded, and the most ticks by which any of
  /// them is decoded after its presentation. Some files state such times.
  package func lookAhead() throws(MediaError) -> (packets: [Packet], lead: Int64) {
    var (packets, lead): ([Packet], Int64) = ([], 0)
    while packets.count < 64, let packet = try next() {
      if packet.hasPresentationTime { lead = max(lead, packet.decodingTime - packet.pts) }
      packets.append(packet)
    }
    return (packets, lead)
  }
}

/// The stored packets of one track of a file, from a keyframe or from the head of the file on, in the file's order.
/// Pictures whose decoding times the file does not state have the ones that follow from the others. So have pictures of
/// MPEG-1, 2 and 4 without presentation times, if it is asked for.
package final class StoredPackets: PacketSource {
  /// As many pictures as any codec decodes ahead of the one that is shown, and more.
  private static let greatestDelay = 64

  package let format: StoredTrackFormat
  private let demuxer: Demuxer
  private let track: Int
  private let isVideo: Bool
  /// Packets that were read and are to be returned before more are.
  private var ready: [Packet] = []
  private var lastDecoding: Int64?
  /// Nil: presentation times that the file does not state are not completed.
  private let types: KeyframeRule?

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - codec: The described track's, and so is the timebase. Others are refused. Nil: of a file that was not
  ///     described, because this process has just written it.
  ///   - start: Nil: the head of the file.
  ///   - completesTimes: Whether pictures without presentation times get those that `PictureOrder` finds. The track was
  ///     described as one that has them all.
  package init(
    _ source: any ByteSource, name: String, track: Int, codec: String?, timebase: MediaTime?,
    discontinuities: [Discontinuity]?, from start: Keyframe?, completesTimes: Bool = false, liveness: Liveness?
  ) throws(MediaError) {
    self.track = track
    let places = discontinuities.map { [track: $0] } ?? [:]
    func open() throws(MediaError) -> (Demuxer, UnsafeMutablePointer<AVStream>) {
      let demuxer = try Demuxer(source, name: name, discontinuities: places, liveness: liveness)
      let stream = try demuxer.stream(track)
      try Demuxer.completeFormat(of: stream, in: source, name: name, liveness: liveness)
      let (found, ticks) = (StoredCodec.name(stream.pointee.codecpar), MediaTime(stream.pointee.time_base))
      guard found == codec ?? found, ticks == timebase ?? ticks else {
        throw MediaError(
          .noTrack, operation: "opening", subject: name,
          message: "track \(track) is \(found) in ticks of \(ticks) s; \(codec ?? found) in ticks of "
            + "\(timebase ?? ticks) s was expected, so the file is not the one that was described")
      }
      demuxer.select { $0 == stream }
      return (demuxer, stream)
    }
    var (demuxer, stream) = try open()
    if let start {
      var packet = Packet?.none
      if try demuxer.seek(track, to: start.dts, position: start.position) {
        packet = try Self.packet(at: start, demuxer, track, stopsWhenPast: true)
      }
      if packet == nil {
        (demuxer, stream) = try open()
        packet = try Self.packet(at: start, demuxer, track, stopsWhenPast: false)
      }
      guard let packet else {
        throw MediaError(
          .noTrack, operation: "opening", subject: name,
          message: "there is no packet with pts \(start.pts) in track \(track), so the file is not the one described")
      }
      ready = [packet]
    }
    self.demuxer = demuxer
    isVideo = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
    let rule = KeyframeRule(stream.pointee.codecpar, hasAlphaBeside: StoredCodec.hasAlphaBeside(stream))
    types = completesTimes && rule.statesPictureTypes ? rule : nil
    format = try StoredTrackFormat(stream, name: name)
  }

  private static func packet(
    at keyframe: Keyframe, _ demuxer: Demuxer, _ track: Int, stopsWhenPast: Bool
  ) throws(MediaError) -> Packet? {
    let packet = try Packet()
    while try demuxer.read(into: packet, ofTrack: track) {
      if keyframe.isPacket(packet) { return packet }
      // After a seek the decoding time may not be known.
      if packet.dts == sheaf_no_pts, keyframe.position >= 0 {
        packet.dts = keyframe.dts
        if keyframe.isPacket(packet) { return packet }
        packet.dts = sheaf_no_pts
      }
      if stopsWhenPast, packet.dts != sheaf_no_pts, packet.dts > keyframe.dts { return nil }
    }
    return nil
  }

  package func next() throws(MediaError) -> Packet? {
    if ready.isEmpty { try readMore() }
    guard !ready.isEmpty else { return nil }
    if let types, !ready[0].hasPresentationTime { try completeTime(types) }
    let packet = ready.removeFirst()
    if packet.dts != sheaf_no_pts { lastDecoding = packet.dts }
    return packet
  }

  /// Reads the next packet, and if its decoding time is not known, those up to the next one whose time is.
  private func readMore() throws(MediaError) {
    while ready.count < Self.greatestDelay {
      let packet = try Packet()
      guard try demuxer.read(into: packet, ofTrack: track) else { break }
      ready.append(packet)
      if !isVideo || packet.dts != sheaf_no_pts || !packet.hasPresentationTime { break }
    }
    stateDecodingTimes()
  }

  /// Gives the first of the packets that are ready the time at which a decoder gives its picture.
  private func completeTime(_ types: KeyframeRule) throws(MediaError) {
    guard types.isBidirectional(ready[0]) == false else {
      ready[0].pts = ready[0].dts
      return
    }
    // The pictures in between are shown before it.
    var index = 1
    while index < Self.greatestDelay {
      if index == ready.count {
        let packet = try Packet()
        guard try demuxer.read(into: packet, ofTrack: track) else { break }
        ready.append(packet)
      }
      guard types.isBidirectional(ready[index]) == true else {
        ready[0].pts = ready[index].dts
        return
      }
      index += 1
    }
    guard index == ready.count else { return }
    // No reference picture follows, so it has the decoding time that would follow the last packet's (`FrameClock`).
    ready[0].pts = ready[index - 1].dts + ready[index - 1].duration
  }

  /// Matroska stores no decoding times. libavformat knows them once it has read as many pictures as a decoder holds
  /// back, so those of the first pictures are missing.
  private func stateDecodingTimes() {
    let unknown = ready.prefix { $0.dts == sheaf_no_pts && $0.hasPresentationTime }
    guard isVideo, !unknown.isEmpty else { return }
    var times: [Int64] = []
    if let known = ready.last?.dts, known != sheaf_no_pts {
      // Pictures are decoded at the distances at which they are shown.
      var time = known
      for packet in unknown.reversed() {
        time -= max(1, packet.duration)
        times.insert(time, at: 0)
      }
    } else {
      // In order of presentation, early enough for every picture.
      let shown = unknown.map(\.pts).sorted()
      let delay = zip(shown, unknown).map { $0 - $1.pts }.max() ?? 0
      times = shown.map { $0 - delay }
    }
    var last = lastDecoding
    for (packet, time) in zip(unknown, times) {
      packet.dts = last.map { max(time, $0 + 1) } ?? time
      last = packet.dts
    }
  }
}

extension UnsafeMutablePointer<AVStream> {
  var parameterSets: [UInt8] {
    let parameters = pointee.codecpar.pointee
    return Array(UnsafeBufferPointer(start: parameters.extradata, count: max(0, Int(parameters.extradata_size))))
  }

  /// The parameter sets without what is of this file only, as FLAC's number of samples and their MD5: packets of files
  /// in which these are equal can follow one another.
  var joinedParameterSets: [UInt8] {
    let sets = parameterSets
    guard pointee.codecpar.pointee.codec_id == AV_CODEC_ID_FLAC else { return sets }
    return FLACStreamInfo(sets)?.withoutContent.bytes ?? sets
  }
}

extension Packet {
  /// The presentation time in ticks, or else the decoding time; nil if the file states neither.
  package var statedTime: Int64? {
    if pts != sheaf_no_pts { return pts }
    return dts != sheaf_no_pts ? dts : nil
  }

  /// The decoding time in ticks, or else the presentation time.
  package var statedDecodingTime: Int64? {
    if dts != sheaf_no_pts { return dts }
    return pts != sheaf_no_pts ? pts : nil
  }
}

internal import CMedia
package import CompositionModel

/// Describes the contents of a media file exactly.
///
/// All packets of the video and audio tracks are read. Only the first frame of each video track is decoded, except where
/// the packets do not determine the frames' times (times are missing or doubled, or packets are not shown): there the
/// whole track is decoded. Time zero is the movie's own in files of the mov family that are not fragmented, where edit
/// lists place the tracks; in other files it is the earliest time at which a video or audio track presents anything.
/// Tracks whose codec this build cannot decode are left out, unless the file has no other.
package enum AssetProbe {
  /// - Parameter name: The file's name, for messages.
  /// - Throws: The first track's error where no track can be decoded.
  package static func probe(_ source: any ByteSource, name: String) throws(MediaError) -> AssetDescription {
    let demuxer = try Demuxer(source, name: name)
    var scans = try scan(demuxer)
    let isMovie = demuxer.formatName.hasPrefix("mov,")
    var findings: [TrackFinding] = []
    var refusal: MediaError?
    for case let stream? in demuxer.streams {
      guard let type = mediaType(of: stream) else { continue }
      var finding = try TrackFinding(
        stream, type: type, takesDefaultAsEnabled: isMovie || demuxer.formatName.hasPrefix("matroska"))
      do throws(MediaError) {
        switch type {
        case .video: try VideoTrackProbe(source, demuxer, stream).probe(&finding, &scans[finding.index]!)
        case .audio: try probeAudio(stream, scans[finding.index]!, &finding, name: name)
        case .subtitle, .metadata: break
        }
        findings.append(finding)
      } catch {
        if error.code == .io || error.code == .outOfMemory { throw error }
        refusal = refusal ?? error
      }
    }
    guard findings.contains(where: { $0.type == .video || $0.type == .audio }) else {
      throw refusal
        ?? MediaError(
          .unsupported, operation: "probing", subject: name, message: "it has no video track and no audio track")
    }
    let isFragmented = isMovie ? try hasFragments(source) : false
    let zero = isMovie && !isFragmented ? .zero : try earliestStart(findings)
    return try finish(&findings, zero: zero, demuxer)
  }

  /// Nil for streams that are not tracks of the asset: cover art and attachments.
  private static func mediaType(of stream: UnsafeMutablePointer<AVStream>) -> MediaType? {
    let cover = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
    switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: return stream.pointee.disposition & cover == 0 ? .video : nil
    case AVMEDIA_TYPE_AUDIO: return .audio
    case AVMEDIA_TYPE_SUBTITLE: return .subtitle
    case AVMEDIA_TYPE_DATA: return .metadata
    default: return nil
    }
  }

  private static func scan(_ demuxer: Demuxer) throws(MediaError) -> [Int: PacketScan] {
    var scans: [Int: PacketScan] = [:]
    for case let stream? in demuxer.streams {
      guard let type = mediaType(of: stream), type == .video || type == .audio else { continue }
      scans[Int(stream.pointee.index)] = PacketScan(stream)
    }
    demuxer.select { scans[Int($0.pointee.index)] != nil }
    let packet = try Packet()
    while try demuxer.read(into: packet) {
      scans[Int(packet.pointer.pointee.stream_index)]?.add(packet)
    }
    return scans
  }

  private static func probeAudio(
    _ stream: UnsafeMutablePointer<AVStream>, _ scan: PacketScan, _ finding: inout TrackFinding, name: String
  ) throws(MediaError) {
    // Opening the decoder throws where the codec cannot be decoded.
    _ = try Decoder(stream, name: name)
    let parameters = stream.pointee.codecpar.pointee
    guard parameters.sample_rate > 0, parameters.ch_layout.nb_channels > 0, scan.packetCount > 0 else {
      throw MediaError(
        .damaged, operation: "probing", subject: name,
        message: "audio track \(finding.index) has no samples that can be decoded")
    }
    let depth = max(parameters.bits_per_raw_sample, parameters.bits_per_coded_sample)
    let properties = avcodec_descriptor_get(parameters.codec_id)?.pointee.props ?? 0
    finding.start = scan.start
    finding.end = scan.end
    finding.description.audio = AudioFormat(
      sampleRate: Int(parameters.sample_rate), channels: Int(parameters.ch_layout.nb_channels),
      layout: layoutName(parameters.ch_layout),
      bitDepth: depth > 0 && properties & AV_CODEC_PROP_LOSSLESS != 0 ? Int(depth) : nil)
  }

  private static func earliestStart(_ findings: [TrackFinding]) throws(MediaError) -> Rational {
    var earliest: Rational?
    for finding in findings where finding.type == .video || finding.type == .audio {
      if let start = try finding.startTime { earliest = min(earliest ?? start, start) }
    }
    return earliest ?? .zero
  }

  private static func finish(
    _ findings: inout [TrackFinding], zero: Rational, _ demuxer: Demuxer
  ) throws(MediaError) -> AssetDescription {
    var duration = MediaTime.zero
    for index in findings.indices {
      try findings[index].place(zero: zero)
      findings[index].description.hasRoundedTimes = roundsTimes(demuxer, findings[index].description)
      try findings[index].restoreCadence()
      let track = findings[index].description
      if track.video?.isStill != true { duration = max(duration, track.range.end) }
    }
    let container = demuxer.formatName.split(separator: ",").first.map { String($0) } ?? demuxer.formatName
    return AssetDescription(
      container: container, duration: duration, tracks: findings.map(\.description),
      metadata: [String: String](metadata: demuxer.context.pointee.metadata))
  }

  /// Matroska, WebM and FLV store times in milliseconds, whatever the frame rate.
  private static func roundsTimes(_ demuxer: Demuxer, _ track: TrackDescription) -> Bool {
    let isMillisecond = track.timebase == MediaTime(value: 1, timescale: 1000)
    return isMillisecond && (demuxer.formatName.hasPrefix("matroska") || demuxer.formatName == "flv")
  }

  /// Whether a file of the mov family has fragments: `moof` boxes at its top level.
  private static func hasFragments(_ source: any ByteSource) throws(MediaError) -> Bool {
    var offset: Int64 = 0
    var boxes = 0
    while offset <= source.byteCount - 8, boxes < 100_000 {
      var head = [UInt8](repeating: 0, count: 16)
      let count = try head.withUnsafeMutableBufferPointer { buffer throws(MediaError) in
        try source.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
      guard count >= 8 else { return false }
      if head[4..<8].elementsEqual("moof".utf8) { return true }
      var size = head[0..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      if size == 1, count == 16 { size = head[8..<16].reduce(Int64(0)) { $0 << 8 | Int64($1) } }
      guard size >= 8, size <= source.byteCount - offset else { return false }
      offset += size
      boxes += 1
    }
    return false
  }
}

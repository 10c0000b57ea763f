internal import CMedia
package import CompositionModel

/// Finds out what is in a media file, exactly.
///
/// All packets of the video and audio tracks are read, none decoded but each video track's first; where packets do not
/// tell the frames' times (they are missing, doubled, or of pictures that a decoder would not show) the whole track is
/// decoded. Time zero is the movie's own in files of the mov family that are not fragmented, where edit lists place the
/// tracks; else it is the earliest time that a video or audio track presents anything. Tracks of codecs that this build
/// cannot decode are left out, unless no other is there.
package enum AssetProbe {
  /// - Parameter name: What messages call the file.
  /// - Throws: One error that says what is wrong with a file of which nothing can be decoded.
  package static func describe(_ source: any ByteSource, name: String) throws(MediaError) -> AssetDescription {
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
        case .video: try VideoTrackDescriber(source, demuxer, stream).describe(&finding, &scans[finding.index]!)
        case .audio: try AudioTrackDescriber(source, demuxer, stream).describe(&finding, scans[finding.index]!)
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
          .unsupported, operation: "describing", subject: name, message: "it has neither pictures nor sound")
    }
    let isFragmented = isMovie ? try MovieFragments.areIn(source) : false
    let zero = isMovie && !isFragmented ? .zero : try earliestStart(findings)
    return try finish(&findings, zero: zero, demuxer)
  }

  /// Nil for what is no track of the asset: cover art and attachments.
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
      try findings[index].settleCadence()
      let track = findings[index].description
      if track.video?.isStill != true { duration = max(duration, track.range.end) }
    }
    // ffmpeg names a demuxer by all formats that it reads.
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
}

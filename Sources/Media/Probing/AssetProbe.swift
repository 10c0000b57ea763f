internal import CMedia
package import CompositionModel

/// Describes the contents of a media file exactly.
///
/// All packets of the video and audio tracks are read. The first and the last packets of each audio track are decoded.
/// Only the first frame of each video track is decoded, unless the packets do not determine the frames' times (times
/// are missing, doubled or contradictory, or the packets do not show which of them are pictures): then the whole track
/// is decoded. Time zero is the movie's own in files of the mov family that are not fragmented, in which edit lists
/// place the tracks; in other files, and in movies of sound alone without edit lists, it is the earliest time at which
/// a video or audio track presents anything. Tracks whose codec this build cannot decode are left out, unless the file
/// has no other.
package enum AssetProbe {
  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - liveness: Advanced with every packet that is read and every picture that is decoded.
  /// - Throws: The first track's error if no track can be decoded.
  package static func probe(
    _ source: any ByteSource, name: String, liveness: Liveness? = nil
  ) throws(MediaError) -> AssetDescription {
    if try CubeFile.isOne(source) {
      let table = try CubeFile(source, name: name)
      return AssetDescription(container: "cube", duration: .zero, tracks: [], colourTable: table.format)
    }
    try requireReadable(source, name)
    do throws(MediaError) {
      return try describe(source, name, liveness)
    } catch {
      guard [.unrecognized, .unsupported, .damaged].contains(error.code), try isPictureInHEIF(source) else {
        throw error
      }
      throw MediaError(
        .unsupported, operation: "probing", subject: name,
        message: "it is a picture in HEIF, such as HEIC, of a kind that cannot be decoded; store it as JPEG or PNG, or "
          + "of a live photo use its movie, the .mov file beside it")
    }
  }

  private static func describe(
    _ source: any ByteSource, _ name: String, _ liveness: Liveness?
  ) throws(MediaError) -> AssetDescription {
    let reading = try read(source, name, liveness)
    var found = try findings(reading, source, liveness)
    let hasMedia = found.tracks.contains { $0.type == .video || $0.type == .audio }
    guard hasMedia || !reading.scans.scripts.isEmpty else {
      throw found.refusal
        ?? MediaError(
          .unsupported, operation: "probing", subject: name, message: "it has no video track and no audio track")
    }
    let demuxer = reading.demuxer
    let zero = try zero(reading, found.tracks, source)
    var description = try finish(&found.tracks, zero: zero, reading.scans.scripts, hasMedia: hasMedia, demuxer)
    if !found.failures.isEmpty { description.failures = found.failures }
    if demuxer.formatName.hasPrefix("matroska") { description.placeTimecode() }
    description.byteCount = source.byteCount
    description.attachedPictures = attachedPictures(demuxer)
    description.attachments = attachments(demuxer)
    description.chapters = chapters(demuxer, zero: zero)
    if description.duration > .zero {
      description.bitRate = Int(
        exactly: (Double(source.byteCount) * 8 / description.duration.approximateSeconds).rounded())
    }
    // libavformat takes the header of another file for a tag, and ends there or skips what it seems to hold.
    if demuxer.formatName == "flv" { description.unreadBytes = try secondFile(source, from: reading.end) }
    return description
  }

  /// Throws why a file that libavformat would open cannot be used.
  private static func requireReadable(_ source: any ByteSource, _ name: String) throws(MediaError) {
    if try isAnimatedWebP(source) {
      throw MediaError(
        .unsupported, operation: "probing", subject: name,
        message: "it is an animated WebP picture, which cannot be decoded; use an animated PNG or a video with alpha")
    }
    if try MovieClaims.concern(source) { try MovieClaims.check(source, name: name) }
  }

  /// What reading all packets of a file has shown.
  private struct Reading {
    var demuxer: Demuxer
    var scans: TrackScans
    /// Where timestamps start anew, by the stream's index. Those of `demuxer` are corrected.
    var discontinuities: [Int: [Discontinuity]]
    /// Whether the file is of the mov family.
    var isMovie: Bool
    /// The index of such a file.
    var movie: MovieTracks?
    /// Where the last packet that was read ends, in bytes.
    var end: Int64
  }

  private static func read(
    _ source: any ByteSource, _ name: String, _ liveness: Liveness?
  ) throws(MediaError) -> Reading {
    let format = try SubRipCheck.isOne(source, name: name) ? "srt" : nil
    var demuxer = try Demuxer(source, name: name, format: format, liveness: liveness)
    var places = DiscontinuityScan(demuxer)
    var scans = try scan(demuxer, source, liveness) { (packet, stream) throws(MediaError) in
      try places.add(packet, of: stream)
    }
    let discontinuities = try places.discontinuities()
    if !discontinuities.isEmpty {
      // Once more, with the times corrected.
      demuxer = try Demuxer(source, name: name, discontinuities: discontinuities, liveness: liveness)
      scans = try scan(demuxer, source, liveness) { (_, _) throws(MediaError) in }
    }
    let isMovie = demuxer.formatName.hasPrefix("mov,")
    return Reading(
      demuxer: demuxer, scans: scans, discontinuities: discontinuities, isMovie: isMovie,
      movie: isMovie ? try MovieTracks(source) : nil, end: places.end)
  }

  /// The tracks of a file, and those that cannot be described.
  private struct Findings {
    var tracks: [TrackFinding] = []
    var failures: [TrackFailure] = []
    /// The error of the first of `failures`.
    var refusal: MediaError?
  }

  private static func findings(
    _ reading: Reading, _ source: any ByteSource, _ liveness: Liveness?
  ) throws(MediaError) -> Findings {
    let (demuxer, scans) = (reading.demuxer, reading.scans)
    var found = Findings()
    var closed = Findings()
    for case let stream? in demuxer.streams {
      guard let type = scans.type(of: stream) else { continue }
      var finding = try TrackFinding(
        stream, type: type, takesDefaultAsEnabled: reading.isMovie || demuxer.formatName.hasPrefix("matroska"))
      finding.description.discontinuities = reading.discontinuities[finding.index]
      let index = reading.movie?[Int(stream.pointee.id)]
      if let movie = reading.movie, let index {
        finding.description.misplayedEdits = EditListScan.misplayedEdits(index, of: movie)
      }
      finding.description.alternateGroup = index?.alternateGroup
      do throws(MediaError) {
        switch type {
        case .video:
          let track = VideoTrackProbe(source, demuxer, stream, liveness: liveness)
          var packets = try scans.packets(of: stream)
          try track.probe(&finding, &packets)
          if let video = finding.description.video {
            finding.description.video?.cleanAperture = index?.cleanAperture?.part(of: video.size)
          }
          try findCaptions(between: finding, stream, scans, &closed)
        case .audio:
          let track = AudioTrackProbe(source, demuxer, stream, liveness: liveness)
          try track.probe(&finding, scans.sound(of: stream))
        case .subtitle, .metadata:
          finding.add(scans.extent(of: stream))
          if let extent = try scans.captions(of: stream)?.found.extent { (finding.start, finding.end) = extent }
        }
        found.tracks.append(finding)
      } catch {
        if error.code == .io || error.code == .outOfMemory { throw error }
        found.refusal = found.refusal ?? error
        found.failures.append(
          TrackFailure(
            index: finding.index, type: type, codec: finding.description.codec, message: error.message))
      }
    }
    // Behind the tracks that are streams, so that of several text tracks one of these is the first.
    found.tracks += closed.tracks
    found.failures += closed.failures
    return found
  }

  /// Adds the closed captions between the pictures of a video track, or why they cannot be read.
  private static func findCaptions(
    between pictures: TrackFinding, _ stream: UnsafeMutablePointer<AVStream>, _ scans: TrackScans,
    _ found: inout Findings
  ) throws(MediaError) {
    do throws(MediaError) {
      guard let captions = try scans.pictureCaptions(of: stream) else { return }
      found.tracks.append(try TrackFinding(captions.captions, codec: captions.codec, between: pictures))
    } catch {
      if error.code == .io || error.code == .outOfMemory { throw error }
      found.failures.append(
        TrackFailure(
          index: TrackDescription.captionIndex(ofPictures: pictures.index), type: .subtitle, codec: "closed captions",
          message: error.message))
    }
  }

  /// Time zero of a file: see `AssetProbe`.
  private static func zero(
    _ reading: Reading, _ tracks: [TrackFinding], _ source: any ByteSource
  ) throws(MediaError) -> Rational {
    guard reading.isMovie, try !hasFragments(source) else { return try earliestStart(tracks) }
    // Of sound without an edit list the encoder's delay is stated in iTunes' metadata, if it is.
    let isPlacedByEdits = tracks.contains { finding in
      finding.type == .video || finding.description.id.flatMap { reading.movie?[$0]?.editList } != nil
    }
    return isPlacedByEdits ? .zero : try earliestStart(tracks)
  }

  /// Reads the whole file, and calls `visit` with each packet of its video and audio tracks.
  private static func scan(
    _ demuxer: Demuxer, _ source: any ByteSource, _ liveness: Liveness?,
    visit: (Packet, UnsafeMutablePointer<AVStream>) throws(MediaError) -> Void
  ) throws(MediaError) -> TrackScans {
    let timecode = demuxer.formatName == "scc" ? try ScenaristTimecode(source) : nil
    let scans = TrackScans(demuxer, liveness, timecode)
    let packet = try Packet()
    while try demuxer.read(into: packet) {
      guard let stream = demuxer.streams[Int(packet.pointer.pointee.stream_index)] else { continue }
      if scans.type(of: stream)?.isMedia == true { try visit(packet, stream) }
      try scans.add(packet, of: stream)
    }
    scans.end()
    return scans
  }

  private static func attachedPictures(_ demuxer: Demuxer) -> [AttachedPicture]? {
    var pictures: [AttachedPicture] = []
    for case let stream? in demuxer.streams
    where stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO && TrackScans.mediaType(of: stream) == nil {
      let parameters = stream.pointee.codecpar!
      let stored = stream.pointee.attached_pic.size
      let size = PixelSize(width: Int(parameters.pointee.width), height: Int(parameters.pointee.height))
      var picture = AttachedPicture(
        index: Int(stream.pointee.index), codec: StoredCodec.name(parameters),
        size: size.width > 0 && size.height > 0 ? size : nil,
        metadata: [String: String](metadata: stream.pointee.metadata))
      if stored > 0 { picture.byteCount = Int(stored) }
      pictures.append(picture)
    }
    return pictures.isEmpty ? nil : pictures
  }

  /// The most attached files that a description has.
  private static let mostAttachments = 1000

  private static func attachments(_ demuxer: Demuxer) -> [AttachedFile]? {
    var files: [AttachedFile] = []
    for case let stream? in demuxer.streams
    where stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_ATTACHMENT && files.count < mostAttachments {
      let metadata = [String: String](metadata: stream.pointee.metadata)
      files.append(
        AttachedFile(
          index: Int(stream.pointee.index), name: metadata["filename"] ?? "a file", mediaType: metadata["mimetype"],
          byteCount: max(0, Int(stream.pointee.codecpar.pointee.extradata_size))))
    }
    return files.isEmpty ? nil : files
  }

  /// The most chapters that a description has.
  private static let mostChapters = 10_000

  /// Those whose times exact arithmetic can hold.
  private static func chapters(_ demuxer: Demuxer, zero: Rational) -> [Chapter]? {
    let count = min(Int(demuxer.context.pointee.nb_chapters), mostChapters)
    let chapters = (0..<count).compactMap { index -> Chapter? in
      guard let chapter = demuxer.context.pointee.chapters[index] else { return nil }
      let tick = MediaTime(chapter.pointee.time_base)
      do throws(TimeError) {
        let start = try MediaTime(tick.exact * Rational(chapter.pointee.start) - zero)
        let end = try MediaTime(tick.exact * Rational(chapter.pointee.end) - zero)
        guard start.isPlace, end.isPlace else { return nil }
        return Chapter(
          range: try MediaTimeRange(start: start, end: max(start, end)),
          title: [String: String](metadata: chapter.pointee.metadata)["title"])
      } catch { return nil }
    }
    return chapters.isEmpty ? nil : chapters.sorted { $0.range.start < $1.range.start }
  }

  private static func earliestStart(_ findings: [TrackFinding]) throws(MediaError) -> Rational {
    var earliest: Rational?
    for finding in findings where finding.type == .video || finding.type == .audio {
      if let start = try finding.startTime { earliest = min(earliest ?? start, start) }
    }
    return earliest ?? .zero
  }

  /// - Parameter hasMedia: whether the file's duration is that of its pictures and sound, and not of its captions.
  private static func finish(
    _ findings: inout [TrackFinding], zero: Rational, _ texts: [Int: TimedCaptions], hasMedia: Bool, _ demuxer: Demuxer
  ) throws(MediaError) -> AssetDescription {
    var duration = MediaTime.zero
    for index in findings.indices {
      try findings[index].place(zero: zero)
      findings[index].description.hasRoundedTimes = roundsTimes(demuxer, findings[index].description)
      try findings[index].restoreCadence()
      findings[index].description.captions = try texts[findings[index].index]?.captions(zero: zero)
      let track = findings[index].description
      // Subtitles and metadata may go on after the last picture.
      guard track.type == .video || track.type == .audio || !hasMedia, track.video?.isStill != true else { continue }
      duration = max(duration, track.range.end)
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

  /// The bytes from the header of a second Flash video on, which begins at most 4 KiB after the last packet of the
  /// first.
  private static func secondFile(_ source: any ByteSource, from end: Int64) throws(MediaError) -> Int64? {
    let bytes = try source.bytes(at: end, count: 4096)
    // The name, the version, flags, and the header's size.
    let place = bytes.indices.dropLast(8).first {
      bytes[$0..<($0 + 4)].elementsEqual([0x46, 0x4C, 0x56, 1])
        && bytes[($0 + 5)..<($0 + 9)].elementsEqual([0, 0, 0, 9])
    }
    return place.map { source.byteCount - end - Int64($0) }
  }

  /// Whether a file is a WebP picture whose header says that it is animated. libavcodec finds no picture in one.
  private static func isAnimatedWebP(_ source: any ByteSource) throws(MediaError) -> Bool {
    let head = try source.bytes(count: 21)
    return head.count == 21 && head[0..<4].elementsEqual("RIFF".utf8) && head[8..<16].elementsEqual("WEBPVP8X".utf8)
      && head[20] & 2 != 0
  }

  /// Whether a file says that it has still pictures in boxes: ISO/IEC 23008-12, 10.2.
  private static func isPictureInHEIF(_ source: any ByteSource) throws(MediaError) -> Bool {
    let head = try source.bytes(count: 12)
    guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8) else { return false }
    return ["heic", "heix", "mif1", "avif"].contains(String(decoding: head[8..<12], as: UTF8.self))
  }

  /// The most boxes of a file that are looked at.
  private static let mostBoxes = 100_000

  /// Whether a file of the mov family has fragments: `moof` boxes at its top level.
  private static func hasFragments(_ source: any ByteSource) throws(MediaError) -> Bool {
    var boxes = MovieBoxes(source)
    for _ in 0..<mostBoxes {
      guard let box = try boxes.next() else { return false }
      if box.type == "moof" { return true }
    }
    return false
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

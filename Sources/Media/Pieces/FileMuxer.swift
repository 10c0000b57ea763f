internal import CMedia
package import CompositionModel
package import PieceFiles

/// Writes the output file from the packets of finished pieces, to an open descriptor that can seek. The
/// same headers and packets in the same order give the same bytes.
package final class FileMuxer: CaptionMuxer {
  package struct Track: Sendable {
    package var header: PieceHeader
    /// Exactly as many packets as will be written. It determines the room for the index if that comes first.
    package var packetCount: Int
    /// Seconds that are presented, from time zero.
    package var duration: MediaTime
    /// Nil: it has neither a language nor a title.
    package var label: TrackLabel?

    package init(header: PieceHeader, packetCount: Int, duration: MediaTime, label: TrackLabel? = nil) {
      self.label = label
      self.header = header
      self.packetCount = packetCount
      self.duration = duration
    }
  }

  let file: MuxerFile
  private let tracks: [Track]
  private let texts: [TextTrack]
  private let container: Container

  /// - Parameters:
  ///   - descriptor: A descriptor of an empty file, which can be read if it is a movie. The caller closes it.
  ///   - start: The place of the file's first byte in that of the descriptor.
  ///   - name: The output's name, for messages.
  ///   - texts: The text tracks, which follow `tracks`.
  ///   - indexFirst: Puts the index before the data, so that a player can start with the file's first bytes.
  ///   - metadata: By libavformat's key, such as `title`.
  ///   - chapters: On the output's timeline, kept to the microsecond.
  ///   - rotation: Degrees clockwise, 0, 90, 180 or 270, by which players turn the pictures.
  ///   - plays: How often an animated picture is played. Nil: for ever.
  ///   - artwork: The picture that players show for the file.
  ///   - liveness: Advanced with every packet that is written.
  package init(
    descriptor: Int32, from start: Int64 = 0, name: String, container: Container, tracks: [Track],
    texts: [TextTrack] = [], indexFirst: Bool, metadata: [String: String], chapters: [Chapter] = [], rotation: Int = 0,
    plays: Int? = nil, artwork: ArtworkFile? = nil, liveness: Liveness? = nil
  ) throws(MediaError) {
    self.tracks = tracks
    self.texts = texts
    self.container = container
    file = try MuxerFile(
      descriptor: descriptor, from: start, name: name, container: container, liveness: liveness)
    file.add(metadata)
    for track in tracks { try addStream(track, rotation: rotation) }
    for text in texts { try file.addStream(text) }
    try file.add(chapters)
    if let artwork { try file.add(artwork) }
    let layout = IndexLayout(
      container: container, tracks: tracks, texts: texts, metadata: metadata, chapters: chapters,
      artworkBound: ArtworkWriter.growth(artwork), plays: plays)
    try file.start(try layout.options(indexFirst: indexFirst))
  }

  private func addStream(_ track: Track, rotation: Int) throws(MediaError) {
    var header = track.header
    if container == .apng, case .video(let video) = header.media { header.extradata = PNGChunks.head(video.size) }
    if container == .flac || container == .ogg { header.stateSampleCount(track.duration) }
    let stream = try file.newStream()
    try header.fill(stream, file.name)
    stream.pointee.time_base = header.avTimebase
    stream.pointee.disposition = AV_DISPOSITION_DEFAULT
    if let label = track.label { file.state(label, of: stream) }
    if let tag = header.quickTimeTag, tag.utf8.count == 4 {
      stream.pointee.codecpar.pointee.codec_tag = tag.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
    if case .video(let video) = header.media {
      stream.pointee.avg_frame_rate = AVRational(num: header.avTimebase.den, den: header.avTimebase.num)
      stream.pointee.r_frame_rate = stream.pointee.avg_frame_rate
      stream.pointee.sample_aspect_ratio = video.pixelAspect.avRational
      if rotation != 0 { try file.turn(stream, by: rotation) }
    }
  }

  /// Writes a packet, which the muxer may change and keep.
  ///
  /// Its pts and dts are on the output's timeline, in ticks of the timebase of its track's header: the first frame
  /// shown has pts 0 (dts may be negative), and audio starts at minus its initial padding. Each track's packets come in
  /// order of dts. The muxer interleaves the tracks and holds packets back until every track has one, so packets of all
  /// tracks should come in about the order of time.
  /// - Parameter discarded: Decoded samples at the end of an audio packet that are not to be presented.
  package func write(_ packet: Packet, track: Int, discarded: Int = 0) throws(MediaError) {
    guard tracks.indices.contains(track) else { throw file.lack(ofTrack: track) }
    let isHidden = try hidePriming(packet, tracks[track].header)
    if case .video(let video) = tracks[track].header.media, container.isAnimatedImage {
      return try write(packet, ofImage: video, tracks[track])
    }
    // The muxer of MP3 takes the encoder's delay from the first packet alone.
    let priming = container == .mp3 ? max(0, -Int(packet.pts)) : 0
    if discarded > 0 || priming > 0, !isHidden { try packet.skipSamples(atStart: priming, atEnd: discarded) }
    try file.write(packet, stream: track, timebase: tracks[track].header.avTimebase)
  }

  /// Writes a picture of an animated picture. Its times are rounded by themselves, so that the errors never add up.
  private func write(_ packet: Packet, ofImage video: EncodedVideo, _ track: Track) throws(MediaError) {
    let (index, timebase) = (packet.pts, track.header.timebase)
    let written: Packet
    switch container {
    case .gif where index == 0:
      written = try Packet(
        copying: GIFHead.bytes(video.size) + packet.withBytes { [UInt8]($0) }, timesOf: packet)
    case .apng:
      let chunks = packet.withBytes {
        PNGChunks.animated($0, index: index, size: video.size, delay: timebase)
      }
      written = try Packet(copying: chunks, timesOf: packet)
    default: written = packet
    }
    guard let tick = container.tick else {
      return try file.write(written, stream: 0, timebase: track.header.avTimebase)
    }
    let start = try ImageTimes.ticks(before: index, timebase, tick)
    (written.pts, written.dts) = (start, start)
    written.duration = try ImageTimes.ticks(before: index + 1, timebase, tick) - start
    try file.write(written, stream: 0, timebase: AVRational(num: Int32(clamping: tick.value), den: tick.timescale))
  }

  /// Begins another fragment of a file of a playlist with the next packet, of which there is one before.
  package func beginFragment() throws(MediaError) { try file.endFragment() }

  package func write(_ caption: EncodedCaption, text track: Int) throws(MediaError) {
    guard texts.indices.contains(track) else { throw file.lack(ofTrack: tracks.count + track) }
    try file.write(caption, stream: tracks.count + track)
  }

  /// Matroska has no edit lists. Opus has a codec delay there, which players subtract from the blocks' times, so that
  /// the first block is at zero. libavformat writes it for no other codec: of those a packet before time zero is placed
  /// at zero and marked so that all its samples are discarded.
  private func hidePriming(_ packet: Packet, _ header: PieceHeader) throws(MediaError) -> Bool {
    guard container.isMatroska, case .audio(let audio) = header.media else { return false }
    if header.codec == "opus" {
      packet.pts += Int64(audio.initialPadding)
      packet.dts += Int64(audio.initialPadding)
      return false
    }
    guard audio.frameSize > 0, packet.pts + packet.duration <= 0 else { return false }
    packet.pts = 0
    packet.dts = 0
    try packet.skipSamples(atEnd: audio.frameSize)
    return true
  }

  /// Writes the packets that are held back, and the index.
  package func finish() throws(MediaError) { try file.finish() }

  /// Bytes in the file so far.
  package var byteCount: Int64 { file.byteCount }
}

/// The times of pictures in containers that have them in whole ticks.
enum ImageTimes {
  /// The ticks before a picture: the nearest number of them, halves up.
  static func ticks(before picture: Int64, _ frameDuration: MediaTime, _ tick: MediaTime) throws(MediaError) -> Int64 {
    do throws(TimeError) {
      return Int64(clamping: try ((frameDuration * Rational(picture)).exact / tick.exact).rounded)
    } catch {
      throw MediaError(.invalidRequest, operation: "writing", subject: "picture \(picture)", message: "\(error)")
    }
  }
}

extension PieceHeader {
  /// Writes the number of samples of FLAC into its stream info, which had none when the encoder began. A FLAC or Ogg
  /// file has its duration nowhere else.
  fileprivate mutating func stateSampleCount(_ duration: MediaTime) {
    guard codec == "flac", duration.timescale == timebase.timescale, var info = FLACStreamInfo(extradata) else {
      return
    }
    info.sampleCount = UInt64(clamping: duration.value)
    extradata = info.bytes
  }
}

/// The muxers' options: exact timescales, and room for the index before the data.
private struct IndexLayout {
  let container: Container
  let tracks: [FileMuxer.Track]
  let texts: [TextTrack]
  let metadata: [String: String]
  let chapters: [Chapter]
  let artworkBound: Int
  let plays: Int?

  func options(indexFirst: Bool) throws(MediaError) -> [(key: String, value: String)] {
    switch container {
    case .mkv, .webm: return indexFirst ? [("reserve_index_space", "\(cuesBound)")] : []
    // From 4 GiB on a file has the 64-bit form.
    case .wav: return [("rf64", "auto")]
    case .flac, .mp3, .ogg, .mxf: return []
    case .gif:
      // The number of times that it is repeated; -1 states none.
      let loops = plays.map { $0 == 0 ? 0 : $0 == 1 ? -1 : $0 - 1 } ?? 0
      return [("loop", "\(loops)")] + (try lastDelay().map { [("final_delay", "\($0)")] } ?? [])
    case .apng: return [("plays", "\(plays ?? 0)")]
    case .webp: return [("loop", "\(plays ?? 0)")]
    // As CMAF has it, where the edit list places the track: fragments are ended by the caller.
    case .m3u8, .mpd:
      return movieOptions + [("movflags", "+cmaf+delay_moov+frag_custom+skip_trailer"), ("use_editlist", "1")]
    case .mp4, .mov, .m4v, .m4a: return movieOptions + (indexFirst ? [("moov_size", "\(moovBound)")] : [])
    }
  }

  private var movieOptions: [(key: String, value: String)] {
    var options = [
      (key: "movie_timescale", value: "\(MuxerFile.movieTimescale(tracks.map(\.header.timebase.timescale)))")
    ]
    if let timescale = videoTimescale { options.append(("video_track_timescale", "\(timescale)")) }
    return options
  }

  /// The frame duration's timescale, doubled until it is fine enough for players that round to it.
  private var videoTimescale: Int32? {
    guard let video = tracks.first(where: { $0.header.isVideo }) else { return nil }
    var timescale = video.header.timebase.timescale
    while timescale < 10000 { timescale *= 2 }
    return timescale
  }

  /// The ticks for which the last picture of an animated picture is shown.
  private func lastDelay() throws(MediaError) -> Int64? {
    guard let track = tracks.first, let tick = container.tick else { return nil }
    let (last, timebase) = (Int64(track.packetCount) - 1, track.header.timebase)
    return try ImageTimes.ticks(before: last + 1, timebase, tick) - ImageTimes.ticks(before: last, timebase, tick)
  }

  /// An upper bound in bytes for the headers of these tracks and metadata, without what grows with the packets.
  private var fixedBound: Int {
    let values = metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 128 }
    // In the movie's own list and in a track of texts.
    let titles = chapters.reduce(chapters.isEmpty ? 0 : 2048) { $0 + ($1.title?.utf8.count ?? 0) + 128 }
    return 4096 + artworkBound + values + titles
      + tracks.reduce(0) { $0 + $1.header.extradata.count + 2048 + ($1.label?.title?.utf8.count ?? 0) }
      + texts.reduce(0) { $0 + $1.extradata.count + 4096 + ($1.description.label.title?.utf8.count ?? 0) }
  }

  /// A packet takes at most: size 4, sync sample 4, decoding time 8, composition offset 8, and, if it is a chunk of its
  /// own, 12 + 8.
  private var moovBound: Int {
    fixedBound + tracks.reduce(0) { $0 + $1.packetCount * ($1.header.isVideo ? 44 : 32) }
      + texts.reduce(0) { $0 + $1.packetCount * 44 }
  }

  /// A cue point takes at most: its head 2, time 10, position's head 2, track 3, cluster 10, relative position 10.
  private var cuesBound: Int {
    let cued = tracks.first { $0.header.isVideo } ?? tracks.first
    // Each caption is cued too.
    return 64 + ((cued?.packetCount ?? 0) + texts.reduce(0) { $0 + $1.packetCount }) * 40
  }
}

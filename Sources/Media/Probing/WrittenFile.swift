internal import CMedia
package import CompositionModel

/// What a reader finds in a file that has just been written. The index, the packets around the first picture and, where
/// the container has no index of all packets, the last packets are read. One picture is decoded.
package struct WrittenFile: Sendable {
  package struct Track: Sendable, Hashable {
    package var type: MediaType
    /// libavcodec's name of the codec.
    package var codec: String
    /// As the index states it. Nil: the container has no such index.
    package var packetCount: Int?
    /// In seconds, of what is presented first. Nil: it is not known.
    package var start: Double?
    /// In seconds. Nil: it is not known.
    package var end: Double?
    /// The end if the duration that was found counts from zero: of a track that begins later and whose edit list cuts
    /// off its end, libavformat states where it ends, and of others how long its packets are.
    package var cutEnd: Double?
    /// Set for video tracks only.
    package var picture: FirstPicture?

    package init(
      type: MediaType, codec: String, packetCount: Int? = nil, start: Double? = nil, end: Double? = nil,
      picture: FirstPicture? = nil
    ) {
      (self.type, self.codec, self.packetCount) = (type, codec, packetCount)
      (self.start, self.end, self.picture) = (start, end, picture)
    }
  }

  /// What becomes of the first picture of a track.
  package enum FirstPicture: Sendable, Hashable {
    case decoded
    /// No packet of the track is presented.
    case missing
    /// None of the first packets gives a picture.
    case undecodable
    /// This build has no decoder of the codec.
    case untried
  }

  /// The most packets of a track that are decoded for its first picture: more than encoders put between two keyframes
  /// by themselves.
  private static let mostPackets = 600
  /// The most bytes of them.
  private static let mostBytes = 64 << 20
  /// More pictures than any codec decodes ahead of the one that is shown.
  private static let mostReordered = 20

  /// In the file's order, without cover art.
  package private(set) var tracks: [Track] = []

  /// - Parameters:
  ///   - source: The complete file.
  ///   - name: The file's name, for messages.
  ///   - end: Where the longest track should end, in seconds.
  ///   - liveness: Advanced with every packet that is read.
  package init(
    _ source: any ByteSource, name: String, container: Container, end: Double, liveness: Liveness? = nil
  ) throws(MediaError) {
    // libavformat reads still pictures of this format alone.
    if container == .webp {
      tracks = [try WebPFile(source, name: name, liveness: liveness).track]
      return
    }
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let covers = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
    var streams: [UnsafeMutablePointer<AVStream>] = []
    for case let stream? in demuxer.streams where stream.pointee.disposition & covers == 0 {
      guard let type = Self.type(of: stream) else { continue }
      streams.append(stream)
      var track = Track(type: type, codec: StoredCodec.name(stream.pointee.codecpar))
      if stream.pointee.nb_frames > 0 { track.packetCount = Int(clamping: stream.pointee.nb_frames) }
      track.start = Self.seconds(stream.pointee.start_time, stream)
      if let length = Self.seconds(stream.pointee.duration, stream), length > 0 {
        track.end = (track.start ?? 0) + length
        if container.hasEditLists { track.cutEnd = length }
      }
      tracks.append(track)
    }
    let media = streams.indices.filter { tracks[$0].type == .video || tracks[$0].type == .audio }
    // From the head of the file, before anything else is read.
    let heads = try Self.heads(demuxer, of: media.filter { tracks[$0].type == .video }.map { streams[$0] })
    for index in media {
      guard let head = heads[Int(streams[index].pointee.index)] else { continue }
      tracks[index].picture = try head.picture(of: streams[index], name: name)
      tracks[index].start = head.start.flatMap { Self.seconds($0, streams[index]) }
    }
    if media.contains(where: { tracks[$0].end == nil }) {
      let ends = try Self.ends(demuxer, from: end, of: media.map { streams[$0] })
      for index in media where tracks[index].end == nil { tracks[index].end = ends[Int(streams[index].pointee.index)] }
    }
  }

  private static func type(of stream: UnsafeMutablePointer<AVStream>) -> MediaType? {
    switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: .video
    case AVMEDIA_TYPE_AUDIO: .audio
    case AVMEDIA_TYPE_SUBTITLE: .subtitle
    default: nil
    }
  }

  private static func seconds(_ ticks: Int64, _ stream: UnsafeMutablePointer<AVStream>) -> Double? {
    ticks == sheaf_no_pts ? nil : Double(ticks) * av_q2d(stream.pointee.time_base)
  }

  /// The first packets of a track.
  private struct Head {
    private var packets: [Packet] = []
    private var byteCount = 0
    /// Whether one of `packets` is presented.
    private var reachesShown = false
    /// How many of those that were read are presented.
    private(set) var shown = 0
    /// The earliest time of these, in ticks.
    private(set) var start: Int64?

    mutating func add(_ packet: Packet) {
      let isShown = !packet.isDiscarded && packet.statedTime != nil
      if packets.isEmpty || packets.count < mostPackets && byteCount < mostBytes {
        packets.append(packet)
        byteCount += packet.byteCount
        reachesShown = reachesShown || isShown
      }
      guard isShown, let time = packet.statedTime else { return }
      shown += 1
      start = min(start ?? time, time)
    }

    func picture(of stream: UnsafeMutablePointer<AVStream>, name: String) throws(MediaError) -> FirstPicture {
      guard start != nil else { return .missing }
      guard avcodec_find_decoder(stream.pointee.codecpar.pointee.codec_id) != nil else { return .untried }
      // Of pictures that are too far from the keyframe before, it is the keyframe that has to decode.
      if !reachesShown, let first = packets.first { first.isDiscarded = false }
      return try decodes(stream, name) ? .decoded : .undecodable
    }

    /// Whether a picture that is presented comes out, as a reader decodes. The first packet may not suffice: it may not
    /// be presented, be one field, or be damaged in the file that was copied.
    private func decodes(_ stream: UnsafeMutablePointer<AVStream>, _ name: String) throws(MediaError) -> Bool {
      let decoder = try Decoder(stream, name: name)
      // What the pictures look like is not looked at.
      decoder.context.pointee.skip_loop_filter = AVDISCARD_ALL
      let frame = try Frame()
      for packet in packets {
        // Pictures that are not presented are decoded only if others refer to them.
        decoder.context.pointee.skip_frame = packet.isDiscarded ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
        try decoder.send(packet)
        if try decoder.receive(frame.pointer) { return true }
      }
      try decoder.send(nil)
      return try decoder.receive(frame.pointer)
    }
  }

  /// Reads the first packets of tracks, by the number of the track. Those that are presented first are among them.
  private static func heads(
    _ demuxer: Demuxer, of streams: [UnsafeMutablePointer<AVStream>]
  ) throws(MediaError) -> [Int: Head] {
    var heads = Dictionary(streams.map { (Int($0.pointee.index), Head()) }) { first, _ in first }
    demuxer.select { streams.contains($0) }
    while heads.values.contains(where: { $0.shown < mostReordered }) {
      let packet = try Packet()
      guard try demuxer.read(into: packet) else { break }
      heads[Int(packet.pointer.pointee.stream_index)]?.add(packet)
    }
    return heads
  }

  /// Reads the packets from the last place before a time where reading can begin.
  /// - Returns: By the number of the track, where its last packet ends, in seconds.
  private static func ends(
    _ demuxer: Demuxer, from time: Double, of streams: [UnsafeMutablePointer<AVStream>]
  ) throws(MediaError) -> [Int: Double] {
    var ends: [Int: Double] = [:]
    guard let first = streams.first else { return ends }
    demuxer.select { streams.contains($0) }
    let tick = av_q2d(first.pointee.time_base)
    // Packets of several tracks are stored up to a second apart.
    let place = Int64(max(0, time - 1) / max(tick, 1e-9))
    _ = try demuxer.seek(Int(first.pointee.index), to: place)
    let packet = try Packet()
    while try demuxer.read(into: packet) {
      let index = Int(packet.pointer.pointee.stream_index)
      guard let stream = demuxer.streams[index], packet.hasPresentationTime,
        let end = seconds(packet.pts + max(0, packet.duration), stream)
      else { continue }
      ends[index] = max(ends[index] ?? end, end)
    }
    return ends
  }
}

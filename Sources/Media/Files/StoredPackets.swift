internal import CMedia
package import CompositionModel

/// The stored packets of one track of a file, from a keyframe or from the head of the file on, in the file's order.
package final class StoredPackets {
  let demuxer: Demuxer
  let stream: UnsafeMutablePointer<AVStream>
  private let track: Int
  private var first: Packet?

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - codec: The described track's, and so is the timebase. Others are refused.
  ///   - start: Nil: the head of the file.
  package init(
    _ source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime,
    discontinuities: [Discontinuity]?, from start: Keyframe?, movement: Movement?
  ) throws(MediaError) {
    self.track = track
    let places = discontinuities.map { [track: $0] } ?? [:]
    func open() throws(MediaError) -> (Demuxer, UnsafeMutablePointer<AVStream>) {
      let demuxer = try Demuxer(source, name: name, discontinuities: places, movement: movement)
      let stream = try demuxer.stream(track)
      let found = Decoder.codecName(stream.pointee.codecpar)
      guard found == codec, MediaTime(stream.pointee.time_base) == timebase else {
        throw MediaError(
          .noTrack, operation: "opening", subject: name,
          message: "track \(track) is \(found); \(codec) was expected, so the file is not the one that was described")
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
      first = packet
    }
    (self.demuxer, self.stream) = (demuxer, stream)
  }

  private static func packet(
    at keyframe: Keyframe, _ demuxer: Demuxer, _ track: Int, stopsWhenPast: Bool
  ) throws(MediaError) -> Packet? {
    let packet = try Packet()
    while try demuxer.read(into: packet, ofTrack: track) {
      if keyframe.isPacket(packet) { return packet }
      if stopsWhenPast, packet.dts != sheaf_no_pts, packet.dts > keyframe.dts { return nil }
    }
    return nil
  }

  /// The next packet; nil after the last. One without times has those of the one that is missing.
  package func next() throws(MediaError) -> Packet? {
    if let packet = first {
      first = nil
      return packet
    }
    let packet = try Packet()
    return try demuxer.read(into: packet, ofTrack: track) ? packet : nil
  }

  /// The codec's parameter sets; empty if it has none.
  package var parameterSets: [UInt8] { stream.parameterSets }

  /// How many packets before the first that is heard a decoder needs, so that it is whole.
  package var prerollPackets: Int {
    switch stream.pointee.codecpar.pointee.codec_id {
    case AV_CODEC_ID_AAC, AV_CODEC_ID_MP3, AV_CODEC_ID_VORBIS, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3: 1
    case AV_CODEC_ID_OPUS: 4
    default: 0
    }
  }

  package var isVideo: Bool { stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO }
}

extension UnsafeMutablePointer<AVStream> {
  var parameterSets: [UInt8] {
    let parameters = pointee.codecpar.pointee
    return Array(UnsafeBufferPointer(start: parameters.extradata, count: max(0, Int(parameters.extradata_size))))
  }
}

/// Writes stored packets of other files to a file, to an open descriptor that can seek and read.
package final class CopyMuxer {
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let io: LibavIO
  private let name: String
  private let movement: Movement?
  private let timebases: [AVRational]
  private let descriptor: Int32
  private var artwork: ArtworkWriter?
  /// Of the complete file.
  private var size: Int64?

  /// - Parameters:
  ///   - tracks: Those whose formats the output's have, in order.
  ///   - artwork: The picture that players show for the file.
  package init(
    descriptor: Int32, name: String, container: Container, tracks: [StoredPackets],
    metadata: [String: String], artwork: ArtworkFile? = nil, movement: Movement? = nil
  ) throws(MediaError) {
    sheaf_log_capture()
    self.name = name
    self.movement = movement
    self.descriptor = descriptor
    timebases = tracks.map(\.stream.pointee.time_base)
    io = try LibavIO(writing: descriptor, name: name, movement: movement)
    var made: UnsafeMutablePointer<AVFormatContext>?
    try check(avformat_alloc_output_context2(&made, nil, container.formatName, nil), "opening the output", name)
    context = try allocated(made, "opening the output")
    context.pointee.pb = io.context
    context.pointee.flags |= AVFMT_FLAG_BITEXACT
    context.pointee.avoid_negative_ts = 0
    context.pointee.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL
    sheaf_refuse_other_files(context)
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      av_dict_set(&context.pointee.metadata, key, value, 0)
    }
    for track in tracks { try addStream(like: track.stream) }
    self.artwork = try artwork.map { [context] artwork throws(MediaError) in
      try ArtworkWriter(artwork, to: context, container, name: name)
    }
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    if container.hasEditLists {
      av_dict_set(&options, "movie_timescale", "\(Self.movieTimescale(timebases))", 0)
      if container == .m4v { av_dict_set(&options, "brand", "M4V ", 0) }
    }
    let result = avformat_write_header(context, &options)
    try io.rethrow()
    try check(result, "starting", name)
    try self.artwork?.writePacket(to: context, name: name)
    try io.rethrow()
  }

  deinit {
    avformat_free_context(context)
  }

  private func addStream(like source: UnsafeMutablePointer<AVStream>) throws(MediaError) {
    let stream = try allocated(avformat_new_stream(context, nil), "opening the output")
    try check(avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar), "opening", name)
    let parameters = stream.pointee.codecpar!
    let format = context.pointee.oformat!
    // A tag is kept if it means the same in the output.
    let tag = parameters.pointee.codec_tag
    if av_codec_get_id(format.pointee.codec_tag, tag) != parameters.pointee.codec_id {
      parameters.pointee.codec_tag = 0
    }
    stream.pointee.time_base = source.pointee.time_base
    stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
    stream.pointee.r_frame_rate = source.pointee.r_frame_rate
    stream.pointee.sample_aspect_ratio = source.pointee.sample_aspect_ratio
    stream.pointee.disposition = AV_DISPOSITION_DEFAULT
    if let language = av_dict_get(source.pointee.metadata, "language", nil, 0) {
      av_dict_set(&stream.pointee.metadata, "language", language.pointee.value, 0)
    }
    for index in 0..<Int(source.pointee.nb_side_data) {
      // The orientation, and what displays need for high dynamic range.
      let side = source.pointee.side_data[index]
      guard side.size > 0, let data = av_stream_new_side_data(stream, side.type, side.size) else { continue }
      data.update(from: side.data, count: side.size)
    }
  }

  /// The smallest timescale in which every track's times are whole, at least 1000. Edit lists count in it.
  private static func movieTimescale(_ timebases: [AVRational]) -> Int64 {
    var least: Int64 = 1
    for timebase in timebases {
      let scale = Int64(timebase.den)
      var (a, b) = (least, scale)
      while b != 0 { (a, b) = (b, a % b) }
      let product = least / a * scale
      if product <= Int64(Int32.max) { least = product }
    }
    while least < 1000 { least *= 2 }
    return least
  }

  /// Writes a packet, whose times are on the output's timeline in ticks of its track.
  package func write(_ packet: Packet, track: Int) throws(MediaError) {
    guard timebases.indices.contains(track), let stream = context.pointee.streams[track] else {
      throw MediaError(.invalidRequest, operation: "writing", subject: name, message: "it has no track \(track)")
    }
    packet.pointer.pointee.stream_index = Int32(track)
    packet.pointer.pointee.pos = -1
    av_packet_rescale_ts(packet.pointer, timebases[track], stream.pointee.time_base)
    let result = av_interleaved_write_frame(context, packet.pointer)
    try io.rethrow()
    try check(result, "writing", name)
    movement?.advance()
  }

  /// Writes the packets that are held back, and the index.
  package func finish() throws(MediaError) {
    let result = av_write_trailer(context)
    try io.rethrow()
    try check(result, "finishing", name)
    try io.flush()
    size = try artwork?.complete(descriptor, size: io.byteCount, name: name)
  }

  /// Bytes in the file so far.
  package var byteCount: Int64 { size ?? io.byteCount }
}

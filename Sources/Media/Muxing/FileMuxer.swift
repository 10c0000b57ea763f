internal import CMedia
package import CompositionModel

/// Writes the output file: packets of finished pieces and sound into mp4, mov or mkv, on an opened descriptor that can
/// seek. Same headers, packets and order: the same bytes.
package final class FileMuxer {
  package struct Track: Sendable {
    package var header: PieceHeader
    /// Exactly as many as will be written; bounds the index where it comes first.
    package var packetCount: Int
    /// Seconds that are seen or heard, from time zero.
    package var duration: MediaTime

    package init(header: PieceHeader, packetCount: Int, duration: MediaTime) {
      self.header = header
      self.packetCount = packetCount
      self.duration = duration
    }
  }

  private let context: UnsafeMutablePointer<AVFormatContext>
  private let io: FileIO
  private let name: String
  private let tracks: [Track]
  private let isMatroska: Bool
  private var isFinished = false

  /// The descriptor stays the caller's; the file must be empty.
  /// - Parameters:
  ///   - name: What messages call the output.
  ///   - indexFirst: Room for the index is kept before the data, so that a player can start with the file's first bytes.
  ///   - metadata: By libavformat's key, such as `title`.
  package init(
    descriptor: Int32, name: String, container: Container, tracks: [Track], indexFirst: Bool,
    metadata: [String: String]
  ) throws(MediaError) {
    sheaf_log_capture()
    self.name = name
    self.tracks = tracks
    isMatroska = container == .mkv
    io = try FileIO(descriptor: descriptor, name: name)
    var made: UnsafeMutablePointer<AVFormatContext>?
    try check(avformat_alloc_output_context2(&made, nil, container.formatName, nil), "opening the output", name)
    context = try allocated(made, "opening the output")
    context.pointee.pb = io.context
    context.pointee.flags |= AVFMT_FLAG_BITEXACT
    // Timestamps are final: the priming before time zero is for the container to hide.
    context.pointee.avoid_negative_ts = 0
    // FLAC in MP4, which has been specified since libavformat called it experimental.
    context.pointee.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL
    sheaf_refuse_other_files(context)
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      av_dict_set(&context.pointee.metadata, key, value, 0)
    }
    for track in tracks { try addStream(track.header) }
    let layout = IndexLayout(container: container, tracks: tracks, metadata: metadata)
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    for option in layout.options(indexFirst: indexFirst) { av_dict_set(&options, option.key, option.value, 0) }
    let result = avformat_write_header(context, &options)
    try io.rethrow()
    try check(result, "starting", name)
  }

  deinit {
    avformat_free_context(context)
  }

  private func addStream(_ header: PieceHeader) throws(MediaError) {
    let stream = try allocated(avformat_new_stream(context, nil), "opening the output")
    try header.fill(stream, name)
    stream.pointee.time_base = header.avTimebase
    stream.pointee.disposition = AV_DISPOSITION_DEFAULT
    if case .video(let video) = header.media {
      stream.pointee.avg_frame_rate = AVRational(num: header.avTimebase.den, den: header.avTimebase.num)
      stream.pointee.r_frame_rate = stream.pointee.avg_frame_rate
      stream.pointee.sample_aspect_ratio = video.pixelAspect.avRational
    }
  }

  /// Takes a packet over. Its pts and dts are on the whole film's time in ticks of its track's header's timebase: the
  /// first frame seen has pts 0 (dts may be negative), sound starts at minus its initial padding. Each track's packets
  /// come in order of dts; the muxer interleaves the tracks, holding packets back until every track has one, so they
  /// should come about in time order.
  /// - Parameter discarded: Samples at the end of a sound packet, as decoded, that are not to be heard.
  package func write(_ packet: Packet, track: Int, discarded: Int = 0) throws(MediaError) {
    guard tracks.indices.contains(track), let stream = context.pointee.streams[track] else {
      throw MediaError(.invalidRequest, operation: "writing", subject: name, message: "it has no track \(track)")
    }
    packet.pointer.pointee.stream_index = Int32(track)
    packet.pointer.pointee.pos = -1
    let isHidden = try hidePriming(packet, tracks[track].header)
    if discarded > 0, !isHidden { try packet.discardAtEnd(discarded) }
    av_packet_rescale_ts(packet.pointer, tracks[track].header.avTimebase, stream.pointee.time_base)
    let result = av_interleaved_write_frame(context, packet.pointer)
    try io.rethrow()
    try check(result, "writing", name)
  }

  /// Matroska has no edit lists, and libavformat writes its codec delay for Opus alone. So a packet before time zero says
  /// that all its samples are to be discarded, and stands at zero, where nothing is heard of it.
  private func hidePriming(_ packet: Packet, _ header: PieceHeader) throws(MediaError) -> Bool {
    guard isMatroska, case .audio(let audio) = header.media, audio.frameSize > 0, packet.pts + packet.duration <= 0
    else { return false }
    packet.pts = 0
    packet.dts = 0
    try packet.discardAtEnd(audio.frameSize)
    return true
  }

  /// Writes what is held back, and the index.
  package func finish() throws(MediaError) {
    guard !isFinished else { return }
    isFinished = true
    let result = av_write_trailer(context)
    try io.rethrow()
    try check(result, "finishing", name)
    try io.flush()
  }

  /// Bytes in the file so far.
  package var byteCount: Int64 { io.byteCount }
}

extension Container {
  /// libavformat's name of the muxer.
  fileprivate var formatName: String {
    switch self {
    case .mp4: "mp4"
    case .mov: "mov"
    case .mkv: "matroska"
    }
  }
}

extension Packet {
  /// Marks samples at the packet's end that a decoder gives away.
  fileprivate func discardAtEnd(_ samples: Int) throws(MediaError) {
    let data = try allocated(av_packet_new_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, 10), "marking padding")
    let count = UInt32(clamping: samples).littleEndian
    for index in 0..<10 { data[index] = 0 }
    withUnsafeBytes(of: count) { bytes in
      for index in 0..<4 { data[4 + index] = bytes[index] }
    }
  }
}

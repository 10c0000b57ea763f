internal import CMedia
package import CompositionModel

/// Writes stored packets of other files to a file, to an open descriptor that can seek and read.
package final class CopyMuxer {
  private let file: MuxerFile
  private let timebases: [AVRational]

  /// - Parameters:
  ///   - descriptor: Of an empty file. The caller closes it.
  ///   - tracks: Those whose formats the output's have, in order.
  ///   - metadata: By libavformat's key, such as `title`.
  ///   - artwork: The picture that players show for the file.
  ///   - movement: Advanced with every packet that is written.
  package init(
    descriptor: Int32, name: String, container: Container, tracks: [StoredPackets],
    metadata: [String: String], artwork: ArtworkFile? = nil, movement: Movement? = nil
  ) throws(MediaError) {
    timebases = tracks.map(\.stream.pointee.time_base)
    file = try MuxerFile(descriptor: descriptor, name: name, container: container, movement: movement)
    file.add(metadata)
    for track in tracks { try addStream(like: track.stream) }
    if let artwork { try file.add(artwork) }
    let timescale = MuxerFile.movieTimescale(timebases.map(\.den))
    try file.start(container.hasEditLists ? [("movie_timescale", "\(timescale)")] : [])
  }

  private func addStream(like source: UnsafeMutablePointer<AVStream>) throws(MediaError) {
    let stream = try file.newStream()
    try check(avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar), "opening", file.name)
    let parameters = stream.pointee.codecpar!
    let format = file.context.pointee.oformat!
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

  /// Writes a packet, whose times are on the output's timeline in ticks of its track.
  package func write(_ packet: Packet, track: Int) throws(MediaError) {
    guard timebases.indices.contains(track) else { throw file.lack(ofTrack: track) }
    try file.write(packet, stream: track, timebase: timebases[track])
  }

  /// Writes the packets that are held back, and the index.
  package func finish() throws(MediaError) { try file.finish() }

  /// Bytes in the file so far.
  package var byteCount: Int64 { file.byteCount }
}

internal import CMedia

/// A media file opened for reading its packets. Opens nothing but the source that it is given, with the demuxers of
/// `DemuxerList` alone, chosen by content: a file's name is only for messages.
final class Demuxer {
  let name: String
  let context: UnsafeMutablePointer<AVFormatContext>
  private let io: SourceIO

  init(_ source: any ByteSource, name: String) throws(MediaError) {
    sheaf_log_capture()
    self.name = name
    io = try SourceIO(source)
    let opening = try allocated(avformat_alloc_context(), "opening a file")
    opening.pointee.pb = io.context
    opening.pointee.format_whitelist = av_strdup(DemuxerList.allowed)
    opening.pointee.protocol_whitelist = av_strdup("none")
    sheaf_refuse_other_files(opening)
    var context: UnsafeMutablePointer<AVFormatContext>? = opening
    var options: OpaquePointer?
    // As the ffmpeg tool does: without it a transport stream's later programs are not found.
    av_dict_set(&options, "scan_all_pmts", "1", AV_DICT_DONT_OVERWRITE)
    let result = avformat_open_input(&context, nil, nil, &options)
    av_dict_free(&options)
    guard result >= 0, let opened = context else {
      try io.rethrow()
      throw Demuxer.refusal(result, source: source, name: name)
    }
    self.context = opened
    let found = avformat_find_stream_info(opened, nil)
    try io.rethrow()
    try check(found, "looking for the tracks of", name)
  }

  deinit {
    var context: UnsafeMutablePointer<AVFormatContext>? = context
    avformat_close_input(&context)
  }

  private static func refusal(_ result: Int32, source: any ByteSource, name: String) -> MediaError {
    guard source.byteCount > 0 else {
      return MediaError(.unrecognized, operation: "opening", subject: name, message: "the file is empty")
    }
    let error = MediaError(averror: result, operation: "opening", subject: name)
    guard result == sheaf_averror(EINVAL) || result == sheaf_error_invalid else { return error }
    return MediaError(
      .unrecognized, operation: "opening", subject: name,
      message: "it is no media file of a kind that is opened here, or its beginning is damaged: \(error.message)")
  }

  var formatName: String { String(cString: context.pointee.iformat.pointee.name) }

  var streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>?> {
    UnsafeMutableBufferPointer(start: context.pointee.streams, count: Int(context.pointee.nb_streams))
  }

  /// The stream with this index.
  func stream(_ index: Int) throws(MediaError) -> UnsafeMutablePointer<AVStream> {
    guard index >= 0, index < streams.count, let stream = streams[index] else {
      throw MediaError(
        .noTrack, operation: "opening", subject: name,
        message: "there is no track \(index) among its \(streams.count)")
    }
    return stream
  }

  /// Only the packets of these streams are read from now on.
  func select(where isWanted: (UnsafeMutablePointer<AVStream>) -> Bool) {
    for case let stream? in streams { stream.pointee.discard = isWanted(stream) ? AVDISCARD_DEFAULT : AVDISCARD_ALL }
  }

  /// Reads the next packet; false at the end. Like the ffmpeg tool, takes a file that breaks off as one that ends there.
  func read(into packet: Packet) throws(MediaError) -> Bool {
    av_packet_unref(packet.pointer)
    var result = av_read_frame(context, packet.pointer)
    var patience = 1000
    while result == sheaf_error_again, patience > 0 {
      result = av_read_frame(context, packet.pointer)
      patience -= 1
    }
    try io.rethrow()
    if result == sheaf_averror(ENOMEM) { try check(result, "reading", name) }
    packet.forgetImpossibleTimes()
    return result >= 0
  }

  /// Goes to a keyframe at or before a decoding time of a stream, if the container can; where it landed is for the
  /// caller to check. False where it cannot.
  func seek(_ index: Int, to timestamp: Int64) throws(MediaError) -> Bool {
    let result = av_seek_frame(context, Int32(index), timestamp, AVSEEK_FLAG_BACKWARD)
    try io.rethrow()
    return result >= 0
  }
}

extension Packet {
  /// Times that no film reaches are taken as none, so that sums and differences of times cannot overflow.
  fileprivate func forgetImpossibleTimes() {
    let possible = -(Int64(1) << 56)...(Int64(1) << 56)
    if !possible.contains(pts) { pts = sheaf_no_pts }
    if !possible.contains(dts) { dts = sheaf_no_pts }
    if !possible.contains(duration) { duration = 0 }
  }
}

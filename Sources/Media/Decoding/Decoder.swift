internal import CMedia
import CompositionModel

/// One codec, decoding in the calling thread as the ffmpeg tool does by default.
final class Decoder {
  let context: UnsafeMutablePointer<AVCodecContext>
  private let name: String
  private var isDraining = false
  private var failures = 0
  /// The first error that the codec reported for the data.
  private(set) var firstFailure: MediaError?

  /// Throws `.unsupported` if this build has no decoder for the stream.
  init(_ stream: UnsafeMutablePointer<AVStream>, name: String) throws(MediaError) {
    self.name = name
    let parameters = stream.pointee.codecpar!
    guard let codec = avcodec_find_decoder(parameters.pointee.codec_id) else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name,
        message: "track \(stream.pointee.index) is \(Decoder.codecName(parameters)), which this build cannot decode")
    }
    context = try allocated(avcodec_alloc_context3(codec), "making a decoder")
    // From here on a throw runs deinit, which frees the context.
    try check(avcodec_parameters_to_context(context, parameters), "setting up the decoder of", name)
    context.pointee.pkt_timebase = stream.pointee.time_base
    context.pointee.thread_count = 1
    context.pointee.max_pixels = Int64(PixelSize.largestSide) * Int64(PixelSize.largestSide)
    try check(
      avcodec_open2(context, codec, nil), "opening the \(String(cString: codec.pointee.name)) decoder for", name)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// libavcodec's name of the codec.
  static func codecName(_ parameters: UnsafePointer<AVCodecParameters>) -> String {
    String(cString: avcodec_get_name(parameters.pointee.codec_id))
  }

  /// Sends a packet, or nil for the end. A packet that the codec cannot use is skipped, as the ffmpeg tool does.
  /// `receive` must have returned false before.
  func send(_ packet: Packet?) throws(MediaError) {
    if packet == nil { isDraining = true }
    try tolerate(avcodec_send_packet(context, packet?.pointer))
  }

  /// Fills `frame` with the next picture or samples; false if another packet is needed, and after the last.
  func receive(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> Bool {
    while true {
      let result = avcodec_receive_frame(context, frame)
      if result >= 0 { return true }
      if result == sheaf_error_again || result == sheaf_error_end { return false }
      try tolerate(result)
      if !isDraining { return false }
      // Without a limit, a decoder that fails each time while it is drained would be called endlessly.
      failures += 1
      if failures > 1000 { return false }
    }
  }

  private func tolerate(_ result: Int32) throws(MediaError) {
    guard result < 0, result != sheaf_error_end else { return }
    let error = MediaError(averror: result, operation: "decoding", subject: name)
    if error.code == .outOfMemory { throw error }
    firstFailure = firstFailure ?? error
  }
}

/// Decodes the packets of one track, from the demuxer's position to the end of the file.
final class TrackDecoder {
  private let decoder: Decoder
  private let demuxer: Demuxer
  private let track: Int
  private let packet: Packet
  private let movement: Movement?
  private var hasPacket: Bool
  private var isAtEnd = false

  /// - Parameters:
  ///   - packet: Used for reading.
  ///   - hasPacket: Whether `packet` holds the track's first packet to decode.
  ///   - movement: Advanced with every picture or block of samples.
  init(
    _ decoder: Decoder, _ demuxer: Demuxer, track: Int, packet: Packet, hasPacket: Bool, movement: Movement?
  ) {
    self.movement = movement
    self.decoder = decoder
    self.demuxer = demuxer
    self.track = track
    self.packet = packet
    self.hasPacket = hasPacket
  }

  /// The first error that the codec reported for the data.
  var firstFailure: MediaError? { decoder.firstFailure }

  /// Fills `frame` with the next picture or samples; false after the last.
  func decode(into frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> Bool {
    while true {
      if try decoder.receive(frame) {
        movement?.advance()
        return true
      }
      if isAtEnd { return false }
      if !hasPacket { hasPacket = try demuxer.read(into: packet, ofTrack: track) }
      isAtEnd = !hasPacket
      try decoder.send(hasPacket ? packet : nil)
      hasPacket = false
    }
  }
}

extension Packet {
  /// Gives the decoder what packets before this one would have left in it.
  func prepend(_ state: DecoderState) throws(MediaError) {
    if !state.headers.isEmpty {
      let joined = try Packet(byteCount: state.headers.count + byteCount)
      try joined.withMutableBytes { target throws(MediaError) in
        target.copyBytes(from: state.headers)
        withBytes { UnsafeMutableRawBufferPointer(rebasing: target[state.headers.count...]).copyMemory(from: $0) }
      }
      try check(av_packet_copy_props(joined.pointer, pointer), "copying", "a packet")
      av_packet_unref(pointer)
      av_packet_move_ref(pointer, joined.pointer)
    }
    if let record = state.record { try add(record, as: AV_PKT_DATA_NEW_EXTRADATA) }
    if let palette = state.palette { try add(palette, as: AV_PKT_DATA_PALETTE) }
  }

  private func add(_ bytes: [UInt8], as type: AVPacketSideDataType) throws(MediaError) {
    let data = try allocated(av_packet_new_side_data(pointer, type, bytes.count), "adding data to a packet")
    UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyBytes(from: bytes)
  }
}

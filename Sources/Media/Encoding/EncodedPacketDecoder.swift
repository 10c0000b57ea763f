internal import CMedia

/// Decodes the packets of an encoder that is open, in one thread, to find what is seen or heard of them.
final class EncodedPacketDecoder {
  /// What `receive` has decoded last.
  let frame: Frame
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let name: String

  /// - Throws: `.unsupported` if this build has no decoder for the codec.
  init(_ encoder: Encoder) throws(MediaError) {
    name = encoder.name
    guard let codec = avcodec_find_decoder(encoder.context.pointee.codec_id) else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name, message: "this build of libavcodec cannot decode the codec")
    }
    frame = try Frame()
    context = try allocated(avcodec_alloc_context3(codec), "making a decoder")
    // From here on a throw runs deinit, which frees the context.
    var parameters = try allocated(avcodec_parameters_alloc(), "making a decoder") as UnsafeMutablePointer?
    defer { avcodec_parameters_free(&parameters) }
    try check(avcodec_parameters_from_context(parameters, encoder.context), "setting up the decoder of", name)
    try check(avcodec_parameters_to_context(context, parameters), "setting up the decoder of", name)
    context.pointee.pkt_timebase = encoder.context.pointee.time_base
    context.pointee.thread_count = 1
    try check(avcodec_open2(context, codec, nil), "opening the decoder of", name)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// Takes the next packet, after `receive` has returned false. Nil: there are no more.
  func send(_ packet: Packet?) throws(MediaError) {
    try check(avcodec_send_packet(context, packet?.pointer), "decoding", name)
  }

  /// Decodes into `frame`. False: another packet is needed first, or nothing follows.
  func receive() throws(MediaError) -> Bool {
    let result = avcodec_receive_frame(context, frame.pointer)
    if result == sheaf_error_again || result == sheaf_error_end { return false }
    try check(result, "decoding", name)
    return true
  }
}

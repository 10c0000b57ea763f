internal import CMedia

/// Decodes the packets of an `AudioEncoder`, to find what is heard of them: the encoder's delay included.
package final class EncodedAudioDecoder {
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let frame: Frame
  private let channels: Int32
  /// The samples that it gives before the sound's first one.
  package let initialPadding: Int
  private let name: String

  /// - Throws: `.unsupported` if this build has no decoder for the codec.
  fileprivate init(_ encoder: UnsafeMutablePointer<AVCodecContext>, name: String) throws(MediaError) {
    self.name = name
    channels = encoder.pointee.ch_layout.nb_channels
    // libavcodec leaves out by itself what the identification header of Opus and LAME's first packet state.
    let isLeftOut = [AV_CODEC_ID_OPUS, AV_CODEC_ID_MP3].contains(encoder.pointee.codec_id)
    initialPadding = isLeftOut ? 0 : Int(encoder.pointee.initial_padding)
    guard let codec = avcodec_find_decoder(encoder.pointee.codec_id) else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name, message: "this build of libavcodec cannot decode the codec")
    }
    frame = try Frame()
    context = try allocated(avcodec_alloc_context3(codec), "making a decoder")
    // From here on a throw runs deinit, which frees the context.
    var parameters = try allocated(avcodec_parameters_alloc(), "making a decoder") as UnsafeMutablePointer?
    defer { avcodec_parameters_free(&parameters) }
    try check(avcodec_parameters_from_context(parameters, encoder), "setting up the decoder of", name)
    try check(avcodec_parameters_to_context(context, parameters), "setting up the decoder of", name)
    context.pointee.pkt_timebase = encoder.pointee.time_base
    context.pointee.thread_count = 1
    try check(avcodec_open2(context, codec, nil), "opening the decoder of", name)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// The samples that are complete with the next packet, in blocks with the encoder's channels.
  /// - Throws: `.unsupported` if the decoder gives other samples than floats of these channels.
  package func decode(_ packet: Packet) throws(MediaError) -> [SampleBlock] {
    try check(avcodec_send_packet(context, packet.pointer), "decoding", name)
    return try receive()
  }

  /// The samples that are left after the last packet.
  package func finish() throws(MediaError) -> [SampleBlock] {
    try check(avcodec_send_packet(context, nil), "decoding", name)
    return try receive()
  }

  private func receive() throws(MediaError) -> [SampleBlock] {
    var blocks: [SampleBlock] = []
    while true {
      let result = avcodec_receive_frame(context, frame.pointer)
      if result == sheaf_error_again || result == sheaf_error_end { return blocks }
      try check(result, "decoding", name)
      defer { av_frame_unref(frame.pointer) }
      let samples = frame.pointer.pointee
      guard samples.format == AV_SAMPLE_FMT_FLTP.rawValue, samples.ch_layout.nb_channels == channels,
        let rows = samples.extended_data
      else {
        throw MediaError(
          .unsupported, operation: "decoding", subject: name,
          message: "samples of another format than \(channels) channels of floats")
      }
      let block = SampleBlock(channels: Int(channels), capacity: Int(samples.nb_samples))
      for channel in 0..<block.channels {
        guard let row = rows[channel] else { continue }
        row.withMemoryRebound(to: Float.self, capacity: block.capacity) {
          block.row(channel).update(from: $0, count: block.capacity)
        }
      }
      blocks.append(block)
    }
  }
}

extension AudioEncoder {
  /// A decoder for the packets that the encoder gives from now on.
  package func decoder() throws(MediaError) -> EncodedAudioDecoder {
    try EncodedAudioDecoder(encoder.context, name: encoder.name)
  }
}

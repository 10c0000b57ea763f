internal import CMedia

/// Decodes the packets of an `AudioEncoder`, to find what is heard of them: the encoder's delay included.
package final class EncodedAudioDecoder {
  private let decoder: EncodedPacketDecoder
  private let channels: Int32
  /// The samples that it gives before the sound's first one.
  package let initialPadding: Int
  private let name: String

  /// - Throws: `.unsupported` if this build has no decoder for the codec.
  fileprivate init(_ encoder: Encoder) throws(MediaError) {
    name = encoder.name
    let context = encoder.context.pointee
    channels = context.ch_layout.nb_channels
    // libavcodec leaves out by itself what the identification header of Opus and LAME's first packet state.
    let isLeftOut = [AV_CODEC_ID_OPUS, AV_CODEC_ID_MP3].contains(context.codec_id)
    initialPadding = isLeftOut ? 0 : Int(context.initial_padding)
    decoder = try EncodedPacketDecoder(encoder)
  }

  /// The samples that are complete with the next packet, in blocks with the encoder's channels.
  /// - Throws: `.unsupported` if the decoder gives other samples than floats of these channels.
  package func decode(_ packet: Packet) throws(MediaError) -> [SampleBlock] {
    try decoder.send(packet)
    return try receive()
  }

  /// The samples that are left after the last packet.
  package func finish() throws(MediaError) -> [SampleBlock] {
    try decoder.send(nil)
    return try receive()
  }

  private func receive() throws(MediaError) -> [SampleBlock] {
    var blocks: [SampleBlock] = []
    while try decoder.receive() {
      let samples = decoder.frame.pointer.pointee
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
    return blocks
  }
}

extension AudioEncoder {
  /// A decoder for the packets that the encoder gives from now on.
  package func decoder() throws(MediaError) -> EncodedAudioDecoder {
    try EncodedAudioDecoder(encoder)
  }
}

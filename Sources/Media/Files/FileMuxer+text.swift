internal import CMedia
package import CompositionModel

/// A text track of the output file, whose packets are in milliseconds.
package struct TextTrack: Sendable {
  package var codec: CaptionCodec
  package var extradata: [UInt8]
  package var description: CaptionTrack
  /// Exactly as many packets as will be written.
  package var packetCount: Int

  package init(codec: CaptionCodec, extradata: [UInt8], description: CaptionTrack, packetCount: Int) {
    self.codec = codec
    self.extradata = extradata
    self.description = description
    self.packetCount = packetCount
  }
}

extension FileMuxer {
  func addStream(_ text: TextTrack) throws(MediaError) {
    let stream = try file.newStream()
    guard let encoder = avcodec_find_encoder_by_name(text.codec.rawValue), let parameters = stream.pointee.codecpar
    else {
      throw MediaError(
        .unsupported, operation: "writing", subject: file.name,
        message: "this build of libavcodec has no encoder \(text.codec.rawValue)")
    }
    parameters.pointee.codec_type = AVMEDIA_TYPE_SUBTITLE
    parameters.pointee.codec_id = encoder.pointee.id
    if !text.extradata.isEmpty {
      let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
      let copy = try allocated(av_mallocz(text.extradata.count + padding), "opening the output")
      copy.copyMemory(from: text.extradata, byteCount: text.extradata.count)
      parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
      parameters.pointee.extradata_size = Int32(text.extradata.count)
    }
    stream.pointee.time_base = AVRational(num: 1, den: 1000)
    stream.pointee.disposition = text.description.isDefault ? AV_DISPOSITION_DEFAULT : 0
    file.state(text.description.label, of: stream)
  }

  /// Writes a caption. Those of a track come in order of their start, at about the time of the packets around them.
  /// - Parameters:
  ///   - track: counted from the first text track.
  ///   - start: in milliseconds.
  ///   - duration: in milliseconds.
  package func write(
    _ bytes: [UInt8], text track: Int, start: Int64, duration: Int64
  ) throws(MediaError) {
    let packet = try Packet(byteCount: bytes.count)
    bytes.withUnsafeBytes { bytes in
      if let base = bytes.baseAddress {
        packet.pointer.pointee.data.update(from: base.assumingMemoryBound(to: UInt8.self), count: bytes.count)
      }
    }
    (packet.pts, packet.dts, packet.duration) = (start, start, duration)
    packet.isKeyframe = true
    try writeText(packet, track: track)
  }
}

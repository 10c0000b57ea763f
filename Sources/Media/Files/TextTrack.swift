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

/// A caption as its codec stores it.
package struct EncodedCaption: Sendable {
  package var bytes: [UInt8]
  /// In milliseconds of the output.
  package var start: Int64
  /// In milliseconds.
  package var duration: Int64

  package init(_ bytes: [UInt8], start: Int64, duration: Int64) {
    (self.bytes, self.start, self.duration) = (bytes, start, duration)
  }
}

/// Writes a file with text tracks.
package protocol CaptionMuxer {
  /// Writes a caption. Those of a track come in order of their start, at about the time of the packets around them.
  /// - Parameter track: Counted from the first text track.
  func write(_ caption: EncodedCaption, text track: Int) throws(MediaError)
}

extension MuxerFile {
  func addStream(_ text: TextTrack) throws(MediaError) {
    let stream = try newStream()
    guard let encoder = avcodec_find_encoder_by_name(text.codec.rawValue), let parameters = stream.pointee.codecpar
    else {
      throw MediaError(
        .unsupported, operation: "writing", subject: name,
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
    for name in text.description.characteristics ?? [] {
      stream.pointee.disposition |= max(0, av_disposition_from_string(name))
    }
    state(text.description.label, of: stream)
  }

  func write(_ caption: EncodedCaption, stream: Int) throws(MediaError) {
    let packet = try Packet(byteCount: caption.bytes.count)
    caption.bytes.withUnsafeBytes { bytes in
      if let base = bytes.baseAddress {
        packet.pointer.pointee.data.update(from: base.assumingMemoryBound(to: UInt8.self), count: bytes.count)
      }
    }
    (packet.pts, packet.dts, packet.duration) = (caption.start, caption.start, caption.duration)
    packet.isKeyframe = true
    try write(packet, stream: stream, timebase: AVRational(num: 1, den: 1000))
  }
}

internal import CMedia

extension UnsafeMutablePointer<AVStream> {
  /// Whether libavformat has found what the packets of sound decode to. It has not if the track begins later than it
  /// looks for that.
  var hasSoundFormat: Bool {
    let parameters = pointee.codecpar.pointee
    return parameters.sample_rate > 0 && parameters.ch_layout.nb_channels > 0
  }

  /// States the layer of MPEG audio, if libavformat has not looked at a packet: it takes each for layer 3 then, whose
  /// decoder makes other samples of layer 2.
  ///
  /// - Parameter packet: The track's first one, which begins with a frame's header: ISO/IEC 11172-3, 2.4.1.3.
  /// - Returns: Whether it is another layer than was stated.
  func completeLayer(from packet: Packet) -> Bool {
    let (parameters, bytes) = (pointee.codecpar!, packet.pointer.pointee)
    guard !hasSoundFormat, parameters.pointee.codec_id == AV_CODEC_ID_MP3, bytes.size >= 4, let data = bytes.data,
      data[0] == 0xFF, data[1] & 0xE0 == 0xE0
    else { return false }
    switch data[1] >> 1 & 3 {
    case 3: parameters.pointee.codec_id = AV_CODEC_ID_MP1
    case 2: parameters.pointee.codec_id = AV_CODEC_ID_MP2
    default: return false
    }
    return true
  }

  /// States what packets of sound decode to, if libavformat has not found it. What is stated of AAC is lost again when
  /// the next packet is read.
  func completeFormat(from found: SoundFormat) {
    if hasSoundFormat { return }
    let (parameters, frame) = (pointee.codecpar!, found.first.pointer.pointee)
    parameters.pointee.sample_rate = frame.sample_rate
    av_channel_layout_uninit(&parameters.pointee.ch_layout)
    // It fails only without memory, and then leaves a layout without channels: a track that cannot be described.
    av_channel_layout_copy(&parameters.pointee.ch_layout, [frame.ch_layout])
    parameters.pointee.format = frame.format
    parameters.pointee.frame_size = found.frameSize
    if parameters.pointee.profile == FF_PROFILE_UNKNOWN { parameters.pointee.profile = found.profile }
  }
}

/// What the packets of sound decode to, from the first samples.
struct SoundFormat {
  fileprivate let first: Frame
  fileprivate let frameSize: Int32
  fileprivate let profile: Int32

  init(_ first: Frame, decodedBy decoder: Decoder) throws(MediaError) {
    self.first = try first.reference()
    (frameSize, profile) = (decoder.context.pointee.frame_size, decoder.context.pointee.profile)
  }
}

extension Demuxer {
  /// Finds what the packets of sound decode to, if libavformat has not: by decoding the first ones, in another reading
  /// of the file. A track of which nothing can be decoded is left as it is.
  static func completeFormat(
    of stream: UnsafeMutablePointer<AVStream>, in source: any ByteSource, name: String, liveness: Liveness?
  ) throws(MediaError) {
    guard stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO, !stream.hasSoundFormat else { return }
    let track = Int(stream.pointee.index)
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let own = try demuxer.stream(track)
    demuxer.select { $0 == own }
    let (packet, frame) = (try Packet(), try Frame())
    var (decoder, isAtEnd) = (Decoder?.none, false)
    while !isAtEnd {
      isAtEnd = try !demuxer.read(into: packet, ofTrack: track)
      if decoder == nil {
        if !isAtEnd { _ = own.completeLayer(from: packet) }
        decoder = try Decoder(own, name: name)
      }
      guard let decoder else { return }
      try decoder.send(isAtEnd ? nil : packet)
      guard try decoder.receive(frame.pointer) else { continue }
      own.completeFormat(from: try SoundFormat(frame, decodedBy: decoder))
      try check(avcodec_parameters_copy(stream.pointee.codecpar, own.pointee.codecpar), "opening", name)
      return
    }
  }
}

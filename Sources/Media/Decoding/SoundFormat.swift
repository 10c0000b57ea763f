internal import CMedia

extension UnsafeMutablePointer<AVStream> {
  /// Whether libavformat has found what the packets of sound decode to. It has not if the track begins later than it
  /// looks for that.
  var hasSoundFormat: Bool {
    let parameters = pointee.codecpar.pointee
    return parameters.sample_rate > 0 && parameters.ch_layout.nb_channels > 0
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
    of stream: UnsafeMutablePointer<AVStream>, in source: any ByteSource, name: String, movement: Movement?
  ) throws(MediaError) {
    guard stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO, !stream.hasSoundFormat else { return }
    let track = Int(stream.pointee.index)
    let demuxer = try Demuxer(source, name: name, movement: movement)
    let own = try demuxer.stream(track)
    demuxer.select { $0 == own }
    let decoder = try Decoder(own, name: name)
    let (packet, frame) = (try Packet(), try Frame())
    var isAtEnd = false
    while !isAtEnd {
      isAtEnd = try !demuxer.read(into: packet, ofTrack: track)
      try decoder.send(isAtEnd ? nil : packet)
      guard try decoder.receive(frame.pointer) else { continue }
      own.completeFormat(from: try SoundFormat(frame, decodedBy: decoder))
      try check(avcodec_parameters_copy(stream.pointee.codecpar, own.pointee.codecpar), "opening", name)
      return
    }
  }
}

internal import CMedia
package import CompositionModel

/// Encodes sound in one thread.
package final class AudioEncoder {
  /// How samples are handed over.
  package enum SampleLayout: Sendable, Hashable {
    /// A row of 32-bit floats for each channel: AAC.
    case planarFloat
    /// One row, channels side by side: PCM and FLAC of 16 bits.
    case interleavedInt16
    /// One row, channels side by side, the 24 bits in the upper part of 32: PCM and FLAC of 24 bits.
    case interleavedInt32

    fileprivate var format: AVSampleFormat {
      switch self {
      case .planarFloat: AV_SAMPLE_FMT_FLTP
      case .interleavedInt16: AV_SAMPLE_FMT_S16
      case .interleavedInt32: AV_SAMPLE_FMT_S32
      }
    }
  }

  /// What the piece's packets need; its timebase is one sample.
  package let header: PieceHeader
  package let sampleLayout: SampleLayout
  /// The most samples of each channel that `send` takes at once; all but the last must have exactly so many.
  package let frameSize: Int
  private let encoder: Encoder
  private let channels: Int
  private var sampleCount: Int64 = 0

  /// Packets of PCM, which could have any size.
  private static let freeFrameSize = 1024

  package init(_ settings: AudioSettings) throws(MediaError) {
    let name = try AudioEncoder.encoderName(settings)
    encoder = try Encoder(name)
    channels = settings.channels
    sampleLayout =
      settings.codec == .aac ? .planarFloat : settings.bitDepth == 16 ? .interleavedInt16 : .interleavedInt32
    let context = encoder.context
    context.pointee.sample_fmt = sampleLayout.format
    context.pointee.sample_rate = Int32(clamping: settings.sampleRate)
    context.pointee.time_base = AVRational(num: 1, den: Int32(clamping: settings.sampleRate))
    av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: settings.channels))
    if let bitRate = settings.bitRate { context.pointee.bit_rate = Int64(bitRate) }
    if settings.codec != .aac { context.pointee.bits_per_raw_sample = Int32(clamping: settings.bitDepth) }
    try encoder.open([])
    frameSize = context.pointee.frame_size > 0 ? Int(context.pointee.frame_size) : AudioEncoder.freeFrameSize
    let opened = context.pointee
    header = PieceHeader(
      codec: settings.codec == .pcm ? name : settings.codec.rawValue,
      timebase: MediaTime(value: 1, timescale: opened.sample_rate), extradata: encoder.extradata,
      profile: Int(opened.profile), level: Int(opened.level), bitRate: Int(opened.bit_rate),
      media: .audio(
        EncodedAudio(
          sampleRate: settings.sampleRate, channels: channels, layout: layoutName(opened.ch_layout),
          frameSize: Int(opened.frame_size), initialPadding: Int(opened.initial_padding),
          bitDepth: settings.codec == .aac ? 0 : settings.bitDepth)))
  }

  private static func encoderName(_ settings: AudioSettings) throws(MediaError) -> String {
    switch (settings.codec, settings.bitDepth) {
    case (.aac, _): return "aac"
    case (.flac, 16), (.flac, 24): return "flac"
    case (.pcm, 16): return "pcm_s16le"
    case (.pcm, 24): return "pcm_s24le"
    default:
      throw MediaError(
        .unsupported, operation: "encoding", subject: settings.codec.rawValue,
        message: "\(settings.bitDepth) bits a sample; 16 and 24 are possible")
    }
  }

  /// Takes the next `count` samples of each channel, which `fill` writes into the rows that it is given: one for each
  /// channel where the layout is planar, else one. The first sample sent is heard at time zero.
  package func send(count: Int, fill: ([UnsafeMutableRawPointer]) -> Void) throws(MediaError) {
    guard count > 0, count <= frameSize else {
      throw MediaError(
        .invalidRequest, operation: "encoding with", subject: encoder.name,
        message: "\(count) samples at once; 1 to \(frameSize) are possible")
    }
    let frame = try Frame()
    frame.pointer.pointee.nb_samples = Int32(count)
    frame.pointer.pointee.format = sampleLayout.format.rawValue
    frame.pointer.pointee.sample_rate = encoder.context.pointee.sample_rate
    try check(
      av_channel_layout_copy(&frame.pointer.pointee.ch_layout, &encoder.context.pointee.ch_layout), "encoding with",
      encoder.name)
    try check(av_frame_get_buffer(frame.pointer, 0), "encoding with", encoder.name)
    let rows = sampleLayout == .planarFloat ? channels : 1
    fill((0..<rows).map { UnsafeMutableRawPointer(frame.pointer.pointee.extended_data[$0]!) })
    frame.pts = sampleCount
    sampleCount += Int64(count)
    try encoder.send(frame)
  }

  /// No more sound comes; `receive` gives what is left.
  package func finish() throws(MediaError) {
    try encoder.send(nil)
  }

  /// The next packet, pts in samples (the first is minus the initial padding); nil when it wants more, or after the last.
  package func receive() throws(MediaError) -> Packet? {
    while let packet = try encoder.receive() {
      // FLAC's last packet is empty: it brings a checksum of the whole for the header, which is written by then.
      if packet.byteCount > 0 { return packet }
    }
    return nil
  }
}

/// libavutil's description of a layout.
func layoutName(_ layout: AVChannelLayout) -> String {
  withUnsafePointer(to: layout) { pointer in
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
      av_channel_layout_describe(pointer, text.baseAddress, text.count) < 0 ? "" : String(cString: text.baseAddress!)
    }
  }
}

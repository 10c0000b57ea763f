internal import CMedia
package import CompositionModel
package import PieceFiles

/// Encodes audio in one thread.
package final class AudioEncoder {
  /// What a reader of the piece's packets needs. Its timebase is the duration of a sample.
  package let header: PieceHeader
  /// How `send` takes samples.
  package let sampleLayout: AudioSampleLayout
  /// The most samples of each channel that `send` takes at once. Every block but the last must have exactly this many.
  package let frameSize: Int
  let encoder: Encoder
  private let channels: Int
  private var sampleCount: Int64 = 0
  /// Where the last packet ended, in samples.
  private var end: Int64

  /// The samples in a packet of a codec that takes any number of them.
  private static let defaultFrameSize = 1024

  /// - Throws: `.unsupported` if the codec cannot store the settings' bit depth or channels.
  package init(_ settings: AudioSettings) throws(MediaError) {
    let codec = settings.codec.definition
    guard let setup = codec.encoderSetup(bitDepth: settings.bitDepth) else {
      let possible = codec.bitDepths.map(String.init).joined(separator: " and ")
      throw MediaError(
        .unsupported, operation: "encoding", subject: settings.codec.rawValue,
        message: "\(settings.bitDepth) bits a sample; \(possible) are possible")
    }
    encoder = try Encoder(setup.encoder)
    channels = settings.channels
    sampleLayout = setup.layout
    let context = encoder.context
    context.pointee.sample_fmt = setup.layout.avFormat
    context.pointee.sample_rate = Int32(clamping: settings.sampleRate)
    context.pointee.time_base = AVRational(num: 1, den: Int32(clamping: settings.sampleRate))
    av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: settings.channels))
    if let bitRate = settings.bitRate { context.pointee.bit_rate = Int64(bitRate) }
    if setup.bitDepth > 0 { context.pointee.bits_per_raw_sample = Int32(clamping: setup.bitDepth) }
    try encoder.open([])
    frameSize = context.pointee.frame_size > 0 ? Int(context.pointee.frame_size) : AudioEncoder.defaultFrameSize
    let opened = context.pointee
    end = -Int64(opened.initial_padding)
    header = PieceHeader(
      codec: setup.name, timebase: MediaTime(value: 1, timescale: opened.sample_rate), extradata: encoder.extradata,
      profile: Int(opened.profile), level: Int(opened.level), bitRate: Int(opened.bit_rate),
      media: .audio(
        EncodedAudio(
          sampleRate: settings.sampleRate, channels: channels, layout: layoutName(opened.ch_layout),
          frameSize: Int(opened.frame_size), initialPadding: Int(opened.initial_padding), bitDepth: setup.bitDepth)))
  }

  /// Encodes the next `count` samples of each channel. `fill` writes them into the rows that are passed to it: one row
  /// for each channel if the layout is planar, or else one row. The first sample is at time zero.
  package func send(count: Int, fill: ([UnsafeMutableRawPointer]) -> Void) throws(MediaError) {
    guard count > 0, count <= frameSize else {
      throw MediaError(
        .invalidRequest, operation: "encoding with", subject: encoder.name,
        message: "\(count) samples at once; 1 to \(frameSize) are possible")
    }
    let frame = try Frame()
    frame.pointer.pointee.nb_samples = Int32(count)
    frame.pointer.pointee.format = sampleLayout.avFormat.rawValue
    frame.pointer.pointee.sample_rate = encoder.context.pointee.sample_rate
    try check(
      av_channel_layout_copy(&frame.pointer.pointee.ch_layout, &encoder.context.pointee.ch_layout), "encoding with",
      encoder.name)
    try check(av_frame_get_buffer(frame.pointer, 0), "encoding with", encoder.name)
    let rows = sampleLayout.rowCount(channels: channels)
    fill((0..<rows).map { UnsafeMutableRawPointer(frame.pointer.pointee.extended_data[$0]!) })
    frame.pts = sampleCount
    sampleCount += Int64(count)
    try encoder.send(frame)
  }

  /// Ends the stream. `receive` then returns the remaining packets.
  package func finish() throws(MediaError) {
    try encoder.end()
  }

  /// The next packet, with its pts in samples. The pts of the first is minus the initial padding. Nil if the encoder
  /// needs more samples first, or after the last packet with samples.
  package func receive() throws(MediaError) -> Packet? {
    while let packet = try encoder.receive() {
      // FLAC's last packet is empty. It carries a checksum for the header, which is written already. An encoder that
      // works in frames may end with packets of its own padding, whose times libavcodec states wrongly.
      guard packet.byteCount > 0, end < sampleCount else { continue }
      end = packet.pts + packet.duration
      return packet
    }
    return nil
  }
}

extension AudioSampleLayout {
  fileprivate var avFormat: AVSampleFormat {
    switch type {
    case .float32: isPlanar ? AV_SAMPLE_FMT_FLTP : AV_SAMPLE_FMT_FLT
    case .int16: isPlanar ? AV_SAMPLE_FMT_S16P : AV_SAMPLE_FMT_S16
    case .int32: isPlanar ? AV_SAMPLE_FMT_S32P : AV_SAMPLE_FMT_S32
    }
  }
}

/// libavutil's description of a channel layout, such as `stereo`. Empty if it has none.
func layoutName(_ layout: AVChannelLayout) -> String {
  withUnsafePointer(to: layout) { pointer in
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
      av_channel_layout_describe(pointer, text.baseAddress, text.count) < 0 ? "" : String(cString: text.baseAddress!)
    }
  }
}

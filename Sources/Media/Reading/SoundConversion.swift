internal import CMedia
internal import CompositionModel

/// Brings decoded sound to rows of 32-bit float in the layout that the track was described with.
struct SoundConversion {
  private struct Input: Equatable {
    var format: Int32
    var layout: String
  }

  private let format: AudioFormat
  private let name: String
  private var input: Input?
  private var converter: SampleConverter?

  init(format: AudioFormat, name: String) {
    self.format = format
    self.name = name
  }

  mutating func block(
    _ frame: UnsafeMutablePointer<AVFrame>, at position: Int64, skipping skipped: Int
  ) throws(MediaError) -> SoundBlock {
    guard Int(frame.pointee.sample_rate) == format.sampleRate else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name,
        message: "its sample rate changes from \(format.sampleRate) to \(frame.pointee.sample_rate) Hz on the way")
    }
    let input = Input(format: frame.pointee.format, layout: layoutName(frame.pointee.ch_layout))
    if input != self.input {
      converter = try makeConverter(frame)
      self.input = input
    }
    let count = Int(frame.pointee.nb_samples)
    let block = SoundBlock(position: position, count: count - skipped, channels: format.channels)
    let isPlain = input.format == AV_SAMPLE_FMT_FLTP.rawValue && input.layout == format.layout
    if isPlain {
      for channel in 0..<format.channels {
        let row = UnsafeRawPointer(frame.pointee.extended_data[channel]!).assumingMemoryBound(to: Float.self)
        block.mutableChannel(channel).update(from: row + skipped, count: block.count)
      }
      return block
    }
    let whole = skipped == 0 ? block : SoundBlock(position: position, count: count, channels: format.channels)
    try convert(frame, count, into: whole)
    if skipped > 0 {
      for channel in 0..<format.channels {
        block.mutableChannel(channel).update(from: whole.channel(channel) + skipped, count: block.count)
      }
    }
    return block
  }

  private func convert(_ frame: UnsafeMutablePointer<AVFrame>, _ count: Int, into block: SoundBlock) throws(MediaError)
  {
    let rows = (0..<format.channels).map { Optional(block.mutableChannel($0)) }
    let planes = frame.pointee.extended_data!
    let input = UnsafeRawPointer(planes).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
    let given = try rows.withUnsafeBufferPointer { rows throws(MediaError) in
      try converter?.convert(bytes: input, count: count, into: rows.baseAddress!, capacity: count) ?? 0
    }
    guard given == count else {
      throw MediaError(
        .damaged, operation: "decoding", subject: name, message: "\(count) samples became \(given)")
    }
  }

  private func makeConverter(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> SampleConverter {
    var target = AVChannelLayout()
    defer { av_channel_layout_uninit(&target) }
    try check(av_channel_layout_from_string(&target, format.layout), "decoding", name)
    return try SampleConverter(
      source: &frame.pointee.ch_layout, format: AVSampleFormat(frame.pointee.format), rate: format.sampleRate,
      target: &target, targetRate: format.sampleRate, subject: name)
  }
}

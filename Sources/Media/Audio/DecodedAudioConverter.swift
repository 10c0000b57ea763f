internal import CMedia
internal import CompositionModel

/// Converts decoded frames to blocks of 32-bit float in the format that the track was described with, and places them.
///
/// Rate and layout may change within a file, such as one that is joined of two. Frames at another rate are resampled by
/// a converter that begins with the first of them, as the ffmpeg tool does. What it holds back at their end follows
/// them, where ffmpeg drops it.
struct DecodedAudioConverter {
  private struct Input: Equatable {
    var format: Int32
    var layout: String
    var rate: Int32

    init(_ frame: UnsafeMutablePointer<AVFrame>) {
      format = frame.pointee.format
      layout = layoutName(frame.pointee.ch_layout)
      rate = frame.pointee.sample_rate
    }
  }

  /// Hz. A damaged header may state a rate at which a frame would last for hours.
  private static let lowestRate = 1000

  private let format: AudioFormat
  private let name: String
  private var clock: SampleClock
  private var input: Input?
  private var converter: SampleConverter?
  /// Where the stored rate or layout changes, as far as frames were converted, with positions as those of blocks.
  private(set) var changes: [AudioFormat.Change] = []

  init(format: AudioFormat, clock: SampleClock, name: String) {
    self.format = format
    self.clock = clock
    self.name = name
  }

  /// The position of a packet's first sample by its stored timestamp; nil if it has none.
  func position(ofPacketAt stored: Int64) -> Int64? { clock.position(ofPacketAt: stored) }

  /// Makes room for a packet that could not be decoded.
  mutating func leaveOutPacket() { clock.leaveOutPacket() }

  /// What is held back of the frames before, from position `first` on, if `frame` cannot follow them in one converter.
  /// To be called before each frame is converted, and with nil after the last.
  mutating func rest(
    before frame: UnsafeMutablePointer<AVFrame>?, from first: Int64
  ) throws(MediaError) -> AudioBlock? {
    guard let converter, let input, Int(input.rate) != format.sampleRate, frame.map({ Input($0) != input }) ?? true
    else { return nil }
    self.converter = nil
    let room = SampleBlock(
      channels: format.channels, capacity: Int(clamping: converter.delay(atRate: format.sampleRate)) + 64)
    let count = try converter.convert(nil, count: 0, into: room)
    return clock.place(count: Int64(count), stored: sheaf_no_pts).flatMap {
      block(room.part(0..<count), at: $0, from: first)
    }
  }

  /// The frame's samples from position `first` on; nil if there are none.
  mutating func block(_ frame: UnsafeMutablePointer<AVFrame>, from first: Int64) throws(MediaError) -> AudioBlock? {
    guard frame.pointee.nb_samples > 0 else { return nil }
    let input = Input(frame)
    let isChange = self.input.map { $0.layout != input.layout || $0.rate != input.rate } ?? false
    if input != self.input {
      converter = try SampleConverter(decoded: frame, layout: format.layout, rate: format.sampleRate, subject: name)
      self.input = input
    }
    let delay = converter?.delay(atRate: format.sampleRate) ?? 0
    let samples = try converted(frame, input, delay: delay)
    let stored = frame.pointee.best_effort_timestamp
    let place = clock.place(
      count: Int64(samples.capacity), stored: stored, delay: delay, isResampled: Int(input.rate) != format.sampleRate)
    guard let place else { return nil }
    if isChange {
      changes.append(
        AudioFormat.Change(sample: place.position, sampleRate: Int(input.rate), layout: input.layout))
    }
    return block(samples, at: place, from: first)
  }

  private func block(_ samples: SampleBlock, at place: SampleClock.Place, from first: Int64) -> AudioBlock? {
    let skipped = place.skipped + Int(clamping: max(0, first - place.position))
    guard skipped < samples.capacity else { return nil }
    return AudioBlock(position: max(first, place.position), samples: samples.part(skipped..<samples.capacity))
  }

  /// What is ready of the samples up to the end of a frame.
  private func converted(
    _ frame: UnsafeMutablePointer<AVFrame>, _ input: Input, delay: Int64
  ) throws(MediaError) -> SampleBlock {
    let count = Int(frame.pointee.nb_samples)
    let isResampled = Int(input.rate) != format.sampleRate
    if input.format == AV_SAMPLE_FMT_FLTP.rawValue, input.layout == format.layout, !isResampled {
      let samples = SampleBlock(channels: format.channels, capacity: count)
      for channel in 0..<format.channels {
        let row = UnsafeRawPointer(frame.pointee.extended_data[channel]!).assumingMemoryBound(to: Float.self)
        samples.row(channel).update(from: row, count: count)
      }
      return samples
    }
    guard let converter, !isResampled || input.rate >= Self.lowestRate else {
      throw MediaError(
        .unsupported, operation: "decoding", subject: name,
        message: "its sample rate changes from \(format.sampleRate) to \(input.rate) Hz; "
          + "it may change to \(Self.lowestRate) Hz or more")
    }
    let resampled = Int64(count) * Int64(format.sampleRate) / Int64(input.rate) + max(0, delay) + 64
    let room = SampleBlock(channels: format.channels, capacity: isResampled ? Int(clamping: resampled) : count)
    let planes = UnsafeRawPointer(frame.pointee.extended_data!).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
    let written = try converter.convert(planes, count: count, into: room)
    guard isResampled || written == count else {
      throw MediaError(.damaged, operation: "decoding", subject: name, message: "\(count) samples became \(written)")
    }
    return room.part(0..<written)
  }
}

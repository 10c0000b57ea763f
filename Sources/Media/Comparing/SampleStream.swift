internal import CMedia
import CompositionModel

/// The samples of a sound track as they are decoded, those of the channels one after the other for each time, block by
/// block.
final class SampleStream {
  /// How samples are stored in a block.
  struct Format: Equatable {
    var sampleFormat: Int32
    var rate: Int
    var channels: Int
    /// libavutil's name of the layout of the channels.
    var layout: String

    /// Bytes of one sample of all channels.
    var stride: Int { bytesPerSample * channels }
    var bytesPerSample: Int { max(1, Int(av_get_bytes_per_sample(packed))) }
    /// The same kind of numbers, with the channels in turn.
    var packed: AVSampleFormat { av_get_packed_sample_fmt(AVSampleFormat(rawValue: sampleFormat)) }
    /// libavutil's name of the kind of numbers.
    var sampleName: String { av_get_sample_fmt_name(packed).map { String(cString: $0) } ?? "none" }

    /// For people, and to compute the digest with other programs.
    var description: String { "\(sampleName) \(rate) Hz \(layout)" }
  }

  /// Seconds a tick: times are not more exact than that.
  let tick: Double
  private(set) var format: Format?
  /// The bytes of the block that was read last, of which the first `taken` are done with.
  private(set) var bytes = [UInt8]()
  private(set) var taken = 0
  /// The number of the sample that follows what is done with, of each channel.
  private(set) var position: Int64 = 0
  /// The time of the block that was read last, in seconds.
  private var start = 0.0
  private let decoder: TrackDecoder
  private let frame: Frame

  /// - Parameters:
  ///   - track: The stream's index in the file.
  ///   - liveness: Advanced with every block.
  init(_ source: any ByteSource, name: String, track: Int, liveness: Liveness?) throws(MediaError) {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let stream = try demuxer.stream(track)
    try Demuxer.completeFormat(of: stream, in: source, name: name, liveness: liveness)
    demuxer.select { $0 == stream }
    tick = av_q2d(stream.pointee.time_base)
    frame = try Frame()
    decoder = TrackDecoder(
      try Decoder(stream, name: name), demuxer, track: track, packet: try Packet(), hasPacket: false,
      liveness: liveness)
  }

  /// How many bytes of the block are left.
  var rest: Int { bytes.count - taken }

  /// The time of the next sample, in seconds.
  var seconds: Double {
    guard let format, format.rate > 0, format.stride > 0 else { return start }
    return start + Double(taken / format.stride) / Double(format.rate)
  }

  /// Reads the next block if nothing is left of the one before; false after the last.
  func fill() throws(MediaError) -> Bool {
    while rest == 0 {
      let end = seconds
      guard try decoder.decode(into: frame.pointer) else { return false }
      let stored = frame.pointer.pointee
      guard stored.nb_samples > 0, stored.ch_layout.nb_channels > 0 else { continue }
      format = Format(
        sampleFormat: stored.format, rate: Int(stored.sample_rate), channels: Int(stored.ch_layout.nb_channels),
        layout: Self.name(of: stored.ch_layout))
      bytes = [UInt8](repeating: 0, count: Int(stored.nb_samples) * (format?.stride ?? 1))
      sheaf_frame_samples(frame.pointer, &bytes)
      taken = 0
      let time = stored.best_effort_timestamp
      start = time == sheaf_no_pts ? end : Double(time) * tick
    }
    return true
  }

  /// Is done with some of the bytes that are left, which are whole samples of all channels.
  func take(_ count: Int) {
    taken += count
    position += Int64(count / max(1, format?.stride ?? 1))
  }

  private static func name(of layout: AVChannelLayout) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
      withUnsafePointer(to: layout) { av_channel_layout_describe($0, text.baseAddress, text.count) } < 0
        ? "\(layout.nb_channels) channels" : String(cString: text.baseAddress!)
    }
  }
}

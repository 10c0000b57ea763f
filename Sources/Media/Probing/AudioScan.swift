internal import CMedia
internal import CompositionModel

/// Which samples an audio track presents, found by decoding only its first and its last packets.
///
/// The packets' own times and durations do not show it. Durations are missing or rounded, the first packet of Vorbis
/// and WMA gives no samples, and the padding at the end is left out of some containers' last duration and not of
/// others'. Where times are coarser than a sample, the samples from the first packets to the last ones are counted, as
/// `SampleClock` counts them when they are read.
final class AudioScan {
  /// The stored timestamp of the first sample, and the number of samples from it to the end of the last, gaps included.
  struct Extent {
    var start: Int64
    var count: Int64
  }

  private struct LatePacket {
    let packet: Packet
    /// Samples from the first one to this packet's first; nil if they are not counted.
    var before: Int64?
  }

  /// How many packets are decoded at each end: more than any decoder needs that starts inside a track.
  private static let endSize = 48
  /// How many packets are decoded at most until one gives samples.
  private static let longestHead = 4000

  private let stream: UnsafeMutablePointer<AVStream>
  private let demuxer: Demuxer
  /// 0 until it is known.
  private var sampleRate: Int
  private let frame: Frame
  private(set) var packetCount = 0
  /// Whether the rate or the channels may change, so that only decoding everything shows the extent.
  var mayChangeFormat: Bool { watch.mayChange }
  /// The format of the first samples; nil until some are decoded.
  private(set) var firstFormat: AudioFormat?
  private var watch: SoundFormatWatch

  /// Decodes the first packets; nil after them.
  private var head: Decoder?
  private var clock: SampleClock?
  private var start: Int64?
  /// Samples from the first one to the end of the last packet; nil if they are not counted.
  private var count: Int64? = 0
  private var counter: PacketCounter?
  /// Nil if libavformat has found the format.
  private var completed: SoundFormat?

  /// The last packets; the oldest is at `oldest` when there are `endSize`.
  private var tail: [LatePacket] = []
  private var oldest = 0
  /// The greatest end that packets with a duration state, and whether the last packet is one of them.
  private var stated: (end: Int64, isLast: Bool)?
  /// The earliest and the latest time of a packet, in ticks.
  private var times: ClosedRange<Int64>?
  /// The first error that a decoder reported for the data.
  private var firstFailure: MediaError?

  /// Throws if this build cannot decode the codec.
  init(_ stream: UnsafeMutablePointer<AVStream>, _ demuxer: Demuxer) throws(MediaError) {
    self.stream = stream
    self.demuxer = demuxer
    sampleRate = Int(stream.pointee.codecpar.pointee.sample_rate)
    frame = try Frame()
    watch = SoundFormatWatch(stream.pointee.codecpar)
    head = try Decoder(stream, name: demuxer.name)
    if sampleRate > 0 { counter = PacketCounter(stream, container: demuxer.formatName) }
  }

  /// Packets are added in the file's order.
  func add(_ packet: Packet) throws(MediaError) {
    packetCount += 1
    if packetCount == 1, stream.completeLayer(from: packet) { head = try Decoder(stream, name: demuxer.name) }
    watch.add(packet)
    if let time = packet.statedTime {
      times = min(time, times?.lowerBound ?? time)...max(time, times?.upperBound ?? time)
    }
    let before = count
    if let head {
      try head.send(packet)
      try place(from: head)
      firstFailure = firstFailure ?? head.firstFailure
      if (packetCount >= Self.endSize && start != nil) || packetCount >= Self.longestHead { self.head = nil }
      _ = counter?.samples(in: packet)
    } else {
      countSamples(of: packet)
    }
    try keep(packet, before: before)
    guard !packet.isDiscarded, packet.pts != sheaf_no_pts else { return }
    if packet.duration > 0 {
      stated = (max(stated?.end ?? .min, packet.pts &+ packet.duration), true)
    } else {
      stated?.isLast = false
    }
  }

  /// Nil if no samples can be decoded. To be called once, after the last packet.
  func extent() throws(MediaError) -> Extent? {
    if let completed { stream.completeFormat(from: completed) }
    if let head {
      try head.send(nil)
      try place(from: head)
      firstFailure = firstFailure ?? head.firstFailure
      if let completed { stream.completeFormat(from: completed) }
    } else {
      count = try countToEnd()
    }
    guard let start, var count else { return nil }
    // An edit list may end inside the last packet's samples, which libavformat states by that packet's duration.
    if demuxer.formatName.hasPrefix("mov,"), let stated, stated.isLast {
      count = min(count, samples(to: stated.end, from: start))
    }
    return Extent(start: start, count: max(0, count))
  }

  /// Where a track without samples was looked at, and what the decoder reported. To be called after `extent`.
  var failure: String {
    guard packetCount > 0 else { return "has no packets" }
    let place = times.map { " from \(seconds($0.lowerBound)) s to \(seconds($0.upperBound)) s" } ?? ""
    let packets =
      packetCount > Self.longestHead
      ? "none of its first \(Self.longestHead) packets of \(packetCount)\(place) gives any"
      : packetCount == 1 ? "its packet\(place) gives none" : "none of its \(packetCount) packets\(place) gives any"
    return "has no samples that can be decoded: \(packets)" + (firstFailure.map { " (\($0.message))" } ?? "")
  }

  /// A time of the file's own clock in seconds, to a millisecond.
  private func seconds(_ ticks: Int64) -> String {
    "\((Double(ticks) * av_q2d(stream.pointee.time_base) * 1000).rounded() / 1000)"
  }

  private func place(from decoder: Decoder) throws(MediaError) {
    while try decoder.receive(frame.pointer) {
      let stored = frame.pointer.pointee.best_effort_timestamp
      if start == nil {
        if !stream.hasSoundFormat {
          let found = try SoundFormat(frame, decodedBy: decoder)
          completed = found
          stream.completeFormat(from: found)
        }
        if sampleRate == 0 {
          sampleRate = Int(max(1, stream.pointee.codecpar.pointee.sample_rate))
          counter = PacketCounter(stream, container: demuxer.formatName)
        }
        let first = stored == sheaf_no_pts ? 0 : stored
        start = first
        let layout = frame.pointer.pointee.ch_layout
        firstFormat = AudioFormat(
          sampleRate: Int(frame.pointer.pointee.sample_rate), channels: Int(layout.nb_channels),
          layout: layoutName(layout))
        clock = SampleClock(stream, container: demuxer.formatName, origin: first, sampleRate: sampleRate)
      }
      for report in decoder.takeReports() where report.isLost(before: frame.pointer) { clock?.leaveOutPacket() }
      if let end = clock?.place(frame.pointer)?.end { count = end }
      counter?.decoded(Int64(frame.pointer.pointee.nb_samples))
      av_frame_unref(frame.pointer)
    }
  }

  private func countSamples(of packet: Packet) {
    guard let counter, let start, let before = count, let samples = counter.samples(in: packet),
      packet.pts == sheaf_no_pts || abs(self.samples(to: packet.pts, from: start) - before) <= counter.tolerance
    else {
      count = nil
      return
    }
    count = before + samples
  }

  private func keep(_ packet: Packet, before: Int64?) throws(MediaError) {
    if tail.count < Self.endSize { tail.append(LatePacket(packet: try Packet(), before: before)) }
    let index = tail.count < Self.endSize ? tail.count - 1 : oldest
    av_packet_unref(tail[index].packet.pointer)
    try check(av_packet_ref(tail[index].packet.pointer, packet.pointer), "keeping a packet of", demuxer.name)
    tail[index].before = before
    oldest = (index + 1) % Self.endSize
  }

  /// Decodes the last packets and returns the number of samples up to the end of their last.
  private func countToEnd() throws(MediaError) -> Int64? {
    let decoder = try Decoder(stream, name: demuxer.name)
    var (end, latest): (Int64?, Int64) = (nil, .min)
    let packets = tail[oldest...] + tail[..<oldest]
    func receive() throws(MediaError) {
      while try decoder.receive(frame.pointer) {
        let (stored, samples) = (frame.pointer.pointee.best_effort_timestamp, Int64(frame.pointer.pointee.nb_samples))
        if stored != sheaf_no_pts, stored > latest, let start {
          let before = packets.last { $0.packet.pts == stored }?.before
          end = (before ?? self.samples(to: stored, from: start)) + samples
          latest = stored
        } else {
          // What a decoder still holds after the last packet has no time of its own.
          end = end.map { $0 + samples }
        }
        av_frame_unref(frame.pointer)
      }
    }
    for late in packets {
      try decoder.send(late.packet)
      try receive()
    }
    try decoder.send(nil)
    try receive()
    if let end { return end }
    return start.flatMap { start in stated.map { samples(to: $0.end, from: start) } }
  }

  private func samples(to end: Int64, from start: Int64) -> Int64 {
    av_rescale_q(end &- start, stream.pointee.time_base, AVRational(num: 1, den: Int32(clamping: max(1, sampleRate))))
  }
}

/// The number of samples in each packet of a track whose timestamps are coarser than its samples.
private final class PacketCounter {
  private enum Kind {
    /// So many bits a sample of all channels, after a header of so many bytes. A sample may be in two packets.
    case pcm(bits: Int, header: Int)
    case vorbis(OpaquePointer)
    /// As many as in the packets that have been decoded.
    case equal
  }

  private let kind: Kind
  /// The difference, in samples, up to which a packet's timestamp agrees with the count.
  let tolerance: Int64
  private var frameSize: Int64 = 0
  private var bitsLeft = 0

  /// Nil if the stored timestamps are finer than samples.
  init?(_ stream: UnsafeMutablePointer<AVStream>, container: String) {
    let parameters = stream.pointee.codecpar!
    let sample = AVRational(num: 1, den: max(1, parameters.pointee.sample_rate))
    let agreement = SampleClock.agreement(parameters, container: container)
    guard agreement > 0 || av_cmp_q(stream.pointee.time_base, sample) > 0 else { return nil }
    // The first timestamp and the last are both rounded.
    tolerance = max(agreement, av_rescale_q_rnd(1, stream.pointee.time_base, sample, AV_ROUND_UP) + 2)
    let channels = Int(max(1, parameters.pointee.ch_layout.nb_channels))
    let bits = Int(av_get_exact_bits_per_sample(parameters.pointee.codec_id))
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_PCM_DVD:
      kind = .pcm(bits: max(16, Int(parameters.pointee.bits_per_coded_sample)) * channels, header: 3)
    case AV_CODEC_ID_VORBIS:
      guard let parser = av_vorbis_parse_init(parameters.pointee.extradata, parameters.pointee.extradata_size) else {
        kind = .equal
        return
      }
      kind = .vorbis(parser)
    case _ where StoredCodec.name(parameters).hasPrefix("pcm_") && bits > 0:
      kind = .pcm(bits: bits * channels, header: 0)
    default: kind = .equal
    }
  }

  deinit {
    if case .vorbis(let parser) = kind {
      var parser: OpaquePointer? = parser
      av_vorbis_parse_free(&parser)
    }
  }

  /// Takes the number of samples of a decoded packet into account.
  func decoded(_ samples: Int64) { frameSize = samples }

  /// To be called with every packet. Nil if it is not known.
  func samples(in packet: Packet) -> Int64? {
    switch kind {
    case .equal: return frameSize > 0 ? frameSize : nil
    case .vorbis(let parser):
      let samples = packet.withBytes {
        av_vorbis_parse_frame(parser, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clamping: $0.count))
      }
      return samples >= 0 ? Int64(samples) : nil
    case .pcm(let bits, let header):
      bitsLeft += max(0, packet.byteCount - header) * 8
      let samples = bitsLeft / bits
      bitsLeft %= bits
      return Int64(samples)
    }
  }
}

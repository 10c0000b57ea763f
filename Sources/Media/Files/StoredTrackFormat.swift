internal import CMedia
package import CompositionModel

/// What a file states about the packets of a track: all that a decoder or another container needs.
///
/// Sendable: it is made once, and only read afterwards.
package final class StoredTrackFormat: @unchecked Sendable {
  /// What must be equal for packets of one track to follow those of another.
  private struct Identity: Hashable {
    var codec: String
    var profile: Int32
    var timebase: MediaTime
    var size: PixelSize
    /// The format of pixels or of samples, by libavutil's number.
    var format: Int32
    var aspect: AspectRatio
    var sampleRate: Int32
    var layout: String
    /// Without what is of one file only.
    var parameterSets: [UInt8]
    var sideData: [PacketSideData]
  }

  /// libavcodec's name of the codec, such as `h264`.
  package let codec: String
  /// Seconds a tick of the packets' times.
  package let timebase: MediaTime
  /// The codec's parameter sets; empty if it has none.
  package let parameterSets: [UInt8]
  private let parameters: UnsafeMutablePointer<AVCodecParameters>
  private let frameRates: (average: AVRational, base: AVRational)
  private let aspect: AVRational
  private let language: String?
  private let title: String?
  private let disposition: Int32
  private let sideData: [PacketSideData]
  private let identity: Identity

  init(_ stream: UnsafeMutablePointer<AVStream>, name: String) throws(MediaError) {
    let copy = try allocated(avcodec_parameters_alloc(), "opening a file")
    let result = avcodec_parameters_copy(copy, stream.pointee.codecpar)
    if result < 0 {
      var freed: UnsafeMutablePointer<AVCodecParameters>? = copy
      avcodec_parameters_free(&freed)
    }
    try check(result, "opening", name)
    parameters = copy
    codec = StoredCodec.name(stream.pointee.codecpar)
    timebase = MediaTime(stream.pointee.time_base)
    parameterSets = stream.parameterSets
    frameRates = (stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate)
    aspect = stream.pointee.sample_aspect_ratio
    language = av_dict_get(stream.pointee.metadata, "language", nil, 0).map { String(cString: $0.pointee.value) }
    title = TrackDescription.title(in: [String: String](metadata: stream.pointee.metadata))
    disposition = stream.pointee.disposition & ~(AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)
    // The orientation, and what displays need for high dynamic range.
    sideData = (0..<Int(stream.pointee.nb_side_data)).compactMap { PacketSideData(stream.pointee.side_data[$0]) }
    let stored = copy.pointee
    identity = Identity(
      codec: codec, profile: stored.profile, timebase: timebase,
      size: PixelSize(width: Int(stored.width), height: Int(stored.height)), format: stored.format,
      aspect: AspectRatio(horizontal: Int(aspect.num), vertical: Int(aspect.den)), sampleRate: stored.sample_rate,
      layout: layoutName(stored.ch_layout), parameterSets: stream.joinedParameterSets, sideData: sideData)
  }

  deinit {
    var freed: UnsafeMutablePointer<AVCodecParameters>? = parameters
    avcodec_parameters_free(&freed)
  }

  /// Whether all packets decode to as many samples.
  package var hasEqualFrames: Bool { ["aac", "mp2", "mp3", "ac3"].contains(codec) }

  /// The size of the pictures as they are stored, in pixels; zero for sound.
  package var size: PixelSize { identity.size }
  /// Samples a second of each channel; 0 for pictures.
  package var sampleRate: Int { Int(identity.sampleRate) }
  /// The number of channels of sound; 0 for pictures.
  package var channels: Int { Int(parameters.pointee.ch_layout.nb_channels) }

  var keyframeRule: KeyframeRule { KeyframeRule(parameters) }
  var shownPictures: ShownPictures { ShownPictures(parameters) }

  /// How many packets before the first that is heard a decoder needs, so that it is whole.
  package var prerollPackets: Int {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_AAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_MP2, AV_CODEC_ID_DTS: 1
    // A frame's data begin up to 511 bytes before it (ISO/IEC 11172-3, 2.4.2.7), which are 8 frames at 32 kbit/s, and
    // each overlaps the one before.
    case AV_CODEC_ID_MP3: 10
    case AV_CODEC_ID_OPUS: 4
    default: 0
    }
  }

  /// The number of packets at the start from which a decoder makes no samples: 1 for Vorbis, whose second packet
  /// overlaps the first.
  package var silentPackets: Int { parameters.pointee.codec_id == AV_CODEC_ID_VORBIS ? 1 : 0 }

  /// Whether a container states how many samples at the start are decoded and not presented, so that sound may be cut
  /// anywhere: in an edit list, in an MP3 file's first frame, or as the pre-skip of Opus.
  package func canHideSamples(in container: Container) -> Bool {
    switch container {
    case .mp3: codec == "mp3"
    case .mkv, .webm, .ogg: codec == "opus"
    default: container.hasEditLists
    }
  }

  /// Whether a container states of each packet how many of its samples are discarded, so that packets before the first
  /// that is heard can be stored. In Matroska libavformat does not find it for the codecs whose frames it looks for in
  /// the bytes.
  package func canHidePackets(in container: Container) -> Bool {
    container.isMatroska && !["ac3", "eac3", "dts"].contains(codec)
  }

  /// Samples, for a number of ticks of the packets' times, to the nearest.
  package func samples(_ ticks: Int64) -> Int {
    Int(clamping: av_rescale_q(ticks, avTimebase, AVRational(num: 1, den: max(1, identity.sampleRate))))
  }

  /// The samples of a packet of sound. Those that its codec states are exact where times are rounded.
  package func sampleCount(of packet: Packet) -> Int {
    let timed = samples(packet.duration)
    let stated = Int(av_get_audio_frame_duration2(parameters, Int32(clamping: packet.byteCount)))
    return abs(stated - timed) <= samples(1) ? stated : timed
  }

  /// Ticks of the packets' times, for a number of samples, to the nearest.
  func ticks(_ samples: Int) -> Int64 {
    av_rescale_q(Int64(samples), AVRational(num: 1, den: max(1, identity.sampleRate)), avTimebase)
  }

  /// Samples before time zero in a decoder's output, as the file states.
  package var initialPadding: Int { Int(parameters.pointee.initial_padding) }

  /// Cuts a packet of PCM, of which every sample can be the first, to a range of times. Others are left as they are.
  /// - Returns: False if nothing of it is in the range.
  package func trim(_ packet: Packet, to range: Range<Int64>) -> Bool {
    let bits = Int(av_get_exact_bits_per_sample(parameters.pointee.codec_id))
    let width = bits * channels / 8
    guard codec.hasPrefix("pcm_"), width > 0 else { return true }
    let (start, stop) = (packet.pts, packet.pts + packet.duration)
    let count = packet.byteCount / width
    let head = min(count, samples(max(0, range.lowerBound - start)))
    let tail = min(count - head, samples(max(0, stop - range.upperBound)))
    packet.removeBytes(atStart: head * width, atEnd: tail * width)
    packet.pts = max(start, range.lowerBound)
    packet.dts = packet.pts
    packet.duration = min(stop, range.upperBound) - packet.pts
    return head + tail < count
  }

  /// The parameter sets without what is of one file only: equal in tracks whose packets can follow one another.
  package var joinedParameterSets: [UInt8] { identity.parameterSets }

  /// Whether the packets of FLAC before a time have the last frame of the file, and it is shorter than the others.
  /// - Parameter end: In ticks, from the start of the file.
  package func hasShortFrame(before end: Int64) -> Bool {
    guard codec == "flac", let info = FLACStreamInfo(parameterSets), let sizes = info.blockSizes else { return false }
    if sizes.lowerBound < sizes.upperBound || info.sampleCount == 0 { return true }
    let last = (info.sampleCount - 1) / sizes.upperBound * sizes.upperBound
    return info.sampleCount - last < sizes.upperBound
      && Double(last) < Double(end) * timebase.approximateSeconds * Double(sampleRate)
  }

  /// Why the packets of this track cannot follow those of another. Nil: they can.
  package func difference(from other: StoredTrackFormat) -> String? {
    let (own, theirs) = (identity, other.identity)
    if self === other || own == theirs { return nil }
    func text(_ what: String, _ own: some Equatable, _ theirs: some Equatable) -> String? {
      "\(own)" == "\(theirs)" ? nil : "\(what) differs: \(own) after \(theirs)"
    }
    return text("the codec", codec, other.codec) ?? text("the timescale", timebase, other.timebase)
      ?? text("the size", "\(size.width)x\(size.height)", "\(other.size.width)x\(other.size.height)")
      ?? text("the sample rate", sampleRate, other.sampleRate)
      ?? text("the channel layout", own.layout, theirs.layout)
      ?? (own.parameterSets == theirs.parameterSets ? "the profile or the orientation differs" : nil)
      ?? "their parameter sets differ"
  }

  /// Sets up a stream of an output for such packets.
  /// - Parameters:
  ///   - hiddenSamples: The number of hidden samples that Opus is to state, in place of what the file of the packets
  ///     states. Nil: as that file states.
  ///   - isCarried: Whether the track is enabled only if it is in its file.
  func fill(
    _ stream: UnsafeMutablePointer<AVStream>, of file: MuxerFile, hiddenSamples: Int?, isCarried: Bool = false
  ) throws(MediaError) {
    try check(avcodec_parameters_copy(stream.pointee.codecpar, parameters), "opening", file.name)
    let filled = stream.pointee.codecpar!
    let format = file.context.pointee.oformat!
    // A tag is kept if it means the same in the output. Matroska has no other place for the profile of ProRes.
    if codec != "prores",
      av_codec_get_id(format.pointee.codec_tag, filled.pointee.codec_tag) != filled.pointee.codec_id
    {
      filled.pointee.codec_tag = 0
    }
    if let hiddenSamples, codec == "opus" {
      filled.pointee.initial_padding = Int32(clamping: hiddenSamples)
      // The pre-skip of the identification header: RFC 7845, 5.1.
      if filled.pointee.extradata_size >= 12 {
        let value = UInt16(clamping: hiddenSamples)
        filled.pointee.extradata[10] = UInt8(truncatingIfNeeded: value)
        filled.pointee.extradata[11] = UInt8(truncatingIfNeeded: value >> 8)
      }
    }
    stream.pointee.time_base = avTimebase
    stream.pointee.avg_frame_rate = frameRates.average
    stream.pointee.r_frame_rate = frameRates.base
    // What the container states is shown, whatever the codec states, and muxers want one ratio.
    if aspect.num > 0 { filled.pointee.sample_aspect_ratio = aspect }
    stream.pointee.sample_aspect_ratio = aspect
    stream.pointee.disposition = isCarried ? disposition : disposition | AV_DISPOSITION_DEFAULT
    if let language { file.state(language: language, of: stream) }
    if let title { file.state(TrackLabel(title: title), of: stream) }
    for side in sideData {
      guard let data = av_stream_new_side_data(stream, side.avType, side.bytes.count) else { continue }
      data.update(from: side.bytes, count: side.bytes.count)
    }
  }

  var avTimebase: AVRational {
    AVRational(num: Int32(clamping: timebase.value), den: max(1, timebase.timescale))
  }
}

/// Equal formats are those whose packets can follow one another.
extension StoredTrackFormat: Hashable {
  package static func == (left: StoredTrackFormat, right: StoredTrackFormat) -> Bool {
    left === right || left.identity == right.identity
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// What libavformat has beside the bytes of a packet or the parameters of a track.
package struct PacketSideData: Sendable, Hashable {
  /// libavcodec's number.
  package var type: UInt32
  package var bytes: [UInt8]

  package init(type: UInt32, bytes: [UInt8]) {
    (self.type, self.bytes) = (type, bytes)
  }

  /// Nil if there is nothing in it.
  init?(_ data: AVPacketSideData) {
    guard data.size > 0, let bytes = data.data else { return nil }
    self.init(type: data.type.rawValue, bytes: Array(UnsafeBufferPointer(start: bytes, count: data.size)))
  }

  var avType: AVPacketSideDataType { AVPacketSideDataType(rawValue: type) }
}

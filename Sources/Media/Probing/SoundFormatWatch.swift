internal import CMedia

/// Whether the packets of an audio track may decode to another sample rate or other channels than its first, as their
/// headers show without decoding: streams of several encoders were joined.
struct SoundFormatWatch {
  private let codec: AVCodecID
  private var isFirst = true
  /// What the last header stated.
  private var last: UInt32?
  /// Whether a packet differs from the one before.
  private(set) var mayChange = false

  init(_ parameters: UnsafePointer<AVCodecParameters>) {
    codec = parameters.pointee.codec_id
  }

  /// Packets are added in the file's order.
  mutating func add(_ packet: Packet) {
    defer { isFirst = false }
    if mayChange { return }
    if !isFirst, packet.hasNewParameters || packet.withBytes(isHeaderOfAnotherPart) {
      mayChange = true
      return
    }
    guard let stated = packet.withBytes(statement) else { return }
    if let last, last != stated { mayChange = true }
    last = stated
  }

  /// A header that begins an Ogg stream comes as a packet where another stream follows the first.
  private func isHeaderOfAnotherPart(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch codec {
    case AV_CODEC_ID_VORBIS: bytes.starts(with: [1] + "vorbis".utf8)
    case AV_CODEC_ID_OPUS: bytes.starts(with: "OpusHead".utf8)
    case AV_CODEC_ID_FLAC: bytes.starts(with: [0x7F] + "FLAC".utf8)
    case AV_CODEC_ID_SPEEX: bytes.starts(with: "Speex   ".utf8)
    default: false
    }
  }

  /// The fields of a packet's header that decide the rate and the channels; nil if it does not begin with one.
  private func statement(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard bytes.count >= 8 else { return nil }
    func fields(_ masks: [(at: Int, mask: UInt8)]) -> UInt32 {
      masks.reduce(0) { $0 << 8 | UInt32(bytes[$1.at] & $1.mask) }
    }
    switch codec {
    case AV_CODEC_ID_AAC:
      // The index of the rate, and the configuration of the channels.
      guard bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
      return fields([(2, 0x3D), (3, 0xC0)])
    case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3:
      return MPEGAudioHeader(bytes).map { UInt32($0.sampleRate) << 1 | ($0.isMono ? 1 : 0) }
    case AV_CODEC_ID_AC3:
      guard bytes[0] == 0x0B, bytes[1] == 0x77 else { return nil }
      // The bit for the low frequencies follows the levels of those channels that the mode has.
      let mode = bytes[6] >> 5
      var place = 51
      if mode & 1 != 0, mode != 1 { place += 2 }
      if mode & 4 != 0 { place += 2 }
      if mode == 2 { place += 2 }
      let low = bytes[place / 8] >> (7 - place % 8) & 1
      return fields([(4, 0xC0), (6, 0xE0)]) << 1 | UInt32(low)
    case AV_CODEC_ID_EAC3:
      // A dependent substream has channels of its own.
      guard bytes[0] == 0x0B, bytes[1] == 0x77, bytes[2] >> 6 != 1 else { return nil }
      return bytes[4] >> 6 == 3 ? fields([(4, 0xFF)]) : fields([(4, 0xCF)])
    case AV_CODEC_ID_FLAC:
      guard bytes[0] == 0xFF, bytes[1] & 0xFE == 0xF8 else { return nil }
      return fields([(2, 0x0F)]) << 4 | UInt32(bytes[3] >> 4 < 8 ? bytes[3] >> 4 : 1)
    case AV_CODEC_ID_PCM_DVD: return fields([(1, 0xFF)])
    default: return nil
    }
  }
}

extension Packet {
  /// Whether the container states other parameters of the codec from this packet on.
  fileprivate var hasNewParameters: Bool {
    [AV_PKT_DATA_NEW_EXTRADATA, AV_PKT_DATA_PARAM_CHANGE].contains {
      var size = 0
      return av_packet_get_side_data(pointer, $0, &size) != nil
    }
  }
}

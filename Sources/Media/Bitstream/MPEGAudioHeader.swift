internal import CMedia

/// What the header of an MPEG audio frame states (ISO/IEC 11172-3, 2.4.1.3, and 13818-3, 2.4.2.3).
struct MPEGAudioHeader: Equatable {
  /// Samples a second of each channel.
  var sampleRate: Int32
  var isMono: Bool

  /// Nil if the bytes do not begin with a header.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0, bytes[2] >> 2 & 3 < 3 else { return nil }
    let rate = [44100, 48000, 32000][Int(bytes[2] >> 2 & 3)] as Int32
    switch bytes[1] >> 3 & 3 {
    case 3: sampleRate = rate
    case 2: sampleRate = rate / 2
    case 0: sampleRate = rate / 4
    default: return nil
    }
    isMono = bytes[3] >> 6 == 3
  }

  /// Whether packets of a codec begin with one.
  static func begins(_ codec: AVCodecID) -> Bool {
    codec == AV_CODEC_ID_MP1 || codec == AV_CODEC_ID_MP2 || codec == AV_CODEC_ID_MP3
  }
}

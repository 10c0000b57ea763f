/// AAC-LC, encoded by libavcodec's own encoder.
struct AAC: AudioCodecDefinition {
  let containers = [Container.mp4, .mov, .m4v, .m4a, .mkv, .m3u8, .mpd]
  let sampleRates = AudioSettings.commonSampleRates
  /// The upper bound is above that of 8 channels at 96 kHz. `problem` checks the bound of the settings themselves.
  let bitRates: ClosedRange<Int>? = 8000...6_000_000
  let bitDepths: [Int] = []
  /// A packet overlaps the next one by half of its window. The encoder chooses windows by what it hears of the packets
  /// beside, so these are the same after a few of them; how finely it quantises follows its bit rate over some seconds:
  /// with 192 packets the noise is that of one encoder, and with 16 up to 10 dB above it.
  let joins: EncodedJoins? = EncodedJoins(frameSize: 1024, runUp: 192, lookAhead: 8)

  /// 64 kbit/s a channel, as far as the codec can use it.
  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? {
    min(64000 * channels, greatest(sampleRate: sampleRate, channels: channels))
  }

  /// A frame of 1024 samples has at most 6144 bits a channel.
  private func greatest(sampleRate: Int, channels: Int) -> Int { 6 * sampleRate * channels }

  func greatestBitRate(sampleRate: Int, channels: Int) -> Int? { greatest(sampleRate: sampleRate, channels: channels) }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? {
    let greatest = greatest(sampleRate: settings.sampleRate, channels: settings.channels)
    guard let bitRate = settings.bitRate, bitRate > greatest else { return nil }
    return (
      "bitRate",
      "\(bitRate) is more than aac can use at \(settings.sampleRate) Hz and \(settings.channels) channels; "
        + "at most \(greatest)"
    )
  }

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioEncoderSetup(encoder: "aac", name: "aac", layout: .planar(.float32), bitDepth: 0)
  }
}

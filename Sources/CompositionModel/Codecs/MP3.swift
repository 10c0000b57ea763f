/// MP3 (MPEG audio, layer III) of a constant bit rate, encoded by LAME.
struct MP3: AudioCodecDefinition {
  /// Matroska files of libavformat cannot state that the encoder's delay of 1105 samples is not presented. With 47
  /// samples of silence before the sound the delay is a whole packet, but a film without that packet is silent for the
  /// first 576 to 1152 samples, because those of a packet are coded with the ones before and with their bits.
  let containers = [Container.mp3, .mp4, .mov]
  let sampleRates = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000]
  let channelCounts = [1, 2]
  let bitRates: ClosedRange<Int>? = 8000...320_000
  let bitDepths: [Int] = []

  /// The bit rates that frames of a sample rate can state, in bits a second: MPEG-1 from 32 kHz on, MPEG-2 from 16 kHz
  /// on and MPEG-2.5 below (ISO/IEC 11172-3, 2.4.2.3; 13818-3, 2.4.2.3).
  private func possible(sampleRate: Int) -> [Int] {
    let thousands =
      sampleRate >= 32000
      ? [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
      : sampleRate >= 16000
        ? [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160] : [8, 16, 24, 32, 40, 48, 56, 64]
    return thousands.map { $0 * 1000 }
  }

  /// 64 kbit/s a channel, as far as the sample rate allows it.
  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? {
    possible(sampleRate: sampleRate).last { $0 <= 64000 * channels }
  }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? {
    let possible = possible(sampleRate: settings.sampleRate)
    guard let bitRate = settings.bitRate, !possible.contains(bitRate) else { return nil }
    return (
      "bitRate",
      "\(bitRate) is no bit rate of mp3 at \(settings.sampleRate) Hz; allowed are \(list(possible.map(String.init)))"
    )
  }

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioEncoderSetup(encoder: "libmp3lame", name: "mp3", layout: .planar(.float32), bitDepth: 0)
  }
}

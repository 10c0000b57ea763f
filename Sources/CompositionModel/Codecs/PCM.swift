/// Uncompressed samples: little-endian integers of 16 or 24 bits.
struct PCM: AudioCodecDefinition {
  let containers = [Container.mov, .mkv]
  let sampleRates = AudioSettings.commonSampleRates + [176_400, 192_000]
  let bitRates: ClosedRange<Int>? = nil
  let bitDepths = [16, 24]

  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? { nil }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? { nil }

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioSampleLayout(integerBits: bitDepth).map {
      let name = "pcm_s\(bitDepth)le"
      return AudioEncoderSetup(encoder: name, name: name, layout: $0, bitDepth: bitDepth)
    }
  }
}

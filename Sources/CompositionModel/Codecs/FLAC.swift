/// FLAC: lossless, of 16 or 24 bits a sample.
struct FLAC: AudioCodecDefinition {
  /// QuickTime has no mapping for FLAC, so `mov` is not among them.
  let containers = [Container.mp4, .mkv]
  let sampleRates = AudioSettings.commonSampleRates + [176_400, 192_000]
  let bitRates: ClosedRange<Int>? = nil
  let bitDepths = [16, 24]

  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? { nil }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? { nil }

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioSampleLayout(integerBits: bitDepth).map {
      AudioEncoderSetup(encoder: "flac", name: "flac", layout: $0, bitDepth: bitDepth)
    }
  }
}

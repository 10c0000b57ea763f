/// FLAC: lossless, of 16 or 24 bits a sample.
struct FLAC: LosslessAudioCodecDefinition {
  /// QuickTime has no mapping for FLAC, so `mov` is not among them.
  let containers = [Container.mp4, .mkv, .flac, .ogg, .m3u8, .mpd]

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioSampleLayout.SampleType(integerBits: bitDepth).map {
      AudioEncoderSetup(encoder: "flac", name: "flac", layout: .interleaved($0), bitDepth: bitDepth)
    }
  }
}

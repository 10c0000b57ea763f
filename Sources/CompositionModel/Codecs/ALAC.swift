/// Apple Lossless: of 16 or 24 bits a sample.
struct ALAC: LosslessAudioCodecDefinition {
  let containers = [Container.mp4, .mov, .m4v, .m4a, .mkv, .m3u8, .mpd]
  /// Its 7.1 has other places of the speakers than the mix.
  let channelCounts = [1, 2, 6]

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioSampleLayout.SampleType(integerBits: bitDepth).map {
      AudioEncoderSetup(encoder: "alac", name: "alac", layout: .planar($0), bitDepth: bitDepth)
    }
  }
}

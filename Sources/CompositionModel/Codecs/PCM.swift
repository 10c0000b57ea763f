/// Uncompressed samples: little-endian integers of 16 or 24 bits.
struct PCM: LosslessAudioCodecDefinition {
  let containers = [Container.mov, .mkv, .mxf, .wav]

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioSampleLayout.SampleType(integerBits: bitDepth).map {
      let name = "pcm_s\(bitDepth)le"
      return AudioEncoderSetup(encoder: name, name: name, layout: .interleaved($0), bitDepth: bitDepth)
    }
  }
}

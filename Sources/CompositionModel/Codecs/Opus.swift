/// Opus, encoded by libopus.
struct Opus: AudioCodecDefinition {
  let containers = [Container.mp4, .mkv, .webm, .ogg]
  /// Its decoders give no other one.
  let sampleRates = [48000]
  let defaultSampleRate = 48000
  let bitRates: ClosedRange<Int>? = 6000...2_048_000
  let bitDepths: [Int] = []

  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? { 64000 * channels }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? {
    let greatest = 256_000 * settings.channels
    guard let bitRate = settings.bitRate, bitRate > greatest else { return nil }
    return ("bitRate", "\(bitRate) is more than opus can use with \(settings.channels) channels; at most \(greatest)")
  }

  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup? {
    AudioEncoderSetup(encoder: "libopus", name: "opus", layout: .interleaved(.float32), bitDepth: 0)
  }
}

import Media
import RenderTasks

/// The sound of an edit that is a source of another mix, mixed when it is heard. Position 0 is the first sample of its
/// film; before it and after its last sample there is silence.
final class NestedMix: SharedSource {
  /// How many samples are mixed at a time at most.
  private static let blockSize = 8192

  let sampleRate: Int
  let channels: Int
  private let mix: AudioMixdown
  private let opener: ClipOpener
  private var mixer: FilmMixer?
  private let block: SampleBlock

  /// - Parameter opener: Of the mix.
  init(_ mix: AudioMixdown, opening opener: ClipOpener) {
    (self.mix, self.opener) = (mix, opener)
    (sampleRate, channels) = (mix.sampleRate, mix.channels)
    block = SampleBlock(channels: mix.channels, capacity: Self.blockSize)
  }

  func isNear(_ position: Int64) -> Bool {
    guard let mixer else { return false }
    let next = mixer.position - firstSample
    return next <= position && position - next <= Int64(2 * sampleRate)
  }

  func read(at position: Int64, into target: SampleBlock, _ range: SampleRange) throws(RenderError) {
    target.clear(range.start, range.count)
    // What is looked ahead at or stretched may begin before the film and end after it.
    let (first, end) = (max(0, position), min(position + Int64(range.count), mix.sampleCount))
    guard first < end else { return }
    let heard = first..<end
    let mixer = try mixer(at: heard.lowerBound)
    var next = heard.lowerBound
    while next < heard.upperBound {
      let count = Int(min(Int64(Self.blockSize), heard.upperBound - next))
      try mixer.mix(count, into: block)
      target.copy(block, from: 0, to: range.start + Int(next - position), count: count)
      next += Int64(count)
    }
  }

  /// The sample of the edit's composition that is the first of its film.
  private var firstSample: Int64 { mix.firstSample ?? 0 }

  /// A mixer whose next sample is this one.
  private func mixer(at position: Int64) throws(RenderError) -> FilmMixer {
    let mixer: FilmMixer
    if let known = self.mixer, isNear(position) {
      mixer = known
    } else {
      var part = mix
      part.firstSample = firstSample + position
      part.sampleCount = mix.sampleCount - position
      mixer = try FilmMixer(part, opening: opener, capacity: Self.blockSize)
      self.mixer = mixer
    }
    while mixer.position < firstSample + position {
      try mixer.mix(Int(min(Int64(Self.blockSize), firstSample + position - mixer.position)), into: block)
    }
    return mixer
  }
}

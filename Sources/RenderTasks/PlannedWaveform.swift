package import CompositionModel

/// A picture of sound in a segment. The sound is mixed in blocks, each of which begins at a multiple of their length of
/// its timeline, so that its samples are the same in whatever segment they are shown.
package struct PlannedWaveform: Sendable, Hashable, Codable {
  /// Its sound has no meaning here.
  package var waveform: Waveform
  /// One channel, as far as the segment shows it. It has no encoders.
  package var mix: AudioMixdown
  /// The time on the mix's timeline of the segment's time zero.
  package var start: MediaTime

  /// Samples a second of the mix.
  package static let sampleRate = 48_000
  /// Samples of a block.
  package static let blockSize: Int64 = 240_000
  /// Samples before a block that are mixed too, so that what converts rates has begun when the block does.
  package static let runUp: Int64 = 4800
  /// The samples around a frame's time of which a spectrum is computed. A power of two.
  package static let spectrumSize = 2048

  package init(_ waveform: Waveform, mix: AudioMixdown, start: MediaTime) {
    (self.waveform, self.mix, self.start) = (waveform, mix, start)
  }

  /// The samples in the width of a picture.
  package static func samples(of waveform: Waveform) throws(TimeError) -> Int64 {
    guard waveform.style != .spectrum else { return Int64(spectrumSize) }
    return max(1, Int64(clamping: try (waveform.window.exact * Rational(sampleRate)).rounded))
  }

  /// The samples that a picture shows at a time of the segment: as many as `count`.
  package func samples(at time: Rational, count: Int64) throws(TimeError) -> Range<Int64> {
    let now = Int64(clamping: try ((start.exact + time) * Rational(Self.sampleRate)).rounded)
    return (now - count / 2)..<(now - count / 2 + count)
  }
}

extension VideoTask {
  /// The digests of the files of which overlays show the sound, each once, in order of first appearance.
  package var soundDigests: [String] {
    var seen: Set<String> = []
    let own = overlays.flatMap { overlay -> [String] in
      if case .waveform(let waveform) = overlay.content { waveform.mix.digests } else { [] }
    }
    return (own + nested.flatMap(\.soundDigests)).filter { seen.insert($0).inserted }
  }
}

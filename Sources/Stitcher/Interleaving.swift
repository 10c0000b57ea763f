import CompositionModel

/// Which of two packets comes first in a file: the one that is needed first.
struct Interleaving: Sendable {
  /// Seconds a frame, as a fraction.
  private let frame: (numerator: Int128, denominator: Int128)
  private let sampleRate: Int128

  init(frameDuration: MediaTime, sampleRate: Int) {
    frame = (Int128(frameDuration.value), Int128(frameDuration.timescale))
    self.sampleRate = Int128(sampleRate)
  }

  /// Whether the picture decoded at this frame goes before the sound heard at this sample; it does at the same time.
  func putsPictureFirst(frame decoding: Int64, sample presentation: Int64) -> Bool {
    Int128(decoding) * frame.numerator * sampleRate <= Int128(presentation) * frame.denominator
  }
}

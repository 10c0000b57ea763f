import CKernels
import Media

/// The mix of a film with its mastering, from the first sample on.
final class MasteredMix {
  private let mixer: FilmMixer
  private let gain: Double
  private let limiter: OpaquePointer?
  /// How many samples the limiter is late: they are dropped before the first.
  private var discarded = 0
  private let dips: Dips
  /// The number of the next sample. The first is 0.
  private var position = 0

  init(_ mixer: FilmMixer, _ mastering: Mastering, sampleRate: Int, channels: Int) throws(RenderError) {
    self.mixer = mixer
    gain = amplitude(mastering.gain)
    dips = Dips(decibels: mastering.dips)
    guard let ceiling = mastering.ceiling else {
      limiter = nil
      return
    }
    limiter = sheaf_limiter_open(Int32(channels), Int32(sampleRate), amplitude(ceiling))
    guard let limiter else { throw RenderError(.infrastructure, "there is no memory for a limiter") }
    discarded = Int(sheaf_limiter_latency(limiter))
  }

  deinit { sheaf_limiter_close(limiter) }

  /// Mixes the next `count` samples into the first of `block`, which has the mixer's capacity.
  func mix(_ count: Int, into block: SampleBlock) throws(RenderError) {
    while discarded > 0 {
      let part = min(discarded, block.capacity)
      try run(part, block)
      discarded -= part
    }
    try run(count, block)
    dips.apply(to: block, position..<(position + count))
    position += count
  }

  private func run(_ count: Int, _ block: SampleBlock) throws(RenderError) {
    try mixer.mix(count, into: block)
    if let limiter {
      block.withRows(from: 0) { sheaf_limiter_run(limiter, UnsafePointer($0), gain, count) }
    } else if gain != 1 {
      for channel in 0..<block.channels {
        let row = block.row(channel)
        for index in 0..<count { row[index] *= Float(gain) }
      }
    }
  }
}

/// The places of a mix that are lowered.
struct Dips {
  /// By the number of the meter's block.
  var decibels: [Int: Double]

  /// Samples on each side of a block that are lowered as it is, so that the frames of a codec that share them are.
  private static let margin = 512
  /// Samples after those over which the sound comes to its own level again.
  private static let ramp = 1024

  /// - Parameter samples: The samples of the film that the first ones of the block are.
  func apply(to block: SampleBlock, _ samples: Range<Int>) {
    guard !decibels.isEmpty else { return }
    let (length, reach) = (LoudnessMeter.blockLength, Self.margin + Self.ramp)
    var start = samples.lowerBound
    while start < samples.upperBound {
      let number = start / length
      let part = start..<min(samples.upperBound, (number + 1) * length)
      let near = (number - 2...number + 2).compactMap { number in
        decibels[number].map { (range: number * length..<(number + 1) * length, decibels: $0) }
      }
      if !near.isEmpty {
        for sample in part {
          var lowered = 0.0
          for dip in near {
            let distance = max(0, dip.range.lowerBound - sample, sample - dip.range.upperBound + 1)
            lowered = max(lowered, dip.decibels * min(1, Double(max(0, reach - distance)) / Double(Self.ramp)))
          }
          let factor = Float(amplitude(-lowered))
          for channel in 0..<block.channels { block.row(channel)[sample - samples.lowerBound] *= factor }
        }
      }
      start = part.upperBound
    }
  }
}

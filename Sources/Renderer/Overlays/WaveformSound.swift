import CompositionModel
import Media
import RenderTasks

/// The samples of the sound that an overlay shows, mixed block by block.
final class WaveformSound {
  private let mix: AudioMixdown
  private let inputs: [String: any ByteSource]
  private let liveness: Liveness?
  /// By number. Frames show later and later samples, so the earliest blocks are dropped.
  private var blocks: [Int64: [Float]] = [:]
  private static let mixedAtOnce = 8192

  init(_ mix: AudioMixdown, inputs: [String: any ByteSource], liveness: Liveness?) {
    (self.mix, self.inputs, self.liveness) = (mix, inputs, liveness)
  }

  /// Some samples. Before the first one, and beyond the last one, there is silence.
  func samples(_ range: Range<Int64>) throws(RenderError) -> [Float] {
    var samples: [Float] = []
    samples.reserveCapacity(range.count)
    var next = range.lowerBound
    while next < range.upperBound {
      guard next >= 0 else {
        let count = min(0, range.upperBound) - next
        samples += Array(repeating: 0, count: Int(count))
        next += count
        continue
      }
      let number = next / PlannedWaveform.blockSize
      let start = number * PlannedWaveform.blockSize
      let end = min(range.upperBound, start + PlannedWaveform.blockSize)
      let block = try self.block(number)
      samples += block[Int(next - start)..<Int(end - start)]
      next = end
    }
    for number in blocks.keys where (number + 1) * PlannedWaveform.blockSize <= range.lowerBound {
      blocks[number] = nil
    }
    return samples
  }

  private func block(_ number: Int64) throws(RenderError) -> [Float] {
    if let known = blocks[number] { return known }
    let start = number * PlannedWaveform.blockSize
    let first = max(0, start - PlannedWaveform.runUp)
    var part = mix
    (part.firstSample, part.sampleCount) = (first, start + PlannedWaveform.blockSize - first)
    let mixer = try FilmMixer(
      part, opening: ClipOpener(part, inputs: inputs, liveness: liveness), capacity: Self.mixedAtOnce)
    let memory = SampleBlock(channels: 1, capacity: Self.mixedAtOnce)
    var samples: [Float] = []
    samples.reserveCapacity(Int(part.sampleCount))
    while Int64(samples.count) < part.sampleCount {
      let count = min(Self.mixedAtOnce, Int(part.sampleCount) - samples.count)
      try mixer.mix(count, into: memory)
      samples += UnsafeBufferPointer(start: memory.row(0), count: count)
      liveness?.advance()
    }
    samples.removeFirst(Int(start - first))
    blocks[number] = samples
    return samples
  }
}

import CMedia
import CompositionModel

/// Sound of another sample rate or other channels, converted by libswresample.
final class ConvertedSound: SampleStream {
  /// Half of the converter's filter, in samples of the slower of the two rates.
  private static let filterReach = 16

  private let source: any SampleSource
  private var position: Int64
  private let resampler: OpaquePointer
  private let input: SampleBlock
  /// Converted samples that nobody has taken yet: `available` of them, from `taken` on.
  private let output: SampleBlock
  private var taken = 0
  private var available = 0
  private var discarded: Int64

  /// Sound at the output's rate of which the first sample is the one at `start` seconds of the asset's timeline.
  init(
    _ source: any SampleSource, plan: ChannelPlan, start: Rational, outputRate: Int, outputChannels: Int
  ) throws(RenderError) {
    self.source = source
    do throws(TimeError) {
      if source.sampleRate == outputRate {
        guard let first = Int64(exactly: try (start * Rational(outputRate)).rounded) else { throw TimeError.overflow }
        (position, discarded) = (first, 0)
      } else {
        let reach = Self.filterReach * max(1, (source.sampleRate + outputRate - 1) / outputRate)
        let phase = try ResamplePhase(
          sourceStart: start, sourceRate: source.sampleRate, outputRate: outputRate, runUp: reach)
        (position, discarded) = (phase.firstSource, phase.discarded)
      }
    } catch {
      throw RenderError(soundTime: error)
    }
    input = SampleBlock(channels: source.channels, capacity: 4096)
    output = SampleBlock(
      channels: outputChannels, capacity: 4096 * (outputRate / source.sampleRate + 1) + Self.filterReach * 64)
    resampler = try Self.open(source, plan, outputRate, outputChannels)
  }

  deinit { sheaf_resample_close(resampler) }

  private static func open(
    _ source: any SampleSource, _ plan: ChannelPlan, _ rate: Int, _ channels: Int
  ) throws(RenderError) -> OpaquePointer {
    var matrix: [Double]?
    var (from, to) = ("", "")
    switch plan {
    case .same:
      // The rate alone changes: each channel stays itself, whatever it is called.
      matrix = (0..<channels * channels).map { $0 % (channels + 1) == 0 ? 1 : 0 }
    case .standard(let input, let output): (from, to) = (input, output)
    case .matrix(let gains): matrix = gains
    }
    var opened: OpaquePointer?
    let (inputRate, inputChannels) = (Int32(clamping: source.sampleRate), Int32(clamping: source.channels))
    let status: Int32
    if let matrix {
      status = matrix.withUnsafeBufferPointer {
        sheaf_resample_open(&opened, inputRate, inputChannels, "", Int32(rate), Int32(channels), "", $0.baseAddress)
      }
    } else {
      status = sheaf_resample_open(&opened, inputRate, inputChannels, from, Int32(rate), Int32(channels), to, nil)
    }
    guard status >= 0, let opened else {
      throw RenderError(
        soundTask: "sound of \(source.sampleRate) Hz and \(source.channels) channels (\(from)) cannot be converted to "
          + "\(rate) Hz and \(channels) channels (libswresample says \(status))")
    }
    return opened
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      if taken == available { try convert() }
      let count = min(range.count - filled, available - taken)
      block.copy(output, from: taken, to: range.start + filled, count: count)
      taken += count
      filled += count
    }
  }

  private func convert() throws(RenderError) {
    try source.read(at: position, into: input, SampleRange(start: 0, count: input.capacity))
    position += Int64(input.capacity)
    let converted = output.withRows(from: 0) { to in
      input.withConstantRows { from in
        sheaf_resample(resampler, to, Int32(output.capacity), from, Int32(input.capacity))
      }
    }
    guard converted >= 0 else {
      throw RenderError(.infrastructure, "sound could not be resampled (libswresample says \(converted))")
    }
    available = Int(converted)
    taken = Int(min(discarded, Int64(converted)))
    discarded -= Int64(taken)
  }
}

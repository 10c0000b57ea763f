import CMedia
import CompositionModel
import Media

/// Samples at another speed with the same pitch, by libavfilter's `rubberband`.
///
/// libavfilter's `atempo` is not used: it moves each grain to where it fits best, so a sound is up to 25 ms from its exact
/// time, and a click between two grains is lost. `rubberband` maps times about the middle of its first window: output - c =
/// (input - c) / tempo. So the stream starts c samples early and drops as many outputs. Sounds are then near their exact
/// times, with a standard deviation of 2 ms at 0.8 to 1.5 times the speed, 3.5 ms at twice, 8 ms at half.
final class StretchedStream: SampleStream {
  /// How many samples to start early, of input and of output.
  static func runUp(sampleRate: Int) -> Int {
    // Half the window, which is 2048 samples at (24000, 48000] Hz and doubles with each octave.
    var (samples, top) = (1024, 48000)
    while sampleRate > top { (samples, top) = (samples * 2, top * 2) }
    while sampleRate <= top / 2, samples > 64 { (samples, top) = (samples / 2, top / 2) }
    return samples
  }

  private let input: any SampleStream
  private let inputBlock: SampleBlock
  private let stretcher: OpaquePointer
  private var discarded: Int

  /// - Parameter input: Starts `runUp` samples before the first requested sample.
  init(_ input: any SampleStream, tempo: Rational, sampleRate: Int, channels: Int) throws(RenderError) {
    let isPossible = try mapErrors(to: RenderError.caused(.task, "a clip's speed is out of range")) {
      () throws(TimeError) in try Rational(1, 100) <= tempo && tempo <= Rational(100)
    }
    guard isPossible else {
      throw RenderError(
        .task, "a clip's audio cannot be played at \(tempo.approximate) times its speed; 1/100 to 100 times is possible"
      )
    }
    self.input = input
    inputBlock = SampleBlock(channels: channels, capacity: 1024)
    discarded = Self.runUp(sampleRate: sampleRate)
    var opened: OpaquePointer?
    var message = ""
    let status = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { text in
      text.initialize(repeating: 0)
      let status = sheaf_stretch_open(
        &opened, Int32(sampleRate), Int32(channels), tempo.approximate, text.baseAddress, text.count)
      if let first = text.baseAddress { message = String(cString: first) }
      return status
    }
    guard status >= 0, let opened else { throw Self.failure(message, status) }
    stretcher = opened
  }

  deinit { sheaf_stretch_close(stretcher) }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    while discarded > 0 {
      // Dropped samples are written where the requested ones overwrite them.
      discarded -= try receive(into: block, start: range.start, capacity: min(discarded, range.count))
    }
    var filled = 0
    while filled < range.count {
      filled += try receive(into: block, start: range.start + filled, capacity: range.count - filled)
    }
  }

  /// Receives at least one sample, and at most `capacity`.
  private func receive(into block: SampleBlock, start: Int, capacity: Int) throws(RenderError) -> Int {
    while true {
      let received = block.withRows(from: start) {
        sheaf_stretch_receive(stretcher, UnsafePointer($0), Int32(capacity))
      }
      if received > 0 { return Int(received) }
      guard received == 0 else { throw Self.failure("the stretcher returned no samples", received) }
      try input.read(into: inputBlock, SampleRange(start: 0, count: inputBlock.capacity))
      let status = inputBlock.withConstantRows {
        sheaf_stretch_send(stretcher, $0, Int32(inputBlock.capacity))
      }
      guard status >= 0 else { throw Self.failure("the stretcher refused samples", status) }
    }
  }

  /// The stretcher is missing or failed; `status` is libav's.
  private static func failure(_ message: String, _ status: Int32) -> RenderError {
    RenderError(.infrastructure, "the speed of a clip's audio cannot be changed: \(message) (status \(status))")
  }
}

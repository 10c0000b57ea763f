internal import CRubberBand
import CompositionModel
import Media

/// Samples at another speed with the same pitch, by the Rubber Band library.
///
/// Its real-time mode maps times about a point of its first window, at c: output - c = (input - c) / tempo. So the
/// stream starts c samples early, which also fills the window with the sound before the clip, and drops as many
/// outputs.
final class StretchedStream: RunUpStream {
  private let input: any SampleStream
  private let inputBlock: SampleBlock
  private let stretcher: TimeStretcher
  var discarded: Int

  /// - Parameter input: Starts `stretcher.runUp` samples before the first requested sample.
  init(_ input: any SampleStream, _ stretcher: TimeStretcher) {
    self.input = input
    self.stretcher = stretcher
    inputBlock = SampleBlock(channels: stretcher.channels, capacity: stretcher.inputSize)
    discarded = stretcher.runUp
  }

  func receive(into block: SampleBlock, start: Int, capacity: Int) throws(RenderError) -> Int {
    while true {
      let received = stretcher.receive(into: block, start: start, capacity: capacity)
      if received > 0 { return received }
      try input.read(into: inputBlock, SampleRange(start: 0, count: inputBlock.capacity))
      stretcher.send(inputBlock)
    }
  }
}

/// A stretcher of the Rubber Band library.
///
/// `spectral` is its finer engine (R3). Sounds without a sharp start are at their exact times, and attacks are early by
/// 5 ms a unit of slowness: their onset is detected before they are in the middle of the window. The run-up meets the
/// two in between, so that at half the speed attacks and others are within 3 ms of their times, and at a quarter within
/// 11. `timeDomain` is its faster engine (R2) with a short window, whose point is nearer to the window's start when it
///    slows.
final class TimeStretcher {
  let channels: Int
  /// How many samples to start early, of input and of output.
  let runUp: Int
  /// How many samples to send at a time. Each becomes 1/tempo samples, for which the library has bounded room.
  let inputSize: Int
  private let state: RubberBandState
  /// The samples of one window, of which the first is taken out when the next window starts.
  private let windowSize: Int
  private let pad: Double
  private let isFine: Bool

  /// - Parameters:
  ///   - pitch: `spectral` or `timeDomain`.
  ///   - tempo: From 1/100 to 100; 2 is twice as fast.
  init(_ pitch: PitchAlgorithm, tempo: Rational, sampleRate: Int, channels: Int) throws(RenderError) {
    let isPossible = try mapErrors(to: RenderError.caused(.task, "a clip's speed is out of range")) {
      () throws(TimeError) in try Rational(1, 100) <= tempo && tempo <= Rational(100)
    }
    guard isPossible else {
      throw RenderError(
        .task, "a clip's audio cannot be played at \(tempo.approximate) times its speed; 1/100 to 100 times is possible"
      )
    }
    isFine = pitch != .timeDomain
    let engine = isFine ? RubberBandOptionEngineFiner : RubberBandOptionWindowShort
    // `together` keeps the phase between channels, and with it the direction of each sound.
    let options = [
      RubberBandOptionProcessRealTime, RubberBandOptionThreadingNever, RubberBandOptionChannelsTogether, engine,
    ]
    let made = rubberband_new(
      UInt32(clamping: sampleRate), UInt32(clamping: channels), options.reduce(0) { $0 | Int32($1.rawValue) },
      1 / tempo.approximate, 1)
    guard let made else {
      throw RenderError(.infrastructure, "the speed of a clip's audio cannot be changed: no time stretcher")
    }
    state = made
    self.channels = channels
    pad = Double(rubberband_get_preferred_start_pad(made))
    windowSize = Int(rubberband_get_samples_required(made))
    runUp = Int(Self.middle(pad, isFine: isFine, isSlow: tempo < .one))
    inputSize = Int(max(16, min(1024, 1024 * tempo.approximate)))
  }

  deinit { rubberband_delete(state) }

  /// How far after its start the point of a window is whose time is kept, in samples.
  func middle(tempo: Double) -> Double { Self.middle(pad, isFine: isFine, isSlow: tempo < 1) }

  private static func middle(_ pad: Double, isFine: Bool, isSlow: Bool) -> Double {
    pad * (isSlow ? isFine ? 1.07 : 0.55 : 1)
  }

  /// Takes all samples of a block.
  func send(_ block: SampleBlock) { send(block, count: block.capacity) }

  /// Takes the first samples of a block.
  func send(_ block: SampleBlock, count: Int) {
    block.withConstantRows { rubberband_process(state, $0, UInt32(count), 0) }
  }

  /// Sets the speed of the windows from now on. With `spectral` it may be set at any time.
  func setTempo(_ tempo: Double) { rubberband_set_time_ratio(state, 1 / tempo) }

  /// How many of the samples that were sent are before the first of the next window.
  /// - Parameter sent: How many were sent in all.
  func position(after sent: Int) -> Int { sent - (windowSize - Int(rubberband_get_samples_required(state))) }

  /// Writes at most `capacity` samples. Returns how many: 0 if more input is needed first.
  func receive(into block: SampleBlock, start: Int, capacity: Int) -> Int {
    let count = min(capacity, Int(rubberband_available(state)))
    guard count > 0 else { return 0 }
    return block.withRows(from: start) { Int(rubberband_retrieve(state, UnsafePointer($0), UInt32(count))) }
  }
}

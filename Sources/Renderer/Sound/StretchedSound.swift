import CMedia
import CompositionModel

/// Sound at another speed and its own pitch: libavfilter's `rubberband`.
///
/// Why not `atempo`: it moves each grain to where it fits best, so a sound lands up to 25 ms beside its place, and a
/// click between two grains is lost. `rubberband` turns about the middle of its first window, output - c = (input - c) /
/// tempo, so after a run-up of c samples, cut off again, sounds stand about their places: with a standard deviation of
/// 2 ms at 0.8 to 1.5 times the speed, 3.5 ms at twice, 8 ms at half.
final class StretchedSound: SampleStream {
  /// Samples to start early, of input and of output alike.
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

  /// `input` starts `runUp` samples before the sound that is wanted first.
  init(_ input: any SampleStream, tempo: Rational, sampleRate: Int, channels: Int) throws(RenderError) {
    let isAllowed: Bool
    do throws(TimeError) {
      isAllowed = try Rational(1, 100) <= tempo && tempo <= Rational(100)
    } catch {
      throw RenderError(soundTask: "a clip's speed cannot be computed: \(error)")
    }
    guard isAllowed else {
      throw RenderError(
        soundTask:
          "a clip's sound cannot be played at \(tempo.approximate) times its speed; 1/100 to 100 times is possible")
    }
    self.input = input
    inputBlock = SampleBlock(channels: channels, capacity: 1024)
    discarded = Self.runUp(sampleRate: sampleRate)
    var opened: OpaquePointer?
    let message = StretchMessage()
    let status = sheaf_stretch_open(
      &opened, Int32(sampleRate), Int32(channels), tempo.approximate, message.characters, message.capacity)
    guard status >= 0, let opened else { throw RenderError(stretching: message.text, status: status) }
    stretcher = opened
  }

  deinit { sheaf_stretch_close(stretcher) }

  /// Opens the library, for a process that is about to lose the right to open files.
  static func load() throws(RenderError) {
    let message = StretchMessage()
    guard sheaf_stretch_load(message.characters, message.capacity) == 0 else {
      throw RenderError(stretching: message.text, status: -1)
    }
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    while discarded > 0 {
      // What is cut off goes where the wanted samples will overwrite it.
      discarded -= try receive(into: block, start: range.start, capacity: min(discarded, range.count))
    }
    var filled = 0
    while filled < range.count {
      filled += try receive(into: block, start: range.start + filled, capacity: range.count - filled)
    }
  }

  /// At least one sample, and at most `capacity`.
  private func receive(into block: SampleBlock, start: Int, capacity: Int) throws(RenderError) -> Int {
    while true {
      let received = block.withRows(from: start) {
        sheaf_stretch_receive(stretcher, UnsafePointer($0), Int32(capacity))
      }
      if received > 0 { return Int(received) }
      guard received == 0 else { throw RenderError(stretching: "no sound came out", status: received) }
      try input.read(into: inputBlock, SampleRange(start: 0, count: inputBlock.capacity))
      let status = inputBlock.withConstantRows {
        sheaf_stretch_send(stretcher, $0, Int32(inputBlock.capacity))
      }
      guard status >= 0 else { throw RenderError(stretching: "sound was refused", status: status) }
    }
  }
}

/// Room for a message from C.
private final class StretchMessage {
  let capacity = 300
  let characters: UnsafeMutablePointer<CChar>

  init() {
    characters = .allocate(capacity: capacity)
    characters.initialize(repeating: 0, count: capacity)
  }

  deinit { characters.deallocate() }

  var text: String { String(cString: characters) }
}

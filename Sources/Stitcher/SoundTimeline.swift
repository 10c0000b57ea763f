/// The sound's packets one after another from the encoder's priming to the last sample that is heard.
struct SoundTimeline: Sendable {
  struct Times: Sendable, Equatable {
    /// In samples; before 0 is priming, which is decoded and not heard.
    var presentation: Int64
    /// Samples that belong to the film, priming included.
    var duration: Int64
    /// Samples that the decoder gives after the film's end.
    var discarded: Int64
  }

  let sampleCount: Int64
  private var next: Int64

  /// What a decoder gives of each packet, however long the packet is said to be; 0 where that is its own length.
  private let decodedFrame: Int64

  /// - Parameters:
  ///   - initialPadding: Samples that are decoded before the first that is heard.
  ///   - frameSize: Samples of a packet. A codec with padding works in whole frames, its last one too.
  init(sampleCount: Int64, initialPadding: Int64, frameSize: Int64) {
    self.sampleCount = sampleCount
    decodedFrame = initialPadding > 0 ? frameSize : 0
    next = -initialPadding
  }

  /// The next packet's place: it must start where the one before ended, and before the film's end.
  mutating func place(presentation: Int64, duration: Int64) throws(SoundFault) -> Times {
    guard presentation == next else { throw .misplaced(presentation: presentation, expected: next) }
    let (end, overflow) = presentation.addingReportingOverflow(duration)
    guard duration > 0, !overflow else { throw .noDuration(presentation: presentation) }
    guard presentation < sampleCount else { throw .beyondTheEnd(presentation: presentation, sampleCount: sampleCount) }
    next = end
    let kept = min(end, sampleCount) - presentation
    return Times(
      presentation: presentation, duration: kept, discarded: max(duration, end >= sampleCount ? decodedFrame : 0) - kept
    )
  }

  /// After the last packet.
  func finish() throws(SoundFault) {
    guard next >= sampleCount else { throw .tooShort(end: next, sampleCount: sampleCount) }
  }

  /// The file's index has room for as many packets as the codec's frame size makes of the sound.
  func check(packets: Int64, expected: Int64) throws(SoundFault) {
    guard packets == expected else { throw .packetCount(found: packets, expected: expected) }
  }
}

/// What is wrong with the sound's piece, in samples.
enum SoundFault: Error, Sendable, Equatable, CustomStringConvertible {
  case misplaced(presentation: Int64, expected: Int64)
  case noDuration(presentation: Int64)
  case beyondTheEnd(presentation: Int64, sampleCount: Int64)
  case packetCount(found: Int64, expected: Int64)
  case tooShort(end: Int64, sampleCount: Int64)

  var description: String {
    switch self {
    case .misplaced(let presentation, let expected):
      "has a packet at sample \(presentation) where the one before ended at \(expected)"
    case .noDuration(let presentation): "has a packet of no length at sample \(presentation)"
    case .beyondTheEnd(let presentation, let count):
      "has a packet at sample \(presentation), after the last of its \(count) samples"
    case .packetCount(let found, let expected): "has \(found) packets where its sound makes \(expected)"
    case .tooShort(let end, let count): "ends at sample \(end), before the film's \(count)"
    }
  }
}

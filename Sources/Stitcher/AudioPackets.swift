import Media
import PieceFiles

/// The packets of the audio's pieces, one piece after the other, each packet checked to follow the one before.
struct AudioPackets {
  private let pieces: [any ByteSource]
  /// The number of the first piece among the inputs.
  private let first: Int
  private var reader: PieceReader
  /// The number of the piece that is read.
  private var piece: Int
  /// The packet to be written next; nil after the last.
  private(set) var next: Packet?
  /// Decoded samples at the end of `next` that are not presented.
  private(set) var discarded = 0
  private var timeline: AudioTimeline
  private let packetCount: Int64
  private var taken: Int64 = 0
  private var isFinished = false
  /// The damage records of the pieces that have one, up to the one that was read last.
  private(set) var damage: [(piece: Int, record: [UInt8])] = []

  /// - Parameter piece: The number of the first piece among the inputs.
  init(
    _ pieces: [any ByteSource], piece: Int, sampleCount: Int64, audio: EncodedAudio, packetCount: Int64
  ) throws(StitchError) {
    (self.pieces, first, self.piece) = (pieces, piece, piece)
    self.packetCount = packetCount
    reader = try PieceReader.open(pieces[0], piece: piece)
    timeline = AudioTimeline(
      sampleCount: sampleCount, initialPadding: Int64(audio.initialPadding), frameSize: Int64(audio.frameSize))
    next = try fetch()
  }

  /// Reads the packet after `next`.
  mutating func advance() throws(StitchError) {
    next = try fetch()
  }

  private mutating func fetch() throws(StitchError) -> Packet? {
    if isFinished { return nil }
    var packet = try reader.next(ofPiece: piece)
    while packet == nil {
      if !reader.damage.isEmpty { damage.append((piece, reader.damage)) }
      guard piece - first + 1 < pieces.count else { break }
      piece += 1
      reader = try PieceReader.open(pieces[piece - first], piece: piece)
      packet = try reader.next(ofPiece: piece)
    }
    do throws(AudioTimelineFault) {
      guard let packet else {
        try timeline.finish()
        isFinished = true
        try timeline.check(packets: taken, expected: packetCount)
        return nil
      }
      taken += 1
      let times = try timeline.place(presentation: packet.pts, duration: packet.duration)
      packet.dts = times.presentation
      packet.duration = times.duration
      discarded = Int(times.discarded)
      return packet
    } catch {
      throw StitchError(.piece, piece: piece, "\(error)")
    }
  }
}

/// The places of the audio's packets: one after another from the encoder's priming to the last presented sample.
struct AudioTimeline: Sendable {
  struct Times: Sendable, Equatable {
    /// In samples. Samples before 0 are priming, which is decoded and not presented.
    var presentation: Int64
    /// Samples of the packet that belong to the output, priming included.
    var duration: Int64
    /// Samples that a decoder returns after the output's end.
    var discarded: Int64
  }

  let sampleCount: Int64
  private var next: Int64

  /// Samples that a decoder returns for each packet, whatever the packet's duration; 0 if it returns the duration.
  private let decodedFrame: Int64

  /// - Parameters:
  ///   - initialPadding: Samples that are decoded before the first presented one.
  ///   - frameSize: Samples of a packet. A codec with padding decodes whole frames, the last one too.
  init(sampleCount: Int64, initialPadding: Int64, frameSize: Int64) {
    self.sampleCount = sampleCount
    decodedFrame = initialPadding > 0 ? frameSize : 0
    next = -initialPadding
  }

  /// The next packet's place. It must start where the one before ended, and before the output's end.
  mutating func place(presentation: Int64, duration: Int64) throws(AudioTimelineFault) -> Times {
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

  /// Checks the end of the piece.
  func finish() throws(AudioTimelineFault) {
    guard next >= sampleCount else { throw .tooShort(end: next, sampleCount: sampleCount) }
  }

  /// The file's index has room for as many packets as the codec's frame size gives for the output's samples.
  func check(packets: Int64, expected: Int64) throws(AudioTimelineFault) {
    guard packets == expected else { throw .packetCount(found: packets, expected: expected) }
  }
}

/// What is wrong with the packets of an audio piece, in samples.
enum AudioTimelineFault: Error, Sendable, Equatable, CustomStringConvertible {
  case misplaced(presentation: Int64, expected: Int64)
  case noDuration(presentation: Int64)
  case beyondTheEnd(presentation: Int64, sampleCount: Int64)
  case packetCount(found: Int64, expected: Int64)
  case tooShort(end: Int64, sampleCount: Int64)

  var description: String {
    switch self {
    case .misplaced(let presentation, let expected):
      "has a packet at sample \(presentation) where the one before ended at \(expected)"
    case .noDuration(let presentation): "has a packet without a duration at sample \(presentation)"
    case .beyondTheEnd(let presentation, let count):
      "has a packet at sample \(presentation), after the last of its \(count) samples"
    case .packetCount(let found, let expected): "has \(found) packets where its samples make \(expected)"
    case .tooShort(let end, let count): "ends at sample \(end), before the output's \(count)"
    }
  }
}

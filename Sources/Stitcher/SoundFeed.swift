import Media

/// The packets of the sound's piece, each checked to follow the one before.
struct SoundFeed {
  private let piece: Int
  private let reader: PieceReader
  /// The packet that is to be written next; nil after the last.
  private(set) var next: Packet?
  /// Samples at the end of `next` that are not to be heard.
  private(set) var discarded = 0
  private var timeline: SoundTimeline
  private let packetCount: Int64
  private var taken: Int64 = 0
  private var isFinished = false

  init(
    _ source: any ByteSource, piece: Int, sampleCount: Int64, audio: EncodedAudio, packetCount: Int64
  ) throws(StitchError) {
    self.piece = piece
    self.packetCount = packetCount
    reader = try PieceOpening.open(source, piece: piece)
    timeline = SoundTimeline(
      sampleCount: sampleCount, initialPadding: Int64(audio.initialPadding), frameSize: Int64(audio.frameSize))
    next = try fetch()
  }

  mutating func advance() throws(StitchError) {
    next = try fetch()
  }

  private mutating func fetch() throws(StitchError) -> Packet? {
    if isFinished { return nil }
    let packet: Packet?
    do { packet = try reader.next() } catch { throw PieceOpening.fault(error, piece: piece) }
    do throws(SoundFault) {
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

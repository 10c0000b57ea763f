import Media

/// The packets of all pieces of pictures, one after another, each with its place in the whole film.
struct PictureFeed {
  private let pieces: [any ByteSource]
  private let frameCounts: [Int]
  private let delay: Int64
  private var index = 0
  private var reader: PieceReader?
  /// The packet that is to be written next; nil after the last.
  private(set) var next: Packet?
  private var timeline: PictureTimeline

  /// `reorderDepth` is the largest of all pieces.
  init(_ pieces: [any ByteSource], frameCounts: [Int], reorderDepth: Int) throws(StitchError) {
    self.pieces = pieces
    self.frameCounts = frameCounts
    delay = Int64(reorderDepth)
    timeline = PictureTimeline(firstFrame: 0, frameCount: frameCounts.first ?? 0, delay: delay)
    next = try fetch()
  }

  mutating func advance() throws(StitchError) {
    next = try fetch()
  }

  private mutating func fetch() throws(StitchError) -> Packet? {
    while index < pieces.count {
      let current: PieceReader
      if let reader { current = reader } else { current = try PieceOpening.open(pieces[index], piece: index) }
      reader = current
      let packet: Packet?
      do { packet = try current.next() } catch { throw PieceOpening.fault(error, piece: index) }
      if let packet {
        try place(packet)
        return packet
      }
      do { try timeline.finish() } catch { throw StitchError(.piece, piece: index, "\(error)") }
      reader = nil
      index += 1
      let firstFrame = timeline.firstFrame + Int64(timeline.frameCount)
      if index < pieces.count {
        timeline = PictureTimeline(firstFrame: firstFrame, frameCount: frameCounts[index], delay: delay)
      }
    }
    return nil
  }

  private mutating func place(_ packet: Packet) throws(StitchError) {
    do {
      let times = try timeline.place(
        presentation: packet.pts, decoding: packet.dts, isKeyframe: packet.isKeyframe)
      packet.pts = times.presentation
      packet.dts = times.decoding
      packet.duration = 1
    } catch {
      throw StitchError(.piece, piece: index, "\(error)")
    }
  }
}

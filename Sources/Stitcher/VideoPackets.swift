import CompositionModel
import Media

/// The packets of all video pieces, one piece after another, each placed on the output's timeline.
struct VideoPackets {
  private let pieces: [any ByteSource]
  private let frameCounts: [Int]
  private let delay: Int64
  private var index = 0
  private var reader: PieceReader?
  /// The packet to be written next; nil after the last.
  private(set) var next: Packet?
  private var timeline: VideoTimeline
  /// The damage records of the pieces that were read to their ends, each with the piece's index and first frame.
  private(set) var damage: [(piece: Int, firstFrame: Int64, record: [UInt8])] = []

  /// `reorderDepth` is the largest of all pieces.
  init(_ pieces: [any ByteSource], frameCounts: [Int], reorderDepth: Int) throws(StitchError) {
    self.pieces = pieces
    self.frameCounts = frameCounts
    delay = Int64(reorderDepth)
    timeline = VideoTimeline(firstFrame: 0, frameCount: frameCounts.first ?? 0, delay: delay)
    next = try fetch()
  }

  /// Reads the packet after `next`.
  mutating func advance() throws(StitchError) {
    next = try fetch()
  }

  private mutating func fetch() throws(StitchError) -> Packet? {
    while index < pieces.count {
      let current: PieceReader
      if let reader { current = reader } else { current = try PieceReader.open(pieces[index], piece: index) }
      reader = current
      let fault = { [index] (fault: VideoTimelineFault) in StitchError(.piece, piece: index, "\(fault)") }
      if let packet = try current.next(ofPiece: index) {
        let times = try mapErrors(to: fault) { () throws(VideoTimelineFault) in
          try timeline.place(presentation: packet.pts, decoding: packet.dts, isKeyframe: packet.isKeyframe)
        }
        packet.pts = times.presentation
        packet.dts = times.decoding
        packet.duration = 1
        return packet
      }
      try mapErrors(to: fault) { () throws(VideoTimelineFault) in try timeline.finish() }
      if !current.damage.isEmpty { damage.append((index, timeline.firstFrame, current.damage)) }
      reader = nil
      index += 1
      let firstFrame = timeline.firstFrame + Int64(timeline.frameCount)
      if index < pieces.count {
        timeline = VideoTimeline(firstFrame: firstFrame, frameCount: frameCounts[index], delay: delay)
      }
    }
    return nil
  }
}

/// The places of one video piece's packets on the output's timeline. They are computed from the number of packets; the
/// piece's own times are only checked.
///
/// Packet i of the output in decoding order, over all pieces, is decoded at tick i - delay, where `delay` is the
/// largest number of frames by which any piece's decoding order is ahead of its presentation. So decoding times rise by
/// one with each frame, across every join, and are never after the presentation, whatever the encoder wrote.
struct VideoTimeline: Sendable {
  struct Times: Sendable, Equatable {
    /// In frames of the output.
    var presentation: Int64
    var decoding: Int64
  }

  /// Frames of the output before this piece.
  let firstFrame: Int64
  let frameCount: Int
  /// In frames; the same for every piece of an output.
  let delay: Int64

  private var taken = 0
  private var isPresented: [Bool]
  private var lastDecoding: Int64?

  init(firstFrame: Int64, frameCount: Int, delay: Int64) {
    self.firstFrame = firstFrame
    self.frameCount = frameCount
    self.delay = delay
    isPresented = Array(repeating: false, count: frameCount)
  }

  /// The next packet's place. Its own times, in frames of the piece, are checked: `presentation` must be one of
  /// 0..<frameCount that no earlier packet had, and `decoding` must rise and not be after it.
  mutating func place(
    presentation: Int64, decoding: Int64, isKeyframe: Bool
  ) throws(VideoTimelineFault) -> Times {
    guard taken < frameCount else { throw .tooManyFrames(expected: frameCount) }
    if taken == 0 {
      guard isKeyframe else { throw .startsWithoutKeyframe }
      guard presentation == 0 else { throw .firstFrameIsNotShownFirst(presentation: presentation) }
    }
    guard (0..<Int64(frameCount)).contains(presentation) else {
      throw .outside(presentation: presentation, frameCount: frameCount)
    }
    guard !isPresented[Int(presentation)] else { throw .twice(presentation: presentation) }
    if let lastDecoding, decoding <= lastDecoding {
      throw .decodingDoesNotRise(decoding: decoding, after: lastDecoding)
    }
    guard decoding <= presentation else { throw .decodedAfterShown(decoding: decoding, presentation: presentation) }
    let ahead = Int64(taken) - presentation
    guard ahead <= delay else { throw .reordersTooFar(frames: ahead, delay: delay) }
    isPresented[Int(presentation)] = true
    lastDecoding = decoding
    defer { taken += 1 }
    return Times(presentation: firstFrame + presentation, decoding: firstFrame + Int64(taken) - delay)
  }

  /// Checks the end of the piece. With as many packets as frames, no two equal and none outside, each frame is there
  /// once.
  func finish() throws(VideoTimelineFault) {
    guard taken == frameCount else { throw .tooFewFrames(found: taken, expected: frameCount) }
  }
}

/// What is wrong with a video piece's timestamps or packets, in frames of the piece.
enum VideoTimelineFault: Error, Sendable, Equatable, CustomStringConvertible {
  case tooManyFrames(expected: Int)
  case tooFewFrames(found: Int, expected: Int)
  case startsWithoutKeyframe
  case firstFrameIsNotShownFirst(presentation: Int64)
  case outside(presentation: Int64, frameCount: Int)
  case twice(presentation: Int64)
  case decodingDoesNotRise(decoding: Int64, after: Int64)
  case decodedAfterShown(decoding: Int64, presentation: Int64)
  case reordersTooFar(frames: Int64, delay: Int64)

  var description: String {
    switch self {
    case .tooManyFrames(let expected): "has more than the \(expected) frames that its segment has"
    case .tooFewFrames(let found, let expected): "has \(found) frames where its segment has \(expected)"
    case .startsWithoutKeyframe: "does not start with a keyframe"
    case .firstFrameIsNotShownFirst(let presentation): "its first packet is frame \(presentation), not frame 0"
    case .outside(let presentation, let count):
      "has a frame at \(presentation), outside its segment's frames 0..<\(count)"
    case .twice(let presentation): "has frame \(presentation) twice"
    case .decodingDoesNotRise(let decoding, let after): "decoding time \(decoding) follows \(after)"
    case .decodedAfterShown(let decoding, let presentation):
      "frame \(presentation) is shown before it is decoded, at \(decoding)"
    case .reordersTooFar(let frames, let delay):
      "decodes \(frames) frames ahead, where the pieces' headers allow \(delay)"
    }
  }
}

/// Where the packets of one piece of pictures go in the whole film, derived from what was counted and not from what the
/// piece claims.
///
/// Packet i of the film in decoding order, over all pieces, is decoded at tick i - delay, where `delay` is the largest
/// by which any piece's decoding order runs ahead of its presentation. So decoding times rise by one a frame across
/// every join and are never after the presentation, whatever the encoder wrote.
struct PictureTimeline: Sendable {
  struct Times: Sendable, Equatable {
    /// In frames of the film.
    var presentation: Int64
    var decoding: Int64
  }

  /// Frames of the film before this piece.
  let firstFrame: Int64
  let frameCount: Int
  /// In frames; the same for every piece of a film.
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
  /// 0..<frameCount that no packet had before, `decoding` must rise and not be after it.
  mutating func place(
    presentation: Int64, decoding: Int64, isKeyframe: Bool
  ) throws(TimelineFault) -> Times {
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

  /// After the last packet. As many packets as frames, no two alike and none outside, are each frame once.
  func finish() throws(TimelineFault) {
    guard taken == frameCount else { throw .tooFewFrames(found: taken, expected: frameCount) }
  }
}

/// What is wrong with a piece's timestamps or packets, in frames of the piece.
enum TimelineFault: Error, Sendable, Equatable, CustomStringConvertible {
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

import CompositionModel
package import Media
package import Segmenter

/// Renders the pictures of one segment (DESIGN 5): for each frame the stack of what can be seen, its source frames,
/// composited and encoded.
package enum VideoRenderer {
  /// Writes the segment's piece: `frameCount` pictures with timestamps 0, 1, 2… in ticks of the frame duration.
  ///
  /// - Parameters:
  ///   - inputs: The media that the task's sources name, by digest.
  ///   - descriptor: Opened for writing; stays the caller's.
  ///   - progress: Called after each frame with how many are done.
  /// - Throws: `.task` for a payload that makes no sense, `.media` where a source can't be decoded or the encoder refuses,
  ///   `.infrastructure` where this machine has run out of something. What is written by then is no whole piece.
  package static func render(
    _ task: VideoTask, inputs: [String: any ByteSource], to descriptor: Int32, progress: (Int64) -> Void
  ) throws(RenderError) {
    try task.check()
    let encoder = try media("opening the encoder") { () throws(MediaError) in
      try VideoEncoder(task.encoder, size: task.format.size, frameDuration: task.format.frameDuration)
    }
    let writer = try media("writing the piece") { () throws(MediaError) in
      try PieceWriter(descriptor: descriptor, header: encoder.header)
    }
    let maker = try FrameMaker(task, inputs: inputs)
    var done = 0
    while done < task.frameCount {
      let made = try turn(of: maker, from: done, to: task.frameCount, atMost: framesInTurn(task.format.size))
      for frame in made {
        try media("encoding frame \(done) of the segment") { () throws(MediaError) in
          try encoder.send(frame, pts: Int64(done))
          try drain(encoder, into: writer)
        }
        done += 1
        progress(Int64(done))
      }
    }
    try media("finishing the piece") { () throws(MediaError) in
      try encoder.finish()
      try drain(encoder, into: writer)
      try writer.finish()
    }
  }

  /// How many frames are made before they are encoded. One by one, decoder and encoder put each other's pictures out of
  /// the processor's caches; eight at a time take 1.5 % less time at 720p, sixteen no less. Large frames would take too
  /// much memory.
  private static func framesInTurn(_ size: PixelSize) -> Int {
    max(1, min(8, 20_000_000 / (size.width * size.height)))
  }

  /// The next frames: one at least, and no more once a moment is over. Where making frames is slow nothing is gained by
  /// holding them, and progress, by which a hang is told, must not wait for eight.
  private static func turn(
    of maker: FrameMaker, from first: Int, to end: Int, atMost count: Int
  ) throws(RenderError) -> [Frame] {
    let start = ContinuousClock.now
    var frames = [try maker.frame(first)]
    while frames.count < min(count, end - first), ContinuousClock.now - start < .milliseconds(250) {
      frames.append(try maker.frame(first + frames.count))
    }
    return frames
  }

  private static func drain(_ encoder: VideoEncoder, into writer: PieceWriter) throws(MediaError) {
    while let packet = try encoder.receive() { try writer.write(packet) }
  }
}

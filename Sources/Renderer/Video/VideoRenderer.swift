import CompositionModel
package import Media
package import Segmenter
package import SheafCompositing

/// Renders the frames of one segment: decodes the source frames that each shows, composites them and encodes the
/// result.
package enum VideoRenderer {
  /// Writes the segment's piece: `frameCount` frames with timestamps 0, 1, 2… in ticks of the frame duration.
  ///
  /// - Parameters:
  ///   - inputs: The media that the task's sources name, by digest.
  ///   - compositors: Those of the author's own that the program has.
  ///   - descriptor: Open for writing. The caller closes it.
  ///   - movement: Advanced with every picture that is decoded, shown or not, every frame that is made, and every
  ///     packet that the encoder returns.
  ///   - progress: Called after each frame with the number of finished frames.
  /// - Returns: The damaged pictures that the segment shows, which the piece has too.
  /// - Throws: `.task` for an invalid payload, `.media` if a source cannot be decoded or the encoder refuses,
  ///   `.infrastructure` if this machine ran out of something. The file then holds no complete piece.
  @discardableResult
  package static func render(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none,
    to descriptor: Int32, movement: Movement? = nil,
    progress: (Int64) -> Void
  ) throws(RenderError) -> ShownDamage {
    try task.check()
    // A segment may be encoded several times.
    var greatest: Int64 = 0
    var isWritten = false
    func attempt(_ task: VideoTask) throws(RenderError) -> Made {
      try encodeWithinLimit(
        task, isWritten: &isWritten, inputs: inputs, compositors: compositors, to: descriptor, movement: movement
      ) { done in
        guard done > greatest else { return }
        greatest = done
        progress(done)
      }
    }
    var search = try task.shareSearch
    var task = task
    var made = try attempt(task)
    while case .quality(let factor) = task.encoder.rateControl,
      let next = search?.next(after: factor, bits: made.packetBits.reduce(0, +))
    {
      task.encoder.rateControl = .quality(next)
      made = try attempt(task)
    }
    return made.damage
  }

  /// The damaged pictures of a piece that is written, and the bits of each packet, in order of decoding.
  private typealias Made = (damage: ShownDamage, packetBits: [Int])

  /// Makes the segment's frames and writes the piece, in place of one that was written before.
  /// - Parameter isWritten: whether there is one.
  private static func encodeWithinLimit(
    _ task: VideoTask, isWritten: inout Bool, inputs: [String: any ByteSource], compositors: CompositorRegistry,
    to descriptor: Int32,
    movement: Movement?, progress: (Int64) -> Void
  ) throws(RenderError) -> Made {
    func made(_ limit: RateLimit?) throws(RenderError) -> Made {
      if isWritten {
        try mapErrors(to: RenderError.during("writing the piece")) { () throws(MediaError) in
          try PieceWriter.clear(descriptor)
        }
      }
      isWritten = true
      return try encode(
        task, limit: limit, inputs: inputs, compositors: compositors, to: descriptor, movement: movement,
        progress: progress)
    }
    guard let limit = task.encoder.rateLimit else { return try made(nil) }
    // Encoders keep a limit nearly always. Where one did not, the segment is made again with less. What counts is the
    // limit of the whole film, so the result is the same wherever the segment is.
    let frame = task.format.frameDuration.approximateSeconds
    for share in limitShares {
      let made = try made(limit.ofSegment(duration: frame * Double(task.frameCount), share: share))
      if limit.isKept(bits: made.packetBits, frameDuration: frame) { return made }
    }
    throw RenderError(
      .task,
      "the segment's \(task.frameCount) frames take more than \(limit.bitRate) bits a second with a buffer of "
        + "\(limit.bufferSize) bits, whatever their quality: 'maxBitRate' or 'bufferDuration' must be greater"
    )
  }

  /// The parts of a film's limit with which a segment is tried.
  private static let limitShares = [1, 0.85, 0.7, 0.5, 0.3]

  /// Makes the segment's frames and writes the piece.
  /// - Parameter limit: Of the encoder.
  private static func encode(
    _ task: VideoTask, limit: RateLimit?, inputs: [String: any ByteSource],
    compositors: CompositorRegistry,
    to descriptor: Int32, movement: Movement?, progress: (Int64) -> Void
  ) throws(RenderError) -> Made {
    let damage = DamageLog()
    let encoder = try mapErrors(to: RenderError.during("opening the encoder")) { () throws(MediaError) in
      try VideoEncoder(
        task.encoder, size: task.format.size, frameDuration: task.format.frameDuration, limit: limit)
    }
    let writer = try mapErrors(to: RenderError.during("writing the piece")) { () throws(MediaError) in
      try PieceWriter(descriptor: descriptor, header: encoder.header)
    }
    var control = try task.shareControl
    var packetBits: [Int] = []
    try makeFrames(task, inputs: inputs, compositors: compositors, movement: movement, damage: damage) {
      (frame, index) throws(RenderError) in
      try mapErrors(to: RenderError.during("encoding frame \(index) of the segment")) { () throws(MediaError) in
        if let factor = control?.nextFactor() { try encoder.setRateFactor(factor) }
        try encoder.send(frame, pts: Int64(index))
        while let packet = try encoder.receive() {
          movement?.advance()
          control?.receive(frame: Int(packet.pts), bits: 8 * packet.byteCount)
          packetBits.append(8 * packet.byteCount)
          try writer.write(packet)
        }
      }
      progress(Int64(index + 1))
    }
    try mapErrors(to: RenderError.during("finishing the piece")) { () throws(MediaError) in
      try encoder.finish()
      while let packet = try encoder.receive() {
        movement?.advance()
        packetBits.append(8 * packet.byteCount)
        try writer.write(packet)
      }
      try writer.finish(damage: damage.damage.encoded())
    }
    return (damage.damage, packetBits)
  }

  /// Makes the frames of a segment whose task was checked in a thread of their own, and passes each on in order.
  static func makeFrames(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry, movement: Movement?,
    damage: DamageLog,
    _ pass: (Frame, Int) throws(RenderError) -> Void
  ) throws(RenderError) {
    let frames = try mapErrors(to: RenderError.during("making frames")) { () throws(MediaError) in
      try FramePipeline<RenderError>(count: task.frameCount, ahead: framesAhead(task.format.size)) {
        () throws(RenderError) in
        let maker = try FrameMaker(
          task, inputs: inputs, compositors: compositors, movement: movement, damage: damage)
        return { index throws(RenderError) in try maker.frame(index) }
      }
    }
    defer { frames.finish() }
    for index in 0..<task.frameCount { try pass(try frames.next(), index) }
  }

  /// How many frames are made ahead of the encoder. More would take memory, and a frame that waits longer leaves the
  /// processor's caches.
  private static func framesAhead(_ size: PixelSize) -> Int {
    max(1, min(8, 20_000_000 / (size.width * size.height)))
  }
}

extension VideoTask {
  /// Throws `.task` unless the task is consistent in itself. Rendering relies on what is checked here.
  func check() throws(RenderError) {
    guard frameCount > 0 else {
      throw RenderError(.task, "a segment of \(frameCount) frames; there must be at least one")
    }
    guard format.frameDuration > .zero, format.frameDuration.isNumeric else {
      throw RenderError(.task, "a frame duration of \(format.frameDuration) s; it must be positive")
    }
    let side = 1...PixelSize.largestSide
    guard side.contains(format.size.width), side.contains(format.size.height) else {
      throw RenderError(.task, "frames of \(format.size.width)x\(format.size.height); each side must be within \(side)")
    }
    var next = 0
    for span in spans {
      guard span.frames.lowerBound == next, !span.frames.isEmpty else {
        throw RenderError(.task, "a span of frames \(span.frames) where one that starts at \(next) belongs")
      }
      next = span.frames.upperBound
    }
    guard next == frameCount else {
      throw RenderError(.task, "spans for \(next) of \(frameCount) frames")
    }
    for index in usedSources where !sources.indices.contains(index) {
      throw RenderError(.task, "a layer of source \(index), of which there are \(sources.count)")
    }
    for source in sources {
      let size = source.video.size
      guard side.contains(size.width), side.contains(size.height), source.timebase > .zero, source.timebase.isNumeric,
        source.video.pixelAspect.horizontal > 0, source.video.pixelAspect.vertical > 0
      else { throw RenderError(.task, "source \(source.digest) of \(size.width)x\(size.height) pixels") }
    }
  }

  private var usedSources: [Int] {
    let ofOverlays = overlays.compactMap { overlay in
      switch overlay.content {
      case .image(let source, _, _): source
      case .video(let video): video.source
      case .text: nil
      }
    }
    let clips = spans.flatMap(\.clips)
    return clips.map(\.source) + clips.compactMap(\.mask?.source) + spans.flatMap(\.mattes) + ofOverlays
  }
}

extension Span {
  /// Every clip of the span's layers.
  var clips: [ClipLayer] {
    layers.flatMap { layer in
      switch layer {
      case .clip(let clip): [clip]
      case .transition(let from, let to, _, _, _): [from, to].compactMap(\.self)
      case .compositor(let layer): layer.sources.map(\.clip)
      }
    }
  }

  /// The sources of the mattes of the span's transitions.
  fileprivate var mattes: [Int] {
    layers.compactMap { layer in
      if case .transition(_, _, _, _, let matte) = layer { matte } else { nil }
    }
  }
}

import CompositionModel
package import Media
package import RenderTasks
package import SheafCompositing

/// Renders the frames of one segment: decodes the source frames that each shows, composites them and encodes the
/// result.
package enum VideoRenderer {
  /// Writes the segment's pieces as a package: of each rendition `frameCount` frames with timestamps 0, 1, 2… in ticks
  /// of the frame duration. Each frame is made once for all, unless a rendition's piece has to be encoded again.
  ///
  /// - Parameters:
  ///   - inputs: The media that the task's sources name, by digest.
  ///   - compositors: Those of the author's own that the program has.
  ///   - descriptor: An empty file that can be read. The caller closes it.
  ///   - liveness: Advanced with every picture that is decoded, shown or not, every frame that is made, and every
  ///     packet that an encoder returns.
  ///   - progress: Called after each frame with the number of finished frames.
  /// - Returns: The damaged pictures that the segment shows, which the pieces have too.
  /// - Throws: `.task` for an invalid payload, `.media` if a source cannot be decoded or an encoder refuses,
  ///   `.infrastructure` if this machine ran out of something. The file is then no package.
  @discardableResult
  package static func render(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none,
    to descriptor: Int32, liveness: Liveness? = nil, progress: (Int64) -> Void
  ) throws(RenderError) -> ShownDamage {
    try task.check()
    try task.checkRenditions()
    let parts = PackageParts(descriptor: descriptor, count: task.renditions.count)
    if let copied = CopiedSegment(task, inputs: inputs, liveness),
      try copied.write(to: PackagedPiece(number: 0, package: parts), progress: progress)
    {
      try mapErrors(to: RenderError.during("writing the pieces")) { () throws(MediaError) in try parts.finish() }
      return ShownDamage()
    }
    var encodings: [RenditionEncoding] = []
    for (number, rendition) in task.renditions.enumerated() {
      encodings.append(
        try RenditionEncoding(rendition, of: task, PackagedPiece(number: number, package: parts), liveness))
    }
    let damage = try encode(
      task, encodings, inputs: inputs, compositors: compositors, liveness: liveness, progress: progress)
    try mapErrors(to: RenderError.during("writing the pieces")) { () throws(MediaError) in try parts.finish() }
    return damage
  }

  /// Makes the segment's frames, and encodes them, as often as an encoding needs it.
  /// - Returns: The damaged pictures that the segment shows.
  private static func encode(
    _ task: VideoTask, _ encodings: [RenditionEncoding], inputs: [String: any ByteSource],
    compositors: CompositorRegistry,
    liveness: Liveness?, progress: (Int64) -> Void
  ) throws(RenderError) -> ShownDamage {
    let sizes = FrameSizes(task.format)
    var shown = ShownDamage()
    var greatest: Int64 = 0
    while encodings.contains(where: { !$0.isFinished }) {
      let damage = DamageLog()
      var pass: [RenditionEncoding] = []
      for encoding in encodings where !encoding.isFinished {
        if encoding.isAlone, pass.contains(where: \.isAlone) { continue }
        pass.append(encoding)
      }
      for encoding in pass { try encoding.begin() }
      try makeFrames(task, inputs: inputs, compositors: compositors, liveness: liveness, damage: damage) {
        (frame, index) throws(RenderError) in
        sizes.next()
        for encoding in pass { try encoding.encode(try sizes.frame(frame, in: encoding.size), index) }
        guard index + 1 > greatest else { return }
        greatest = Int64(index + 1)
        progress(greatest)
      }
      shown = damage.damage
      for encoding in pass { try encoding.end(shown) }
    }
    return shown
  }

  /// Makes the frames of a segment whose task was checked in a thread of their own, and passes each on in order.
  static func makeFrames(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry, liveness: Liveness?,
    damage: DamageLog,
    _ pass: (Frame, Int) throws(RenderError) -> Void
  ) throws(RenderError) {
    let frames = try mapErrors(to: RenderError.during("making frames")) { () throws(MediaError) in
      try Pipeline<Frame, RenderError>(count: task.frameCount, ahead: framesAhead(task.format.size)) {
        () throws(RenderError) in
        let maker = try FrameMaker(
          task, inputs: inputs, compositors: compositors, liveness: liveness, damage: damage)
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
  /// Throws `.task` unless the task's frames can be made. Rendering relies on what is checked here.
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

  /// Throws `.task` unless there is a rendition, and every one can be made of the task's frames.
  func checkRenditions() throws(RenderError) {
    guard !renditions.isEmpty else { throw RenderError(.task, "a segment that is encoded for no output") }
    let side = 1...PixelSize.largestSide
    for rendition in renditions {
      guard side.contains(rendition.size.width), side.contains(rendition.size.height),
        rendition.encoder.pixelFormat == format.pixelFormat
      else {
        throw RenderError(
          .task,
          "frames of \(rendition.size.width)x\(rendition.size.height) \(rendition.encoder.pixelFormat) are not made of "
            + "\(format.size.width)x\(format.size.height) \(format.pixelFormat)")
      }
    }
  }

  private var usedSources: [Int] {
    let ofOverlays = overlays.compactMap { overlay in
      switch overlay.content {
      case .image(let source, _, _): source
      case .video(let video): video.source
      case .text, .waveform: nil
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

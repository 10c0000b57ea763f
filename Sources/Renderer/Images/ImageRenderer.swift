import CompositionModel
package import Media
package import RenderTasks
package import SheafCompositing
package import SystemSupport

/// Makes the still pictures of a task, each by itself: one that cannot be made has its reason, and the others are made.
package final class ImageRenderer {
  private let task: ImageTask
  private let inputs: [String: any ByteSource]
  private let compositors: CompositorRegistry
  private let output: OpenFile
  private let liveness: Liveness?

  private var list = ImageList(pictures: [])
  private var written: Int64 = 0
  private var sheet: ContactSheet?
  private var encoder: (hasAlpha: Bool, size: PixelSize, encoder: ImageEncoder)?

  /// Writes the pictures' files and the `ImageList`.
  /// - Parameters:
  ///   - inputs: The media that the task's parts name, by digest.
  ///   - output: Open for writing; empty.
  ///   - liveness: Advanced with every picture that is decoded, shown or not.
  ///   - progress: Called after each picture with the number of those that are finished.
  /// - Throws: `.task` for an invalid payload, `.infrastructure` if this machine ran out of something.
  package static func render(
    _ task: ImageTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none, to output: OpenFile,
    liveness: Liveness? = nil, progress: (Int64) -> Void
  ) throws(RenderError) {
    let renderer = ImageRenderer(task, inputs: inputs, compositors: compositors, output: output, liveness: liveness)
    for part in task.parts {
      for picture in part.pictures where task.sheet == nil && picture.label != nil {
        throw RenderError(.task, "picture \(picture.number) has a label and is on no contact sheet")
      }
      switch part.source {
      case .asset(let source): try renderer.makePictures(of: source, part.pictures, progress)
      case .film(let film): try renderer.makePictures(of: film, part.pictures, progress)
      }
    }
    try renderer.finish()
  }

  private init(
    _ task: ImageTask, inputs: [String: any ByteSource], compositors: CompositorRegistry, output: OpenFile,
    liveness: Liveness?
  ) {
    self.task = task
    self.inputs = inputs
    self.compositors = compositors
    self.output = output
    self.liveness = liveness
  }

  // MARK: Of an asset

  private func makePictures(
    of source: PlannedSource, _ pictures: [PlannedImage], _ progress: (Int64) -> Void
  ) throws(RenderError) {
    guard let input = inputs[source.digest] else {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    let fitter = ImageFitter(source, task.output)
    var stream: (stream: SourceStream, position: Int64)?
    for picture in pictures {
      try make(picture, fitter) { () throws(RenderError) in
        let start = source.video.keyframes.last { $0.pts <= picture.place }
        if let (_, position) = stream, position > picture.place || source.isWorthSeeking(to: start, from: position) {
          stream = nil
        }
        var opened = source
        opened.decodeFrom = start
        let current =
          stream?.stream
          ?? SourceStream(
            opened, input: input, capacity: 1, leavesOut: true, liveness: liveness)
        // What threw cannot be read on.
        stream = nil
        let frame = try current.frame(atTick: picture.place)
        stream = (current, frame.pts)
        return (frame, frame.pts, current.damage != nil || picture.isInPlaceOfLost == true)
      }
      progress(Int64(list.pictures.count))
    }
  }

  // MARK: Of a film

  private func makePictures(
    of film: VideoTask, _ pictures: [PlannedImage], _ progress: (Int64) -> Void
  ) throws(RenderError) {
    try film.check()
    let fitter = ImageFitter(film.format, task.output)
    let damage = DamageLog()
    var maker: FrameMaker?
    for picture in pictures {
      guard let index = Int(exactly: picture.place), (0..<film.frameCount).contains(index) else {
        throw RenderError(.task, "frame \(picture.place) of a segment of \(film.frameCount)")
      }
      try make(picture, fitter) { () throws(RenderError) in
        let current: FrameMaker
        if let known = maker {
          current = known
        } else {
          current = try FrameMaker(
            film, inputs: inputs, compositors: compositors, liveness: liveness, damage: damage)
        }
        maker = nil
        let frame = try current.frame(index)
        maker = current
        return (frame, picture.place, damage.isShown)
      }
      progress(Int64(list.pictures.count))
    }
  }

  // MARK: Writing

  private func contactSheet(_ grid: ImageGrid, cell: PixelSize) throws(RenderError) -> ContactSheet {
    if let sheet { return sheet }
    let made = try ContactSheet(grid, cell: cell)
    sheet = made
    return made
  }

  /// Makes one picture of a frame. What is wrong with the media is the picture's error.
  private func make(
    _ planned: PlannedImage, _ fitter: ImageFitter,
    _ frame: () throws(RenderError) -> (frame: Frame, place: Int64, isDamaged: Bool)
  ) throws(RenderError) {
    var made = ImageList.Picture(number: planned.number)
    do throws(RenderError) {
      let shown = try frame()
      made.place = shown.place
      made.isDamaged = shown.isDamaged ? true : nil
      made.size = fitter.size
      if let grid = task.sheet?.grid {
        let sheet = try contactSheet(grid, cell: fitter.size)
        let picture = try fitter.picture(shown.frame, format: sheet.format, colour: sheet.colour)
        try sheet.draw(picture, at: planned.number, label: planned.label)
      } else {
        let encoder = try self.encoder(fitter)
        let picture = try fitter.picture(shown.frame, format: encoder.format, colour: encoder.colour)
        try write(picture, encoder, &made)
      }
    } catch {
      guard case .media(let cause) = error.code, cause.code != .io else { throw error }
      made = ImageList.Picture(number: planned.number, error: error.description)
    }
    list.pictures.append(made)
  }

  private func encoder(_ fitter: ImageFitter) throws(RenderError) -> ImageEncoder {
    if let encoder, encoder.hasAlpha == fitter.hasAlpha, encoder.size == fitter.size { return encoder.encoder }
    let made = try imageEncoder(fitter.size, hasAlpha: fitter.hasAlpha)
    encoder = (fitter.hasAlpha, fitter.size, made)
    return made
  }

  private func imageEncoder(_ size: PixelSize, hasAlpha: Bool) throws(RenderError) -> ImageEncoder {
    try mapErrors(to: RenderError.during("opening the encoder")) { () throws(MediaError) in
      try ImageEncoder(task.output.format, quality: task.output.quality, size: size, hasAlpha: hasAlpha)
    }
  }

  private func write(
    _ frame: Frame, _ encoder: ImageEncoder, _ picture: inout ImageList.Picture
  ) throws(RenderError) {
    let bytes = try mapErrors(to: RenderError.during("encoding a picture")) { () throws(MediaError) in
      try encoder.file(of: frame)
    }
    try write(bytes)
    picture.offset = written - Int64(bytes.count)
    picture.byteCount = Int64(bytes.count)
  }

  private func write(_ bytes: [UInt8]) throws(RenderError) {
    do {
      try output.write(bytes)
    } catch {
      throw RenderError(.infrastructure, "the pictures could not be written: \(error)")
    }
    written += Int64(bytes.count)
  }

  private func finish() throws(RenderError) {
    if let sheet {
      var whole = ImageList.Picture(number: 0)
      let encoder = try imageEncoder(sheet.size, hasAlpha: false)
      try write(try sheet.picture(format: encoder.format, colour: encoder.colour), encoder, &whole)
      whole.size = sheet.size
      list.sheet = whole
    }
    do {
      try write(try list.encoded())
    } catch let error as RenderError {
      throw error
    } catch {
      throw RenderError(.infrastructure, "the list of pictures cannot be encoded: \(error)")
    }
  }
}

extension PlannedSource {
  /// Whether a start is so far ahead that beginning there costs less than decoding up to it: half a second.
  fileprivate func isWorthSeeking(to start: Keyframe?, from position: Int64) -> Bool {
    guard let start else { return false }
    return Double(start.pts &- position) * timebase.approximateSeconds > 0.5
  }
}

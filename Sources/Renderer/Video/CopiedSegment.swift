import CompositionModel
import Media
import RenderTasks

/// Makes the piece of a segment of stored pictures, which are copied.
struct CopiedSegment {
  let task: VideoTask
  let smart: SmartSegment
  let copy: CopiedFrames
  let inputs: [String: any ByteSource]
  let liveness: Liveness?

  /// Nil for a task that copies nothing.
  init?(_ task: VideoTask, inputs: [String: any ByteSource], _ liveness: Liveness?) {
    guard let smart = task.smart, let copy = smart.copy else { return nil }
    (self.task, self.smart, self.copy, self.inputs, self.liveness) = (task, smart, copy, inputs, liveness)
  }

  /// Writes the piece. Returns false if the file does not have the pictures as the plan expects: nothing is written
  /// then, and the frames are to be encoded. That depends on the task and the file alone, so that every worker does the
  /// same.
  func write(to place: PackagedPiece, progress: (Int64) -> Void) throws(RenderError) -> Bool {
    guard task.renditions.count == 1, task.isOfPlainPictures, copy.times.count == task.frameCount else {
      throw RenderError(.task, "a segment of stored pictures that shows something else, or has several renditions")
    }
    let (rendition, source) = (task.renditions[0], task.sources[0])
    guard let input = inputs[source.digest] else {
      throw RenderError(.task, "media \(source.digest.prefix(12)) is not among the task's inputs")
    }
    let codec = rendition.encoder.codec.definition
    return try mapErrors(to: RenderError.during("copying pictures")) { () throws(MediaError) in
      let pictures = try CopiedPictures(
        input, name: "media \(source.digest.prefix(12))", track: source.track, codec: source.codec,
        timebase: source.timebase, from: source.decodeFrom, times: copy.times, reorderDepth: copy.reorderDepth,
        parameterSets: smart.parameterSets, followsCopy: copy.followsCopy ?? false,
        isByPictures: codec.smartRendering == .pictures, liveness: liveness)
      guard let pictures else { return false }
      // The encoder is opened for what the header of a piece states of its settings.
      let encoded = try VideoEncoder(
        rendition.encoder, size: rendition.size, frameDuration: task.format.frameDuration,
        parameterSets: smart.parameterSets.isEmpty ? nil : smart.parameterSets
      ).header
      let writer = try place.writer(pictures.header(encoded))
      var count: Int64 = 0
      while true {
        switch try pictures.next() {
        case .packet(let packet):
          try writer.write(packet)
          count += 1
          progress(count)
        case .mismatch:
          place.clear()
          return false
        case .end:
          try writer.finish(damage: [])
          return true
        }
      }
    }
  }
}

import CompositionModel
package import RenderTasks

/// Estimates how much memory the process of a video task needs at most. It decides which workers may have the task, so
/// it is rather too low than too high: a task that needs more than its worker gives it fails with that reason.
///
/// The numbers are those of what task processes allocated for films of 640x360 to 7680x4320.
package enum MemoryModel {
  /// The bytes of a process that renders the smallest frames: libraries, threads, fonts.
  private static let base = 192.0 * 1_048_576
  /// Frames of the output that are being made or composited.
  private static let madeFrames = 4
  /// Frames that an encoder looks ahead at, at least, before the picture of one comes.
  private static let waitingFrames = 40
  /// Frames that a decoder keeps for reference and to output them in order.
  private static let decodedFrames = 8.0

  /// In bytes.
  static func memory(of task: VideoTask) -> Int64 {
    let size = pixels(task.format.size)
    let ahead = max(1, min(8, Int(20_000_000 / max(size, 1))))
    var bytes = base + Double(madeFrames + ahead) * size * bytesPerPixel(task.format.pixelFormat)
    for rendition in task.renditions {
      let encoder = rendition.encoder
      let held = min(encoder.codec.definition.heldFrames(encoder), task.frameCount)
      // Beside each frame the encoder has it in several smaller versions, with one sample a pixel together.
      let pixel = bytesPerPixel(encoder.pixelFormat) + (encoder.pixelFormat.bitDepth > 8 ? 2 : 1)
      bytes += Double(held) * pixels(rendition.size) * pixel
      if encoder.targetQuality != nil {
        // The frames wait for their pictures, which a decoder makes.
        let waiting = Double(max(held, min(waitingFrames, task.frameCount)))
        bytes += (waiting + decodedFrames) * pixels(rendition.size) * bytesPerPixel(encoder.pixelFormat)
      }
    }
    return Int64(bytes + decoded(of: task))
  }

  /// In bytes, of a task that measures motion.
  package static func memory(of task: MotionTask) -> Int64 {
    Int64(base + pixels(task.source.video.size) * decodedFrames * 1.5 * (task.source.video.bitDepth > 8 ? 2 : 1))
  }

  /// What the sources of a task take.
  private static func decoded(of task: VideoTask) -> Double {
    // Those of one cut are decoded at the same time, those of the next one later.
    let sources = task.sources.map { source in
      source.nested.map(made(of:)) ?? pixels(source.video.size) * (source.video.isStill ? 1 : decodedFrames) * 1.5
    }
    return sources.sorted().suffix(2).reduce(0, +)
  }

  /// What making the frames of an edit that is a source takes.
  private static func made(of pictures: NestedPictures) -> Double {
    let format = pictures.task.format
    let own = decoded(of: pictures.task) + Double(madeFrames) * pixels(format.size) * bytesPerPixel(format.pixelFormat)
    return pictures.isTransparent == true ? 2 * own : own
  }

  private static func pixels(_ size: PixelSize) -> Double { Double(size.width) * Double(size.height) }

  private static func bytesPerPixel(_ format: PixelFormat) -> Double {
    let chroma = 2 / Double(1 << (format.chromaShift.horizontal + format.chromaShift.vertical))
    return (1 + chroma) * (format.bitDepth > 8 ? 2 : 1)
  }
}

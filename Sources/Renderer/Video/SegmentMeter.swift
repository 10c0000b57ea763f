import CompositionModel
package import Media
package import RenderTasks
package import SheafCompositing

/// Measures a segment of a film with an average bit rate: how many bits its frames take.
package enum SegmentMeter {
  /// Makes the segment's frames once, as `VideoRenderer` does, and encodes them for each rendition with the codec's
  /// fast encoder at each of its measuring rate factors. The parameters and the errors are those of
  /// `VideoRenderer.render`.
  /// - Returns: One measurement for each rendition.
  package static func measure(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none,
    liveness: Liveness? = nil, progress: (Int64) -> Void
  ) throws(RenderError) -> [Measurement] {
    try task.check()
    try task.checkRenditions()
    var counters: [(size: PixelSize, factor: Double, counter: FrameCounter)] = []
    for rendition in task.renditions {
      guard let model = rendition.encoder.bitRateModel else {
        throw RenderError(.task, "the codec \(rendition.encoder.codec.rawValue) is not measured")
      }
      for factor in model.measuringFactors {
        let counter = try mapErrors(to: RenderError.during("opening the encoder")) { () throws(MediaError) in
          try FrameCounter(rendition, of: task, factor: factor, liveness)
        }
        counters.append((rendition.size, factor, counter))
      }
    }
    let sizes = FrameSizes(task.format)
    // The video task finds the same damage, and reports it.
    try VideoRenderer.makeFrames(
      task, inputs: inputs, compositors: compositors, liveness: liveness, damage: DamageLog()
    ) { (frame, index) throws(RenderError) in
      sizes.next()
      for (size, _, counter) in counters {
        let scaled = try sizes.frame(frame, in: size)
        try mapErrors(to: RenderError.during("measuring frame \(index) of the segment")) { () throws(MediaError) in
          try counter.send(scaled, index)
        }
      }
      progress(Int64(index + 1))
    }
    try mapErrors(to: RenderError.during("finishing the measurement")) { () throws(MediaError) in
      for (_, _, counter) in counters { try counter.finish() }
    }
    var rest = counters[...]
    return task.renditions.map { rendition in
      let own = rest.prefix(rendition.encoder.bitRateModel?.measuringFactors.count ?? 0)
      rest = rest.dropFirst(own.count)
      return Measurement(rateFactors: own.map(\.factor), frameBits: own.map(\.counter.frameBits))
    }
  }
}

/// Encodes frames at one rate factor, and keeps the size of each.
private final class FrameCounter {
  /// In order of presentation.
  private(set) var frameBits: [Int]
  private let encoder: VideoEncoder
  private let liveness: Liveness?

  init(
    _ rendition: VideoRendition, of task: VideoTask, factor: Double, _ liveness: Liveness?
  ) throws(MediaError) {
    var settings = rendition.encoder
    settings.rateControl = .quality(factor)
    encoder = try VideoEncoder(
      settings, size: rendition.size, frameDuration: task.format.frameDuration, keyframes: task.keyframes,
      isMeasuring: true)
    frameBits = Array(repeating: 0, count: task.frameCount)
    self.liveness = liveness
  }

  func send(_ frame: Frame, _ index: Int) throws(MediaError) {
    try encoder.send(frame, pts: Int64(index))
    try count()
  }

  func finish() throws(MediaError) {
    encoder.finish()
    try count()
  }

  private func count() throws(MediaError) {
    while let packet = try encoder.receive() {
      liveness?.advance()
      guard let index = Int(exactly: packet.pts), frameBits.indices.contains(index) else { continue }
      frameBits[index] = 8 * packet.byteCount
    }
  }
}

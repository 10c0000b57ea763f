import CompositionModel
package import Media
package import Segmenter
package import SheafCompositing

/// Measures a segment of a film with an average bit rate: how many bits its frames take.
package enum SegmentMeter {
  /// Makes the segment's frames as `VideoRenderer` does, and encodes them with the codec's fast encoder at each of its
  /// measuring rate factors. The parameters and the errors are those of `VideoRenderer.render`.
  package static func measure(
    _ task: MeasureTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none,
    movement: Movement? = nil, progress: (Int64) -> Void
  ) throws(RenderError) -> Measurement {
    let video = task.video
    try video.check()
    guard let model = video.encoder.bitRateModel else {
      throw RenderError(.task, "the codec \(video.encoder.codec.rawValue) is not measured")
    }
    var counters: [FrameCounter] = []
    for factor in model.measuringFactors {
      counters.append(
        try mapErrors(to: RenderError.during("opening the encoder")) { () throws(MediaError) in
          try FrameCounter(video, factor: factor, movement)
        })
    }
    // The video task finds the same damage, and reports it.
    try VideoRenderer.makeFrames(
      video, inputs: inputs, compositors: compositors, movement: movement, damage: DamageLog()
    ) { (frame, index) throws(RenderError) in
      try mapErrors(to: RenderError.during("measuring frame \(index) of the segment")) { () throws(MediaError) in
        for counter in counters { try counter.send(frame, index) }
      }
      progress(Int64(index + 1))
    }
    try mapErrors(to: RenderError.during("finishing the measurement")) { () throws(MediaError) in
      for counter in counters { try counter.finish() }
    }
    return Measurement(rateFactors: model.measuringFactors, frameBits: counters.map(\.frameBits))
  }
}

/// Encodes frames at one rate factor, and keeps the size of each.
private final class FrameCounter {
  /// In order of presentation.
  private(set) var frameBits: [Int]
  private let encoder: VideoEncoder
  private let movement: Movement?

  init(_ task: VideoTask, factor: Double, _ movement: Movement?) throws(MediaError) {
    var settings = task.encoder
    settings.rateControl = .quality(factor)
    encoder = try VideoEncoder(
      settings, size: task.format.size, frameDuration: task.format.frameDuration, isMeasuring: true)
    frameBits = Array(repeating: 0, count: task.frameCount)
    self.movement = movement
  }

  func send(_ frame: Frame, _ index: Int) throws(MediaError) {
    try encoder.send(frame, pts: Int64(index))
    try count()
  }

  func finish() throws(MediaError) {
    try encoder.finish()
    try count()
  }

  private func count() throws(MediaError) {
    while let packet = try encoder.receive() {
      movement?.advance()
      guard let index = Int(exactly: packet.pts), frameBits.indices.contains(index) else { continue }
      frameBits[index] = 8 * packet.byteCount
    }
  }
}

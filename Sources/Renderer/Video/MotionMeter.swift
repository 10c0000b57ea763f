import CVidStab
import CompositionModel
package import Media
package import RenderTasks

/// Measures the motion of a camera, with libvidstab.
package enum MotionMeter {
  /// The longest side of the pictures that are compared. Larger ones are made smaller by a whole number.
  private static let longestSide = 1280
  /// The part of the pixels whose brightness has to change for a picture to be of another scene.
  private static let change = 0.5

  /// The motion of each picture of a stretch since the one before it. Of the track's first picture, and of one after
  /// a cut, there is none.
  /// - Parameters:
  ///   - inputs: The task's one file, by its digest in lower-case hexadecimal.
  ///   - liveness: Advanced with every picture that is decoded.
  ///   - progress: Called with the pictures that are measured.
  package static func measure(
    _ task: MotionTask, inputs: [String: any ByteSource], liveness: Liveness? = nil, progress: (Int64) -> Void
  ) throws(RenderError) -> CameraMotion {
    let source = task.source
    guard let input = inputs[source.digest] else {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    var steps: [MotionStep] = []
    try mapErrors(to: RenderError.during("\(source.title): measuring its motion")) { () throws(MediaError) in
      let reader = try VideoReader(
        source: input, name: source.title, track: source.track, codec: source.codec, timebase: source.timebase,
        discontinuities: source.discontinuities, decodeFrom: source.decodeFrom,
        state: source.decodeFrom.flatMap { source.video.decoderState(at: $0) }, starts: source.video,
        shownAt: task.pictures.lowerBound, wantsPrevious: true, liveness: liveness)
      var next = try reader.next()
      let reduction = Reduction(source.video)
      let detector = try MotionDetector(reduction.size)
      if let previous = reader.previous { _ = try detector.step(to: reduction.picture(previous)) }
      while let frame = next, frame.pts <= task.pictures.upperBound {
        // Of pictures that are due at the same time, the last is shown, and it has moved as all of them have.
        let isSame = steps.last.map { frame.pts <= $0.pts } == true
        var step = isSame ? steps.removeLast() : MotionStep(pts: frame.pts)
        if let motion = try detector.step(to: reduction.picture(frame)) {
          func units(_ number: Double, _ unit: Double) -> Int {
            number.isFinite ? Int(max(-1e7, min(1e7, (number * unit).rounded()))) : 0
          }
          step.x += units(motion.x, MotionStep.unitsOfPixel * reduction.across)
          step.y += units(motion.y, MotionStep.unitsOfPixel * reduction.down)
          step.angle += units(motion.angle, MotionStep.unitsOfRadian)
        }
        steps.append(step)
        progress(Int64(steps.count))
        next = try reader.next()
      }
    }
    return CameraMotion(steps: steps)
  }

  /// Makes grey pictures with square pixels, of the size that is compared.
  private final class Reduction {
    let size: PixelSize
    /// Square pixels of the stored picture for one of a reduced picture.
    let across: Double
    let down: Double
    private let colour: ColourTags
    private var scaler: (from: FrameScaler.Side, scaler: FrameScaler)?

    init(_ video: VideoFormat) {
      let width = Double(video.size.width * video.pixelAspect.horizontal) / Double(video.pixelAspect.vertical)
      let height = Double(video.size.height)
      let part = max(1, (max(width, height) / Double(MotionMeter.longestSide)).rounded(.up))
      // Even ones, which the library wants.
      func side(_ length: Double) -> Int {
        max(Stabilization.shortestSide, min(MotionMeter.longestSide, 2 * Int((length / part / 2).rounded())))
      }
      size = PixelSize(width: side(width), height: side(height))
      (across, down) = (width / Double(size.width), height / Double(size.height))
      colour = video.colour
    }

    func picture(_ frame: Frame) throws(MediaError) -> Frame {
      let tagged = try frame.withRangeTagged()
      guard let grey = FrameFormat(name: "gray") else { return tagged }
      let from = FrameScaler.Side(size: tagged.size, format: tagged.format, colour: colour)
      let scaler: FrameScaler
      if let known = self.scaler, known.from == from {
        scaler = known.scaler
      } else {
        scaler = try FrameScaler(from: from, to: .init(size: size, format: grey, colour: colour))
        self.scaler = (from, scaler)
      }
      let picture = try Frame(size: size, format: grey)
      try scaler.scale(tagged, into: picture)
      return picture
    }
  }

  /// libvidstab's detection of motion between pictures that follow each other, and of cuts.
  private final class MotionDetector {
    private let detection: UnsafeMutablePointer<VSMotionDetect>
    private let size: PixelSize
    private var brightness: [Int]?
    /// libvidstab's `VS_OK`, which is a variable in C.
    private static let success: CInt = 0

    init(_ size: PixelSize) throws(MediaError) {
      self.size = size
      let detection = UnsafeMutablePointer<VSMotionDetect>.allocate(capacity: 1)
      self.detection = detection
      detection.initialize(to: VSMotionDetect())
      var info = VSFrameInfo()
      // The library keeps the address of the name, for messages.
      let name: StaticString = "sheaf"
      let isReady = name.withUTF8Buffer { name in
        name.withMemoryRebound(to: CChar.self) { name in
          var detecting = vsMotionDetectGetDefaultConfig(name.baseAddress)
          detecting.numThreads = 1
          return vsFrameInfoInit(&info, Int32(size.width), Int32(size.height), PF_GRAY8) != 0
            && vsMotionDetectInit(detection, &detecting, &info) == Self.success
        }
      }
      guard isReady else {
        throw MediaError(
          .unsupported, operation: "measuring", subject: "\(size.width)x\(size.height)",
          message: "libvidstab cannot compare pictures of this size")
      }
    }

    deinit {
      vsMotionDetectionCleanup(detection)
      detection.deallocate()
    }

    /// The motion since the picture before. Nil: there is none before, or it is of another scene.
    func step(to picture: Frame) throws(MediaError) -> CameraStep? {
      var motions = LocalMotions()
      defer { vs_vector_del(&motions) }
      let stride = picture.stride(ofPlane: 0)
      var histogram = [Int](repeating: 0, count: 32)
      let status = picture.withPlane(0) { base in
        for row in 0..<size.height {
          let samples = UnsafeRawBufferPointer(start: base + row * stride, count: size.width)
          for sample in samples { histogram[Int(sample) >> 3] += 1 }
        }
        var frame = VSFrame()
        frame.data.0 = UnsafeMutableRawPointer(mutating: base).assumingMemoryBound(to: UInt8.self)
        frame.linesize.0 = Int32(stride)
        return vsMotionDetection(detection, &motions, &frame)
      }
      guard status == Self.success else {
        throw MediaError(.damaged, operation: "measuring", subject: "a picture", message: "libvidstab has failed")
      }
      let before = brightness
      brightness = histogram
      guard let before else { return nil }
      let changed = zip(before, histogram).reduce(0) { $0 + abs($1.0 - $1.1) } / 2
      if Double(changed) > MotionMeter.change * Double(size.width * size.height) { return nil }
      let (middleX, middleY) = (Double(size.width) / 2, Double(size.height) / 2)
      let found = (0..<vs_vector_size(&motions)).compactMap { index -> CameraStep.Part? in
        guard let motion = vs_vector_get(&motions, index)?.assumingMemoryBound(to: LocalMotion.self).pointee else {
          return nil
        }
        // The library says where a part of the picture was before.
        return CameraStep.Part(
          x: Double(motion.f.x) - middleX, y: Double(motion.f.y) - middleY, across: -Double(motion.v.x),
          down: -Double(motion.v.y))
      }
      return CameraStep(found)
    }
  }
}

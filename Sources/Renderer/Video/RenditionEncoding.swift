import CompositionModel
import Media
import RenderTasks

/// Encodes the frames of a segment with the settings of one rendition: again, until its limit of bits is kept, and its
/// share of the film's bits or its target quality is met. Each pass is `begin`, `encode` for each frame, and `end`.
final class RenditionEncoding {
  /// Whether the piece is complete.
  private(set) var isFinished = false
  private var rendition: VideoRendition
  private let frameCount: Int
  private let frameDuration: MediaTime
  private let keyframes: [Int]?
  /// Those of the film's copied pictures. Nil: the encoder's own.
  private let parameterSets: [UInt8]?
  private let place: PackagedPiece
  private let liveness: Liveness?
  private var search: BitShareSearch?
  private var qualitySearch: QualitySearch?
  private var likeness: EncodedLikeness?
  /// The index in `limitShares` of this pass.
  private var limit = 0
  private var isWritten = false
  private var control: BitShareControl?
  private var encoder: VideoEncoder?
  private var writer: PieceWriter?
  /// The bits of each packet of this pass, in order of decoding.
  private var packetBits: [Int] = []

  /// The parts of a film's limit with which a segment is tried. Encoders keep a limit nearly always. Where one did not,
  /// the segment is made again with less. What counts is the limit of the whole film, so the result is the same
  /// wherever the segment is.
  private static let limitShares = [1, 0.85, 0.7, 0.5, 0.3]

  init(
    _ rendition: VideoRendition, of task: VideoTask, _ place: PackagedPiece, _ liveness: Liveness?
  ) throws(RenderError) {
    self.rendition = rendition
    self.place = place
    self.liveness = liveness
    (frameCount, frameDuration, keyframes) = (task.frameCount, task.format.frameDuration, task.keyframes)
    parameterSets = task.smart.flatMap { $0.parameterSets.isEmpty ? nil : $0.parameterSets }
    search = try rendition.shareSearch(frameCount: frameCount)
    qualitySearch = QualitySearch(rendition.encoder)
  }

  /// The size of the frames that are encoded, in pixels.
  var size: PixelSize { rendition.size }

  /// Whether no other encoder of this kind can be open at the same time.
  var isAlone: Bool { rendition.encoder.codec.definition.encoderSetup(rendition.encoder, size: size).isAlone }

  private var frameSeconds: Double { frameDuration.approximateSeconds }

  /// Opens the encoder, and begins the piece in place of that of the pass before.
  func begin() throws(RenderError) {
    if isWritten { place.clear() }
    isWritten = true
    packetBits = []
    let held = rendition.encoder.rateLimit?.ofSegment(
      duration: frameSeconds * Double(frameCount), share: Self.limitShares[limit])
    let made = try mapErrors(to: RenderError.during("opening the encoder")) { () throws(MediaError) in
      try VideoEncoder(
        rendition.encoder, size: size, frameDuration: frameDuration, keyframes: keyframes, limit: held,
        parameterSets: parameterSets)
    }
    writer = try mapErrors(to: RenderError.during("writing the piece")) { () throws(MediaError) in
      try place.writer(made.header)
    }
    encoder = made
    likeness = try mapErrors(to: RenderError.during("opening the decoder")) { () throws(MediaError) in
      try qualitySearch.map { search throws(MediaError) in try made.likeness(search.metric) }
    }
    control = try rendition.shareControl(frameCount: frameCount)
  }

  /// Encodes the next frame, which has this rendition's size.
  func encode(_ frame: Frame, _ index: Int) throws(RenderError) {
    guard let encoder else { return }
    try mapErrors(to: RenderError.during("encoding frame \(index) of the segment")) { () throws(MediaError) in
      if let factor = control?.nextFactor() { try encoder.setRateFactor(factor) }
      try likeness?.expect(frame, pts: Int64(index))
      try encoder.send(frame, pts: Int64(index))
      try writePackets { packet in control?.receive(frame: Int(packet.pts), bits: 8 * packet.byteCount) }
    }
  }

  /// Ends the pass. `isFinished` is set if the piece is the result.
  func end(_ damage: ShownDamage) throws(RenderError) {
    let reached = try mapErrors(to: RenderError.during("finishing the piece")) { () throws(MediaError) -> Double? in
      encoder?.finish()
      try writePackets { _ in }
      try writer?.finish(damage: damage.encoded())
      return try likeness?.finish()
    }
    // Before the next pass, because some encoders must be the only one.
    (encoder, writer, likeness) = (nil, nil, nil)
    if let held = rendition.encoder.rateLimit {
      guard held.isKept(bits: packetBits, frameDuration: frameSeconds) else {
        limit += 1
        guard limit < Self.limitShares.count else {
          throw RenderError(
            .task,
            "the segment's \(frameCount) frames take more than \(held.bitRate) bits a second with a buffer of "
              + "\(held.bufferSize) bits, whatever their quality: 'maxBitRate' or 'bufferDuration' must be greater"
          )
        }
        return
      }
      limit = 0
    }
    if case .quality(let factor) = rendition.encoder.rateControl,
      let next = search?.next(after: factor, bits: packetBits.reduce(0, +))
        ?? reached.flatMap({ qualitySearch?.next(after: factor, likeness: $0) })
    {
      rendition.encoder.rateControl = .quality(next)
    } else {
      isFinished = true
    }
  }

  private func writePackets(_ count: (Packet) -> Void) throws(MediaError) {
    while let packet = try encoder?.receive() {
      liveness?.advance()
      packetBits.append(8 * packet.byteCount)
      count(packet)
      try likeness?.receive(packet)
      try writer?.write(packet)
    }
  }
}

/// The frames of a segment in the sizes of several outputs. Each size is made once.
final class FrameSizes {
  private let format: VideoTaskFormat
  private var scalers: [PixelSize: FrameScaler] = [:]
  private var made: [PixelSize: Frame] = [:]

  /// - Parameter format: The format of the frames that are composited.
  init(_ format: VideoTaskFormat) {
    self.format = format
  }

  /// Begins with another frame.
  func next() { made.removeAll(keepingCapacity: true) }

  /// A frame in a size. The colours are the film's.
  func frame(_ frame: Frame, in size: PixelSize) throws(RenderError) -> Frame {
    if size == frame.size { return frame }
    if let known = made[size] { return known }
    return try mapErrors(to: RenderError.during("scaling a frame")) { () throws(MediaError) in
      let scaler = try scaler(to: size)
      let scaled = try Frame(size: size, format: frame.format)
      try scaler.scale(frame, into: scaled)
      made[size] = scaled
      return scaled
    }
  }

  private func scaler(to size: PixelSize) throws(MediaError) -> FrameScaler {
    if let known = scalers[size] { return known }
    let stored = FrameFormat(format.pixelFormat)
    let made = try FrameScaler(
      from: FrameScaler.Side(size: format.size, format: stored, colour: format.colour),
      to: FrameScaler.Side(size: size, format: stored, colour: format.colour))
    scalers[size] = made
    return made
  }
}

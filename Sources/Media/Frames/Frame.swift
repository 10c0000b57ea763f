internal import CMedia
package import CompositionModel

/// A picture: reference-counted planes, a timestamp and colour tags.
package final class Frame {
  let pointer: UnsafeMutablePointer<AVFrame>

  /// An empty frame for a decoder to fill.
  init() throws(MediaError) {
    pointer = try allocated(av_frame_alloc(), "making a frame")
  }

  private init(owning pointer: UnsafeMutablePointer<AVFrame>) {
    self.pointer = pointer
  }

  /// A frame with planes of its own, their contents undefined. Rows start at multiples of 64 bytes and have padding
  /// after the last pixel.
  package convenience init(size: PixelSize, format: FrameFormat, colour: ColourTags = ColourTags()) throws(MediaError) {
    try self.init()
    try size.check("a \(format) frame")
    pointer.pointee.width = Int32(size.width)
    pointer.pointee.height = Int32(size.height)
    pointer.pointee.format = format.rawValue
    try check(av_frame_get_buffer(pointer, 64), "making", "a \(size.width)x\(size.height) \(format) frame")
    self.colour = colour
  }

  deinit {
    var frame: UnsafeMutablePointer<AVFrame>? = pointer
    av_frame_free(&frame)
  }

  /// Another frame on the same planes.
  func reference() throws(MediaError) -> Frame {
    Frame(owning: try allocated(av_frame_clone(pointer), "sharing a frame"))
  }

  /// A frame on the same planes with another timestamp.
  package func at(_ pts: Int64) throws(MediaError) -> Frame {
    let frame = try reference()
    frame.pts = pts
    return frame
  }

  /// A frame with planes of its own, their contents undefined, and all that this one has besides its planes.
  package func blank(_ format: FrameFormat) throws(MediaError) -> Frame {
    let frame = try Frame(size: size, format: format)
    try check(av_frame_copy_props(frame.pointer, pointer), "copying", "what is known of a frame")
    return frame
  }

  /// This frame, or one on the same planes whose format does not name the range of its samples: `yuv420p` with a tag
  /// for `yuvj420p`.
  package func withRangeTagged() throws(MediaError) -> Frame {
    guard let name = format.nameWithoutRange, let plain = FrameFormat(name: name) else { return self }
    let frame = try reference()
    frame.pointer.pointee.format = plain.rawValue
    frame.pointer.pointee.color_range = AVCOL_RANGE_JPEG
    return frame
  }

  /// Presentation time in ticks of the track's timebase.
  package var pts: Int64 {
    get { pointer.pointee.pts }
    set { pointer.pointee.pts = newValue }
  }

  package var size: PixelSize { PixelSize(width: Int(pointer.pointee.width), height: Int(pointer.pointee.height)) }
  package var format: FrameFormat { FrameFormat(rawValue: pointer.pointee.format) }
  /// Whether the decoder has concealed a part of the picture, or suspects that it is damaged.
  package var isDamaged: Bool {
    pointer.pointee.decode_error_flags != 0 || pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
  }

  /// For a picture that is damaged although its decoder has not flagged it.
  func markAsDamaged() { pointer.pointee.flags |= AV_FRAME_FLAG_CORRUPT }
  /// Whether the frame is flagged as two fields woven together.
  package var isInterlaced: Bool { pointer.pointee.interlaced_frame != 0 }

  /// The meaning of the samples' numbers, as tagged; fields are nil if the frame has no tag.
  package var colour: ColourTags {
    get {
      let frame = pointer.pointee
      return ColourTags(
        primaries: frame.color_primaries, transfer: frame.color_trc, matrix: frame.colorspace, range: frame.color_range,
        location: frame.chroma_location)
    }
    set {
      let tags = ColourNumbers(newValue)
      pointer.pointee.color_primaries = tags.primaries
      pointer.pointee.color_trc = tags.transfer
      pointer.pointee.colorspace = tags.matrix
      pointer.pointee.color_range = tags.range
      pointer.pointee.chroma_location = tags.location
    }
  }

  /// Bytes from one row of a plane to the next. Positive in every frame that this module returns.
  package func stride(ofPlane plane: Int) -> Int {
    withUnsafeBytes(of: pointer.pointee.linesize) { Int($0.load(fromByteOffset: plane * 4, as: Int32.self)) }
  }

  /// The rows of a plane, and the bytes of each without padding.
  package func extent(ofPlane plane: Int) -> (bytesPerRow: Int, rows: Int) {
    let isChroma = (plane == 1 || plane == 2) && !format.isRGB
    let rows = isChroma ? -(-size.height >> format.chromaShift.vertical) : size.height
    let bytes = av_image_get_linesize(format.avFormat, pointer.pointee.width, Int32(plane))
    return (max(0, Int(bytes)), rows)
  }

  /// The first byte of a plane, for reading. The pointer is valid inside `body` only.
  package func withPlane<R>(_ plane: Int, _ body: (UnsafeRawPointer) throws -> R) rethrows -> R {
    try withExtendedLifetime(self) { try body(UnsafeRawPointer(base(ofPlane: plane))) }
  }

  /// The first byte of a plane, for writing, on a frame whose planes no other frame shares. The pointer is valid inside
  /// `body` only.
  package func withMutablePlane<R>(_ plane: Int, _ body: (UnsafeMutableRawPointer) -> R) -> R {
    body(base(ofPlane: plane))
  }

  private func base(ofPlane plane: Int) -> UnsafeMutableRawPointer {
    precondition(plane >= 0 && plane < format.planeCount, "no plane \(plane) in a \(format) frame")
    return withUnsafeBytes(of: pointer.pointee.data) {
      let base = $0.load(
        fromByteOffset: plane * MemoryLayout<UnsafeRawPointer?>.size, as: UnsafeMutableRawPointer?.self)
      precondition(base != nil, "plane \(plane) of a \(format) frame is missing")
      return base!
    }
  }

  /// This frame, or a copy with rows from top to bottom if a codec stores them in the other order. Checks the size.
  func topDown(_ name: String) throws(MediaError) -> Frame {
    try size.check(name)
    guard (0..<format.planeCount).contains(where: { stride(ofPlane: $0) < 0 }) else { return self }
    let copy = try Frame(size: size, format: format)
    try check(av_frame_copy(copy.pointer, pointer), "copying a frame of", name)
    try check(av_frame_copy_props(copy.pointer, pointer), "copying a frame of", name)
    return copy
  }
}

extension PixelSize {
  /// Throws `.tooLarge` unless both sides are within 1...`largestSide`.
  func check(_ subject: String) throws(MediaError) {
    let sides = 1...Self.largestSide
    guard !sides.contains(width) || !sides.contains(height) else { return }
    throw MediaError(
      .tooLarge, operation: "opening", subject: subject,
      message: "\(width)x\(height) pixels; each side must be 1 to \(Self.largestSide)")
  }
}

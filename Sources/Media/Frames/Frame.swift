internal import CMedia
package import CompositionModel

/// A picture: reference-counted planes, a timestamp and colour tags.
package final class Frame {
  let pointer: UnsafeMutablePointer<AVFrame>

  /// Takes over a frame that the caller owns.
  init(owning pointer: UnsafeMutablePointer<AVFrame>) {
    self.pointer = pointer
  }

  /// An empty shell for a decoder to fill.
  init() throws(MediaError) {
    pointer = try allocated(av_frame_alloc(), "making a frame")
  }

  /// A frame with planes of its own, their contents undefined; rows start at multiples of 64 bytes and have room to
  /// spare after the last pixel.
  package convenience init(size: PixelSize, format: FrameFormat, colour: ColourTags = ColourTags()) throws(MediaError) {
    try self.init()
    try PictureLimits.check(size, subject: "a \(format) frame")
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
  package func reference() throws(MediaError) -> Frame {
    Frame(owning: try allocated(av_frame_clone(pointer), "sharing a frame"))
  }

  /// Makes the planes this frame's own, copying them if another shares them.
  package func makeWritable() throws(MediaError) {
    try check(av_frame_make_writable(pointer), "copying", "a frame")
  }

  /// Presentation time in ticks of the track's timebase.
  package var pts: Int64 {
    get { pointer.pointee.pts }
    set { pointer.pointee.pts = newValue }
  }

  package var size: PixelSize { PixelSize(width: Int(pointer.pointee.width), height: Int(pointer.pointee.height)) }
  package var format: FrameFormat { FrameFormat(rawValue: pointer.pointee.format) }
  package var isInterlaced: Bool { pointer.pointee.interlaced_frame != 0 }

  /// Bytes from one row of a plane to the next. Positive: frames that a codec stores upside down are not given out.
  package func stride(ofPlane plane: Int) -> Int {
    withUnsafeBytes(of: pointer.pointee.linesize) { Int($0.load(fromByteOffset: plane * 4, as: Int32.self)) }
  }

  /// Rows and bytes a row (without padding) of a plane.
  package func extent(ofPlane plane: Int) -> (bytesPerRow: Int, rows: Int) {
    let isChroma = (plane == 1 || plane == 2) && !format.isRGB
    let rows = isChroma ? -(-size.height >> format.chromaShift.vertical) : size.height
    let bytes = av_image_get_linesize(format.avFormat, pointer.pointee.width, Int32(plane))
    return (max(0, Int(bytes)), rows)
  }

  /// The first byte of a plane, to be read. The pointer is good inside `body` only.
  package func withPlane<R>(_ plane: Int, _ body: (UnsafeRawPointer) -> R) -> R {
    body(UnsafeRawPointer(base(ofPlane: plane)))
  }

  /// The first byte of a plane, to be written: only on a frame that nothing shares (see `makeWritable`).
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
}

import CKernels
import CompositionModel
import Media
import RenderTasks

/// One plane of a frame in memory. It is valid inside the closure that it is passed to.
struct Plane {
  let base: UnsafeMutableRawPointer
  /// Bytes from one row to the next; may be negative.
  let stride: Int

  func address(x: Int, y: Int, sampleBytes: Int) -> UnsafeMutableRawPointer {
    base + y * stride + x * sampleBytes
  }
}

/// The luma and chroma planes of a frame in a composition's format, and the operations that draw on them. All
/// rectangles are in luma pixels and consist of whole chroma cells (or end at the frame's edge).
struct Planes {
  let luma: Plane
  let cb: Plane
  let cr: Plane
  let format: PixelFormat

  var cell: ChromaCell { ChromaCell(format) }
  var sampleBytes: Int { format.bitDepth > 8 ? 2 : 1 }
  private var all: [(plane: Plane, isChroma: Bool)] { [(luma, false), (cb, true), (cr, true)] }

  /// A rectangle in one plane, as the kernels take it.
  struct Part {
    let base: UnsafeMutableRawPointer
    let stride: Int
    let width: Int32
    let height: Int32

    var bytes: UnsafeMutablePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    var words: UnsafeMutablePointer<UInt16> { base.assumingMemoryBound(to: UInt16.self) }
  }

  func parts(_ rect: PixelRect) -> [Part] {
    let chroma = cell.chroma(rect)
    return all.map { plane, isChroma in
      let part = isChroma ? chroma : rect
      return Part(
        base: plane.address(x: part.x, y: part.y, sampleBytes: sampleBytes), stride: plane.stride,
        width: Int32(part.size.width), height: Int32(part.size.height))
    }
  }

  /// Fills a rectangle with one colour.
  func fill(_ rect: PixelRect, codes: (luma: Int, cb: Int, cr: Int)) {
    for (part, code) in zip(parts(rect), [codes.luma, codes.cb, codes.cr]) {
      if sampleBytes == 1 {
        Kernels.best.fill8(part.bytes, part.stride, part.width, part.height, Int32(code))
      } else {
        Kernels.best.fill16(part.words, part.stride, part.width, part.height, Int32(code))
      }
    }
  }

  /// Copies pixels of another frame in the same format, from its pixel (x, y) on.
  func copy(_ rect: PixelRect, from other: Planes, x: Int, y: Int) {
    let source = other.parts(PixelRect(x: x, y: y, size: rect.size))
    for (to, from) in zip(parts(rect), source) {
      for row in 0..<Int(to.height) {
        (to.base + row * to.stride).copyMemory(
          from: from.base + row * from.stride, byteCount: Int(to.width) * sampleBytes)
      }
    }
  }

  /// Sets a rectangle to a·weightA + b·weightB, rounded to nearest, of parts of two frames that have its size. Either
  /// may be this frame.
  func mix(
    _ rect: PixelRect, _ a: (planes: Planes, at: PixelRect), weightA: Int, _ b: (planes: Planes, at: PixelRect),
    weightB: Int
  ) {
    let (ofA, ofB) = (a.planes.parts(a.at), b.planes.parts(b.at))
    for (index, to) in parts(rect).enumerated() {
      let (a, b) = (ofA[index], ofB[index])
      if sampleBytes == 1 {
        Kernels.best.mix8(
          to.bytes, to.stride, a.bytes, a.stride, b.bytes, b.stride, to.width, to.height, Int32(weightA), Int32(weightB)
        )
      } else {
        Kernels.best.mix16(
          to.words, to.stride, a.words, a.stride, b.words, b.stride, to.width, to.height, Int32(weightA), Int32(weightB)
        )
      }
    }
  }

  /// Draws a picture with coverage over this frame, at a weight.
  func draw(_ picture: BlendPicture, weight: Int) {
    let colours: [(colour: BlendPicture.Plane, coverage: BlendPicture.Plane)] = [
      (.luma, .coverage), (.cb, .chromaCoverage), (.cr, .chromaCoverage),
    ]
    for (to, (colour, coverage)) in zip(parts(picture.rect), colours) {
      let stride = picture.strideInBytes(colour)
      if sampleBytes == 1 {
        Kernels.best.over8(
          to.bytes, to.stride, picture.plane(colour), stride, picture.plane(coverage), stride, to.width, to.height,
          Int32(weight))
      } else {
        Kernels.best.over16(
          to.words, to.stride, picture.plane(colour), stride, picture.plane(coverage), stride, to.width, to.height,
          Int32(weight), Int32(format.bitDepth))
      }
    }
  }

  /// A part of this frame as a blend picture of full coverage. `rect` is its place in the composition's frame; the part
  /// has the same size and starts at this frame's (x, y).
  func blendPicture(_ rect: PixelRect, x: Int, y: Int) throws(RenderError) -> BlendPicture {
    let picture = try BlendPicture(rect: rect, cell: cell)
    let targets: [BlendPicture.Plane] = [.luma, .cb, .cr]
    for (from, target) in zip(parts(PixelRect(x: x, y: y, size: rect.size)), targets) {
      let (to, stride) = (picture.plane(target), picture.strideInBytes(target))
      if sampleBytes == 1 {
        sheaf_widen8(to, stride, from.bytes, from.stride, from.width, from.height)
      } else {
        sheaf_widen16(to, stride, from.words, from.stride, from.width, from.height, Int32(format.bitDepth))
      }
    }
    picture.coverAll()
    return picture
  }
}

extension Frame {
  /// The planes of a frame in one of the composition's formats, for reading.
  func withPlanes<R>(_ body: (Planes) throws(RenderError) -> R) throws(RenderError) -> R {
    try withPlanes(isWritten: false, body)
  }

  /// The planes of a frame that shares them with no other, for drawing.
  func withMutablePlanes<R>(_ body: (Planes) throws(RenderError) -> R) throws(RenderError) -> R {
    try withPlanes(isWritten: true, body)
  }

  private func withPlanes<R>(
    isWritten: Bool, _ body: (Planes) throws(RenderError) -> R
  ) throws(RenderError) -> R {
    guard let format = PixelFormat.allCases.first(where: { FrameFormat($0) == self.format }) else {
      throw RenderError(.task, "a \(self.format) frame cannot be composited; it must be converted first")
    }
    func plane(_ index: Int, _ body: (Plane) -> Result<R, RenderError>) -> Result<R, RenderError> {
      let stride = stride(ofPlane: index)
      return isWritten
        ? withMutablePlane(index) { body(Plane(base: $0, stride: stride)) }
        : withPlane(index) { body(Plane(base: UnsafeMutableRawPointer(mutating: $0), stride: stride)) }
    }
    return try plane(0) { luma in
      plane(1) { cb in
        plane(2) { cr in
          let planes = Planes(luma: luma, cb: cb, cr: cr, format: format)
          return Result { () throws(RenderError) in try body(planes) }
        }
      }
    }.get()
  }
}

enum Kernels {
  /// The fastest version that this processor runs.
  static let best = sheaf_kernels_best().pointee
}

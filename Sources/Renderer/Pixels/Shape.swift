import CKernels
import CompositionModel
import Media
import RenderTasks

/// The pixels of a rectangle that a convex polygon covers, completely or in part.
struct Shape {
  let size: PixelSize
  /// By row.
  let spans: [sheaf_span]
  /// The coverage of the pixels that are covered in part, row by row.
  let edges: [UInt16]

  /// - Parameters:
  ///   - corners: in order around the polygon, in pixels of the rectangle.
  init(_ corners: [(x: Double, y: Double)], in size: PixelSize) {
    self.size = size
    let numbers = corners.flatMap { [$0.x, $0.y] }
    let (count, height) = (Int32(corners.count), Int32(size.height))
    var edgeCount = 0
    spans = [sheaf_span](unsafeUninitializedCapacity: size.height) { buffer, initialized in
      edgeCount = sheaf_polygon_spans(numbers, count, Int32(size.width), height, buffer.baseAddress)
      initialized = size.height
    }
    edges = [UInt16](unsafeUninitializedCapacity: edgeCount) { [spans] buffer, initialized in
      sheaf_polygon_edges(numbers, count, height, spans, buffer.baseAddress)
      initialized = edgeCount
    }
  }

  /// A whole rectangle.
  init(full size: PixelSize) {
    let (right, bottom) = (Double(size.width), Double(size.height))
    self.init([(0, 0), (right, 0), (right, bottom), (0, bottom)], in: size)
  }

  /// The chroma samples of a rectangle of whole cells by the coverage of a shape's pixels around their places. Beyond
  /// the frame's edges, the coverage at the edge is repeated.
  init(chromaOf shape: Shape, _ cell: ChromaCell, in rect: PixelRect) {
    size = cell.chroma(rect).size
    let how = cell.subsampling(repeatsLeft: rect.x == 0, repeatsTop: rect.y == 0)
    let (width, height) = (Int32(shape.size.width), Int32(shape.size.height))
    var edgeCount = 0
    spans = [sheaf_span](unsafeUninitializedCapacity: size.height) { [size] buffer, initialized in
      edgeCount = sheaf_subsample_spans(buffer.baseAddress, shape.spans, shape.edges, width, height, how)
      initialized = size.height
    }
    edges = [UInt16](unsafeUninitializedCapacity: edgeCount) { [spans] buffer, initialized in
      sheaf_subsample_edges(buffer.baseAddress, spans, shape.spans, shape.edges, width, height, how)
      initialized = edgeCount
    }
  }

  /// Whether every pixel of the rectangle is covered completely.
  var isFull: Bool {
    edges.isEmpty && spans.allSatisfy { $0.inner_start == 0 && Int($0.inner_end) == size.width }
  }
}

/// An opaque picture of any convex shape, in the composition's format.
final class ShapedPicture {
  /// In pixels of the composition's frame; whole chroma cells.
  let rect: PixelRect
  /// The picture, of the size of `rect`. Only what the shape touches is defined.
  let frame: Frame
  let luma: Shape
  let chroma: Shape

  init(_ frame: Frame, rect: PixelRect, luma: Shape, chroma: Shape) {
    self.frame = frame
    self.rect = rect
    self.luma = luma
    self.chroma = chroma
  }

  /// Draws the picture over a frame, at a weight.
  func draw(on planes: Planes, weight: Int) throws(RenderError) {
    let isDeep = planes.format.bitDepth > 8
    try frame.withPlanes { picture in
      let part = planes.cell.chroma(rect)
      for (to, from, shape, x, y) in [
        (planes.luma, picture.luma, luma, rect.x, rect.y), (planes.cb, picture.cb, chroma, part.x, part.y),
        (planes.cr, picture.cr, chroma, part.x, part.y),
      ] {
        let under = to.address(x: x, y: y, sampleBytes: isDeep ? 2 : 1)
        let height = Int32(shape.size.height)
        if isDeep {
          sheaf_draw_shape16(
            under.assumingMemoryBound(to: UInt16.self), to.stride, from.base.assumingMemoryBound(to: UInt16.self),
            from.stride, height, shape.spans, shape.edges, Int32(weight))
        } else {
          sheaf_draw_shape8(
            under.assumingMemoryBound(to: UInt8.self), to.stride, from.base.assumingMemoryBound(to: UInt8.self),
            from.stride, height, shape.spans, shape.edges, Int32(weight))
        }
      }
    }
  }

  /// The picture with coverage.
  func blendPicture() throws(RenderError) -> BlendPicture {
    try frame.withPlanes { planes throws(RenderError) in
      let picture = try BlendPicture(rect: rect, cell: planes.cell)
      let depth = planes.format.bitDepth
      for (from, shape, colour, coverage) in [
        (planes.luma, luma, BlendPicture.Plane.luma, BlendPicture.Plane.coverage),
        (planes.cb, chroma, .cb, .chromaCoverage), (planes.cr, chroma, .cr, nil),
      ] {
        let (to, stride, height) = (picture.plane(colour), picture.strideInBytes(colour), Int32(shape.size.height))
        let alpha = coverage.map { picture.plane($0) }
        if depth > 8 {
          sheaf_widen_shape16(
            to, alpha, stride, from.base.assumingMemoryBound(to: UInt16.self), from.stride, height, shape.spans,
            shape.edges, Int32(depth))
        } else {
          sheaf_widen_shape8(
            to, alpha, stride, from.base.assumingMemoryBound(to: UInt8.self), from.stride, height, shape.spans,
            shape.edges)
        }
      }
      return picture
    }
  }
}

import CKernels
import CompositionModel
import Media
import RenderTasks

/// The picture that filters change: blend planes, of 14 bits whatever the depth of the film, so that many filters in a
/// row lose nothing.
struct FilterPicture {
  let planes: BlendPicture
  /// Whether its coverage is one everywhere.
  var isOpaque: Bool

  var size: PixelSize { planes.rect.size }

  /// The planes as the kernels take them.
  var kernelPicture: sheaf_filter_picture {
    sheaf_filter_picture(
      luma: planes.plane(.luma), coverage: planes.plane(.coverage), luma_stride: planes.strideInBytes(.luma),
      cb: planes.plane(.cb), cr: planes.plane(.cr), chroma_coverage: planes.plane(.chromaCoverage),
      chroma_stride: planes.strideInBytes(.cb), width: Int32(size.width), height: Int32(size.height),
      shift_x: Int32(planes.cell.horizontalShift), shift_y: Int32(planes.cell.verticalShift))
  }

  /// Copies a part of an opaque frame, from its pixel (x, y) on.
  func load(_ frame: Frame, x: Int, y: Int) {
    let (cell, depth) = (planes.cell, frame.format.bitDepth)
    for (index, plane) in [BlendPicture.Plane.luma, .cb, .cr].enumerated() {
      let size = planes.rect(of: plane).size
      let (column, row) = index == 0 ? (x, y) : (x >> cell.horizontalShift, y >> cell.verticalShift)
      let (stride, width, height) = (frame.stride(ofPlane: index), Int32(size.width), Int32(size.height))
      frame.withPlane(index) { base in
        let first = base + row * stride + column * (depth > 8 ? 2 : 1)
        if depth > 8 {
          sheaf_widen16(
            planes.plane(plane), planes.strideInBytes(plane), first.assumingMemoryBound(to: UInt16.self), stride, width,
            height, Int32(depth))
        } else {
          sheaf_widen8(
            planes.plane(plane), planes.strideInBytes(plane), first.assumingMemoryBound(to: UInt8.self), stride, width,
            height)
        }
      }
    }
  }

  /// An opaque picture as a frame of its size.
  func frame(_ format: VideoTaskFormat) throws(RenderError) -> Frame {
    let frame = try mapErrors(to: RenderError.during("making a filtered picture")) { () throws(MediaError) in
      try Frame(size: size, format: FrameFormat(format.pixelFormat), colour: format.colour)
    }
    let depth = format.pixelFormat.bitDepth
    for (index, plane) in [BlendPicture.Plane.luma, .cb, .cr].enumerated() {
      let size = planes.rect(of: plane).size
      let (stride, width, height) = (frame.stride(ofPlane: index), Int32(size.width), Int32(size.height))
      frame.withMutablePlane(index) { base in
        if depth > 8 {
          sheaf_narrow16(
            base.assumingMemoryBound(to: UInt16.self), stride, planes.plane(plane), planes.strideInBytes(plane), width,
            height, Int32(depth))
        } else {
          sheaf_narrow8(
            base.assumingMemoryBound(to: UInt8.self), stride, planes.plane(plane), planes.strideInBytes(plane), width,
            height)
        }
      }
    }
    return frame
  }
}

/// The lengths of filters in a picture that is filtered before it is placed.
struct FilterLengths: Equatable {
  /// Pixels of the film from one luma sample to the next in a row, and in a column, as the picture is fitted.
  var across = 1.0
  var down = 1.0
  /// The part of the picture that is seen, in luma samples: a vignette is centred on it.
  var seen: Rectangle

  init(_ size: PixelSize) {
    seen = Rectangle(size)
  }

  init(across: Double, down: Double, seen: Rectangle) {
    self.across = across
    self.down = down
    self.seen = seen
  }
}

extension Filter<Double> {
  /// Whether a sample depends on the place of the picture's edges, or on its neighbours'.
  var dependsOnPlace: Bool {
    switch kind {
    case .blur, .sharpen, .vignette, .pixelate, .grain, .glow, .denoise, .chromaKey: true
    case .exposure, .brightness, .contrast, .saturation, .hue, .colorBalance, .grayscale, .sepia, .invert: false
    case .posterize, .curves, .lut: false
    }
  }
}

extension BlendPicture {
  /// A picture of its own with the same planes.
  func copy() throws(RenderError) -> BlendPicture {
    let copy = try BlendPicture(rect: rect, cell: cell)
    for plane in Plane.allCases {
      let size = rect(of: plane).size
      copy.plane(plane).update(from: self.plane(plane), count: size.width * size.height)
    }
    return copy
  }
}

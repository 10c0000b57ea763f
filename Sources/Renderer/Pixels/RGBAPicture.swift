import CKernels
import CompositionModel
import Glibc
import Media
import RenderTasks

/// A picture as four planes of 16 bits: red, green and blue, each multiplied by alpha, and alpha; 65535 is one. Stills,
/// texts and frames with alpha are converted to this form, and from it to a `BlendPicture`.
final class RGBAPicture {
  let size: PixelSize
  /// Bytes from one row to the next.
  let stride: Int
  private let samples: SampleStorage

  /// A transparent picture.
  init(_ size: PixelSize) throws(RenderError) {
    self.size = size
    stride = max(1, size.width) * 2
    samples = try SampleStorage(count: 4 * max(1, size.width) * max(1, size.height))
  }

  private var planeCount: Int { stride / 2 * max(1, size.height) }

  /// The planes as the kernels take them.
  func planes() -> sheaf_rgba_planes {
    let first = samples.base
    return sheaf_rgba_planes(
      plane: (first, first + planeCount, first + 2 * planeCount, first + 3 * planeCount), stride: stride)
  }

  /// One plane of the four, in the order red, green, blue, alpha.
  func plane(_ index: Int) -> UnsafeMutablePointer<UInt16> { samples.base + index * planeCount }

  /// Fills the picture from Cairo's premultiplied pixels.
  func split(argb32 data: UnsafeMutablePointer<UInt8>, stride: Int) {
    data.withMemoryRebound(to: UInt32.self, capacity: stride / 4 * size.height) { pixels in
      sheaf_split_argb32(planes(), pixels, stride, Int32(size.width), Int32(size.height))
    }
  }

  /// Fills the picture from the part of a packed frame of RGBA, 8 or 16 bits a sample, that starts at (x, y).
  /// - Parameter alpha: How its colours are stored. One that is multiplied by alpha is that at most.
  func premultiply(_ frame: Frame, _ alpha: AlphaMode, x: Int, y: Int) {
    let stride = frame.stride(ofPlane: 0)
    let isDeep = frame.format.bitDepth > 8
    frame.withPlane(0) { base in
      let first = base + y * stride + x * (isDeep ? 8 : 4)
      let (width, height) = (Int32(size.width), Int32(size.height))
      if alpha == .premultiplied {
        if isDeep {
          sheaf_split_rgba16(planes(), first.assumingMemoryBound(to: UInt16.self), stride, width, height)
        } else {
          sheaf_split_rgba8(planes(), first.assumingMemoryBound(to: UInt8.self), stride, width, height)
        }
        sheaf_limit_rgba(planes(), width, height)
      } else if isDeep {
        sheaf_premultiply_rgba16(planes(), first.assumingMemoryBound(to: UInt16.self), stride, width, height)
      } else {
        sheaf_premultiply_rgba8(planes(), first.assumingMemoryBound(to: UInt8.self), stride, width, height)
      }
    }
  }

  /// Fills the picture from the part of a planar frame of luma, Cb and Cr without subsampling, with or without alpha,
  /// that starts at (x, y).
  func convert(_ frame: Frame, _ alpha: AlphaMode, _ matrix: YCbCrMatrix, x: Int, y: Int) {
    let isDeep = frame.format.bitDepth > 8
    func address(_ plane: Int) -> UnsafePointer<UInt8>? {
      guard plane < frame.format.planeCount else { return nil }
      return frame.withPlane(plane) {
        ($0 + y * frame.stride(ofPlane: plane) + x * (isDeep ? 2 : 1)).assumingMemoryBound(to: UInt8.self)
      }
    }
    let strides = (0..<4).map { $0 < frame.format.planeCount ? frame.stride(ofPlane: $0) : 0 }
    let from = sheaf_yuva(
      plane: (address(0), address(1), address(2), address(3)), stride: (strides[0], strides[1], strides[2], strides[3]))
    let (width, height, isMultiplied) = (Int32(size.width), Int32(size.height), alpha == .premultiplied ? Int32(1) : 0)
    withExtendedLifetime(frame) {
      if isDeep {
        sheaf_rgba_from_yuva16(planes(), from, width, height, matrix.rgbMatrix, isMultiplied)
      } else {
        sheaf_rgba_from_yuva8(planes(), from, width, height, matrix.rgbMatrix, isMultiplied)
      }
    }
  }

  /// The same picture at another size. The planes are scaled one by one, multiplied by alpha, so that the colours of
  /// transparent pixels have no effect.
  func scaled(to target: PixelSize) throws(RenderError) -> RGBAPicture {
    let result = try RGBAPicture(target)
    try mapErrors(to: RenderError.during("scaling a picture with alpha")) { () throws(MediaError) in
      guard let gray = FrameFormat(name: "gray16le") else { return }
      let full = ColourTags(isFullRange: true)
      let scaler = try FrameScaler(
        from: FrameScaler.Side(size: size, format: gray, colour: full),
        to: FrameScaler.Side(size: target, format: gray, colour: full))
      let from = try Frame(size: size, format: gray, colour: full)
      let to = try Frame(size: target, format: gray, colour: full)
      for index in 0..<4 {
        let (fromStride, toStride) = (from.stride(ofPlane: 0), to.stride(ofPlane: 0))
        from.withMutablePlane(0) { base in
          sheaf_halve16(
            base.assumingMemoryBound(to: UInt16.self), fromStride, plane(index), stride, Int32(size.width),
            Int32(size.height))
        }
        try scaler.scale(from, into: to)
        to.withPlane(0) { base in
          for row in 0..<target.height {
            UnsafeMutableRawPointer(result.plane(index) + row * result.stride / 2)
              .copyMemory(from: base + row * toStride, byteCount: target.width * 2)
          }
        }
      }
    }
    sheaf_unhalve_rgba(result.planes(), Int32(target.width), Int32(target.height))
    return result
  }

  /// The smallest rectangle that has every pixel with coverage; nil if there is none.
  var covered: PixelRect? {
    var bounds: [Int32] = [0, 0, 0, 0]
    guard sheaf_bounds16(plane(3), stride, Int32(size.width), Int32(size.height), &bounds) != 0 else { return nil }
    return PixelRect(x: Int(bounds[0])..<Int(bounds[2]), y: Int(bounds[1])..<Int(bounds[3]))
  }

  /// A picture of `size` that shows a part of this one at (x, y) and is transparent elsewhere.
  func placed(_ part: PixelRect, x: Int, y: Int, in size: PixelSize) throws(RenderError) -> RGBAPicture {
    let whole = try RGBAPicture(size)
    for index in 0..<4 {
      for row in 0..<part.size.height {
        let from = plane(index) + (part.y + row) * stride / 2 + part.x
        let to = whole.plane(index) + (y + row) * whole.stride / 2 + x
        to.update(from: from, count: part.size.width)
      }
    }
    return whole
  }
}

/// Owned memory of 16-bit samples, zero at first.
final class SampleStorage {
  let base: UnsafeMutablePointer<UInt16>

  init(count: Int) throws(RenderError) {
    guard let memory = calloc(max(1, count), 2) else {
      throw RenderError(.infrastructure, "no memory for a picture of \(count) samples")
    }
    base = memory.bindMemory(to: UInt16.self, capacity: count)
  }

  /// Scratch memory of so many floats, for the time of a closure.
  static func withFloats(_ count: Int, _ body: (UnsafeMutablePointer<Float>) -> Void) throws(RenderError) {
    // Two samples are as long as a float.
    let storage = try SampleStorage(count: 2 * count)
    UnsafeMutableRawPointer(storage.base).withMemoryRebound(to: Float.self, capacity: count, body)
  }

  deinit {
    free(base)
  }
}

import CKernels
import CompositionModel
import Media
import RenderTasks

/// A preferred orientation as steps on a plane: rows become columns or not, each row is reversed or not, and the order
/// of rows is reversed where they are read or written.
struct OrientationSteps: Sendable, Hashable {
  let transposes: Bool
  let mirrors: Bool
  let readsUpwards: Bool
  let writesUpwards: Bool

  init(_ orientation: Orientation) {
    transposes = orientation.swapsAxes
    switch (orientation.clockwise, orientation.isMirrored) {
    case (90, false): (mirrors, readsUpwards, writesUpwards) = (false, true, false)
    case (90, true): (mirrors, readsUpwards, writesUpwards) = (false, true, true)
    case (270, false): (mirrors, readsUpwards, writesUpwards) = (false, false, true)
    case (180, false): (mirrors, readsUpwards, writesUpwards) = (true, true, false)
    case (180, true): (mirrors, readsUpwards, writesUpwards) = (false, true, false)
    case (_, let isMirrored):
      (mirrors, readsUpwards, writesUpwards) = (isMirrored && !transposes, false, false)
    }
  }

  /// Applies the steps to one plane of `size` pixels of `pixelBytes` bytes each. If axes swap, `to` has room for the
  /// swapped size. Strides are in bytes.
  func apply(
    from: UnsafePointer<UInt8>, fromStride: Int, size: PixelSize, pixelBytes: Int, to: UnsafeMutablePointer<UInt8>,
    toStride: Int
  ) {
    let rowsWritten = transposes ? size.width : size.height
    let source = readsUpwards ? from + (size.height - 1) * fromStride : from
    let target = writesUpwards ? to + (rowsWritten - 1) * toStride : to
    let (sourceStride, targetStride) = (readsUpwards ? -fromStride : fromStride, writesUpwards ? -toStride : toStride)
    let (width, height) = (Int32(size.width), Int32(size.height))
    let kernels = Kernels.best
    switch (transposes, mirrors, pixelBytes) {
    case (false, false, _):
      for row in 0..<size.height {
        (target + row * targetStride).update(from: source + row * sourceStride, count: size.width * pixelBytes)
      }
    case (true, _, 1): kernels.transpose8(target, targetStride, source, sourceStride, width, height)
    case (false, true, 1): kernels.mirror8(target, targetStride, source, sourceStride, width, height)
    case (_, _, 2):
      let (wideTarget, wideSource) = (UnsafeMutableRawPointer(target), UnsafeRawPointer(source))
      let kernel = transposes ? kernels.transpose16 : kernels.mirror16
      kernel?(
        wideTarget.assumingMemoryBound(to: UInt16.self), targetStride, wideSource.assumingMemoryBound(to: UInt16.self),
        sourceStride, width, height)
    case (true, _, _):
      sheaf_transpose_pixels(target, targetStride, source, sourceStride, width, height, Int32(pixelBytes))
    case (false, true, _):
      sheaf_mirror_pixels(target, targetStride, source, sourceStride, width, height, Int32(pixelBytes))
    }
  }
}

extension Orientation {
  /// The size of a stored picture once it is upright.
  func uprightSize(_ stored: PixelSize) -> PixelSize {
    swapsAxes ? PixelSize(width: stored.height, height: stored.width) : stored
  }
}

extension Frame {
  /// Writes a part, which starts on a chroma sample, plane by plane to a frame of the upright size.
  /// - Parameter pixelBytes: The bytes of a pixel in each plane of this frame's format; see
  ///   `FrameFormat.pixelBytes(swappingAxes:)`.
  func copyUpright(_ part: PixelRect, _ steps: OrientationSteps, pixelBytes: [Int], into target: Frame) {
    let shift = format.chromaShift
    for (plane, bytes) in pixelBytes.enumerated() {
      let isChroma = (plane == 1 || plane == 2) && !format.isRGB
      let (across, down) = isChroma ? (shift.horizontal, shift.vertical) : (0, 0)
      let size = PixelSize(width: -(-part.size.width >> across), height: -(-part.size.height >> down))
      let (fromStride, toStride) = (stride(ofPlane: plane), target.stride(ofPlane: plane))
      withPlane(plane) { from in
        target.withMutablePlane(plane) { to in
          let first = from + (part.y >> down) * fromStride + (part.x >> across) * bytes
          steps.apply(
            from: first.assumingMemoryBound(to: UInt8.self), fromStride: fromStride, size: size, pixelBytes: bytes,
            to: to.assumingMemoryBound(to: UInt8.self), toStride: toStride)
        }
      }
    }
  }
}

extension FrameFormat {
  /// Whether a part's first pixel is the first of a chroma sample.
  func startsOnChroma(_ part: PixelRect) -> Bool {
    part.x % (1 << chromaShift.horizontal) == 0 && part.y % (1 << chromaShift.vertical) == 0
  }

  /// Luma and chroma, with or without alpha.
  var isYCbCr: Bool { !isRGB && hasChroma && !name.hasPrefix("xyz") }

  /// The planar format of luma and chroma without subsampling, of the same depth or the next one that there is.
  var withFullChroma: FrameFormat {
    let name = hasAlpha ? "yuva444p" : "yuv444p"
    if bitDepth <= 8 { return FrameFormat(name: name) ?? self }
    return FrameFormat(name: "\(name)\(bitDepth)le") ?? FrameFormat(name: "\(name)16le") ?? self
  }

  /// A format without subsampling and of at least the same depth, whose frames can be oriented plane by plane.
  var orientable: FrameFormat {
    let depth = bitDepth
    let name =
      if isRGB { depth > 8 ? "rgba64le" : "rgba" } else if hasAlpha {
        depth > 10 ? "yuva444p16le" : depth > 8 ? "yuva444p10le" : "yuva444p"
      } else { depth > 12 ? "yuv444p16le" : depth > 10 ? "yuv444p12le" : depth > 8 ? "yuv444p10le" : "yuv444p" }
    return FrameFormat(name: name) ?? self
  }
}

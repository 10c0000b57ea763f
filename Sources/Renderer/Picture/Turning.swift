import CMedia
import CompositionModel

/// A preferred orientation as what is done to a plane: rows become columns or not, each row back to front or not, and
/// the rows in reverse order where they are read or written.
struct Turning: Sendable, Hashable {
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

  /// Turns one plane of `size` pixels of `pixelBytes` bytes each; where axes swap, `to` has room for the turned size.
  /// Strides are in bytes.
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

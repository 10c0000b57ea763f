internal import CKernels
internal import CMedia

/// Makes progressive frames of interlaced ones. `CKernels/deinterlace.c` has the method.
package enum Deinterlacer {
  /// The picture of `current` at the time of its first field, which is the first row's unless the frame is flagged
  /// otherwise, as a frame with the same timestamp, flags and tags.
  ///
  /// - Parameters:
  ///   - previous: The frame before in order of presentation. Nil before the first.
  ///   - next: The frame after; the last frame itself after the last. Without one of them, or if one has another size
  ///     or format, the picture is made from the first field alone.
  /// - Returns: `current` itself if its samples are not numbers of one or two whole bytes, as those of a palette are
  ///   not.
  package static func progressive(
    previous: Frame?, _ current: Frame, next: Frame
  ) throws(MediaError) -> Frame {
    guard let depth = current.format.sampleDepth else { return current }
    let around = [previous, next].compactMap(\.self).filter {
      $0.format == current.format && $0.size == current.size
    }
    let (before, after) = around.count == 2 ? (around[0], around[1]) : (nil, nil)
    let target = try Frame(size: current.size, format: current.format)
    try check(av_frame_copy_props(target.pointer, current.pointer), "deinterlacing", "a frame")
    target.pointer.pointee.interlaced_frame = 0
    let isTopFirst = !current.isInterlaced || current.pointer.pointee.top_field_first != 0
    for plane in 0..<current.format.planeCount {
      let (bytes, rows) = current.extent(ofPlane: plane)
      func stride(_ frame: Frame?) -> Int { frame.map { $0.stride(ofPlane: plane) } ?? 0 }
      func read(_ frame: Frame?, _ body: (UnsafeRawPointer?) -> Void) {
        if let frame { frame.withPlane(plane) { body($0) } } else { body(nil) }
      }
      read(before) { before8 in
        read(after) { after8 in
          current.withPlane(plane) { current8 in
            let fields = sheaf_fields(
              previous: before8, current: current8, next: after8, previous_stride: stride(before),
              current_stride: stride(current), next_stride: stride(after),
              width: Int32(depth > 8 ? bytes / 2 : bytes), height: Int32(rows), depth: Int32(depth),
              is_top_first: isTopFirst ? 1 : 0)
            target.withMutablePlane(plane) { sheaf_deinterlace($0, target.stride(ofPlane: plane), fields) }
          }
        }
      }
    }
    return target
  }
}

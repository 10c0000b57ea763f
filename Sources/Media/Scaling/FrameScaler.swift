internal import CMedia
package import CompositionModel

/// Converts and scales frames of one size and format to another with libswscale. The same input always gives the same
/// output.
package final class FrameScaler {
  /// One side of the conversion.
  package struct Side: Sendable, Hashable {
    package var size: PixelSize
    package var format: FrameFormat
    /// Only matrix and range matter. A matrix without a name is BT.601 for fewer than 720 rows, else BT.709.
    package var colour: ColourTags

    package init(size: PixelSize, format: FrameFormat, colour: ColourTags) {
      self.size = size
      self.format = format
      self.colour = colour
    }
  }

  private let context: OpaquePointer
  private let source: Side
  private let destination: Side
  private let operation: String
  /// A frame of the destination's size, for targets that libswscale may not write into directly.
  private var intermediate: Frame?

  /// Throws `.tooLarge` for sizes beyond `PixelSize.largestSide`, and `.unsupported` if libswscale has no such
  /// conversion.
  /// - Parameter hasFullChroma: Whether each pixel of packed RGB gets a chroma of its own, and not that of two.
  package init(
    from source: Side, to destination: Side, hasFullChroma: Bool = false
  ) throws(MediaError) {
    sheaf_log_capture()
    self.source = source
    self.destination = destination
    operation =
      "\(source.size.width)x\(source.size.height) \(source.format) to "
      + "\(destination.size.width)x\(destination.size.height) \(destination.format)"
    try source.size.check(operation)
    try destination.size.check(operation)
    guard sws_isSupportedInput(source.format.avFormat) > 0, sws_isSupportedOutput(destination.format.avFormat) > 0
    else {
      throw MediaError(
        .unsupported, operation: "scaling", subject: operation, message: "libswscale has no such conversion")
    }
    context = try allocated(sws_alloc_context(), "scaling \(operation)")
    // libswscale chooses its method when it is set up, so the ranges must be set before. Set later, they do not stop it
    // from copying pixels unchanged.
    let settings: [(name: String, value: Int)] = [
      ("srcw", source.size.width), ("srch", source.size.height), ("src_format", Int(source.format.rawValue)),
      ("src_range", source.isFullRange ? 1 : 0), ("dstw", destination.size.width), ("dsth", destination.size.height),
      ("dst_format", Int(destination.format.rawValue)), ("dst_range", destination.isFullRange ? 1 : 0),
      ("sws_flags", Int(FrameScaler.flags(source) | (hasFullChroma ? SWS_FULL_CHR_H_INT : 0))),
    ]
    for (name, value) in settings {
      try check(
        av_opt_set_int(UnsafeMutableRawPointer(context), name, Int64(value), 0), "setting \(name) of", operation)
    }
    try check(sws_init_context(context, nil, nil), "setting up", operation)
    let result = sws_setColorspaceDetails(
      context, sws_getCoefficients(source.swscaleMatrix), source.isFullRange ? 1 : 0,
      sws_getCoefficients(destination.swscaleMatrix), destination.isFullRange ? 1 : 0, 0, 1 << 16, 1 << 16)
    // A conversion from RGB to RGB has no matrix; libswscale reports an error if one is set.
    if result < 0, !(source.format.isRGB && destination.format.isRGB) {
      try check(result, "setting the colours of", operation)
    }
  }

  deinit {
    sws_freeContext(context)
  }

  private static func flags(_ source: Side) -> Int32 {
    var flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT
    // Computes chroma from every pixel of RGB; without it every second column is ignored.
    if source.format.isRGB { flags |= SWS_FULL_CHR_H_INP }
    return flags
  }

  /// Scales the part of `frame` that has the source's size and its top left at (`cropX`, `cropY`) into `target` with
  /// its top left at (`x`, `y`). Both places must lie on whole chroma samples. The rest of the target is unchanged.
  package func scale(
    _ frame: Frame, cropX: Int = 0, cropY: Int = 0, into target: Frame, x: Int = 0, y: Int = 0
  ) throws(MediaError) {
    try verify(frame, source, cropX, cropY)
    try verify(target, destination, x, y)
    if canBeWritten(target, x) {
      return try convert(PlaneAddresses(frame, x: cropX, y: cropY), to: PlaneAddresses(target, x: x, y: y))
    }
    let whole: Frame
    if let intermediate {
      whole = intermediate
    } else {
      whole = try Frame(size: destination.size, format: destination.format)
      intermediate = whole
    }
    try convert(PlaneAddresses(frame, x: cropX, y: cropY), to: PlaneAddresses(whole, x: 0, y: 0))
    copy(whole, into: target, x: x, y: y)
  }

  /// Whether libswscale may write directly into the target. It writes whole vectors, beyond a row's last pixel, which
  /// is harmless if the row ends with the target's: there they fall into the padding.
  private func canBeWritten(_ target: Frame, _ x: Int) -> Bool {
    if x + destination.size.width == target.size.width { return true }
    return (0..<destination.format.planeCount).allSatisfy { plane in
      let isChroma = (plane == 1 || plane == 2) && !destination.format.isRGB
      let width =
        isChroma ? destination.size.width >> destination.format.chromaShift.horizontal : destination.size.width
      return width * destination.format.pixelSteps[plane] % 64 == 0
    }
  }

  private func copy(_ whole: Frame, into target: Frame, x: Int, y: Int) {
    let written = PlaneAddresses(target, x: x, y: y)
    for plane in 0..<whole.format.planeCount {
      let (bytesPerRow, rows) = whole.extent(ofPlane: plane)
      let stride = (from: whole.stride(ofPlane: plane), to: target.stride(ofPlane: plane))
      guard let to = written.address(ofPlane: plane) else { continue }
      whole.withPlane(plane) { from in
        for row in 0..<rows {
          (to + row * stride.to).copyMemory(from: from + row * stride.from, byteCount: bytesPerRow)
        }
      }
    }
  }

  private func convert(_ read: PlaneAddresses, to written: PlaneAddresses) throws(MediaError) {
    var (read, written) = (read, written)
    let rows = read.withBytes { bytes, strides in
      written.withMutableBytes { targets, targetStrides in
        sws_scale(context, bytes, strides, 0, Int32(source.size.height), targets, targetStrides)
      }
    }
    guard Int(rows) == destination.size.height else {
      throw MediaError(averror: min(rows, -1), operation: "scaling", subject: operation)
    }
  }

  private func verify(_ frame: Frame, _ side: Side, _ x: Int, _ y: Int) throws(MediaError) {
    let (across, down) = side.format.chromaShift
    let isInside =
      x >= 0 && y >= 0 && x + side.size.width <= frame.size.width && y + side.size.height <= frame.size.height
    let isOnChroma = x % (1 << across) == 0 && y % (1 << down) == 0
    guard frame.format == side.format, isInside, isOnChroma else {
      throw MediaError(
        .invalidRequest, operation: "scaling", subject: operation,
        message: "a frame of \(frame.size.width)x\(frame.size.height) \(frame.format) at (\(x), \(y))")
    }
  }
}

extension FrameScaler.Side {
  /// The names of JPEG's formats and of RGB imply full range.
  fileprivate var isFullRange: Bool { colour.isFullRange || format.name.hasPrefix("yuvj") || format.isRGB }

  fileprivate var swscaleMatrix: Int32 {
    switch colour.matrix {
    case "bt709": SWS_CS_ITU709
    case "fcc": SWS_CS_FCC
    case "bt470bg", "smpte170m": SWS_CS_ITU601
    case "smpte240m": SWS_CS_SMPTE240M
    case "bt2020nc", "bt2020c": SWS_CS_BT2020
    default: size.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601
    }
  }
}

/// The addresses of a frame's planes from one of its pixels on, and their strides.
private struct PlaneAddresses {
  private var bytes: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
  private var strides: (Int32, Int32, Int32, Int32)

  init(_ frame: Frame, x: Int, y: Int) {
    let data = frame.pointer.pointee.data
    let lines = frame.pointer.pointee.linesize
    strides = (lines.0, lines.1, lines.2, lines.3)
    let steps = frame.format.pixelSteps
    let (across, down) = frame.format.chromaShift
    let isPaletted = frame.format.isPaletted
    func address(_ base: UnsafeMutablePointer<UInt8>?, _ plane: Int, _ stride: Int32) -> UnsafePointer<UInt8>? {
      guard let base, !(isPaletted && plane == 1) else { return base.map { UnsafePointer($0) } }
      let isChroma = (plane == 1 || plane == 2) && !frame.format.isRGB
      let row = isChroma ? y >> down : y
      let column = isChroma ? x >> across : x
      return UnsafePointer(base + row * Int(stride) + column * steps[plane])
    }
    bytes = (
      address(data.0, 0, lines.0), address(data.1, 1, lines.1), address(data.2, 2, lines.2), address(data.3, 3, lines.3)
    )
  }

  func address(ofPlane plane: Int) -> UnsafeMutableRawPointer? {
    let bytes = [bytes.0, bytes.1, bytes.2, bytes.3]
    return bytes[plane].map { UnsafeMutableRawPointer(mutating: $0) }
  }

  /// The addresses as libswscale takes them, for reading.
  mutating func withBytes<R>(
    _ body: (UnsafePointer<UnsafePointer<UInt8>?>, UnsafePointer<Int32>) -> R
  ) -> R {
    withUnsafePointer(to: &strides) { strides in
      withUnsafePointer(to: &bytes) { bytes in
        let strides = UnsafeRawPointer(strides).assumingMemoryBound(to: Int32.self)
        let bytes = UnsafeRawPointer(bytes).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        return body(bytes, strides)
      }
    }
  }

  /// The addresses as libswscale takes them, for writing.
  mutating func withMutableBytes<R>(
    _ body: (UnsafePointer<UnsafeMutablePointer<UInt8>?>, UnsafePointer<Int32>) -> R
  ) -> R {
    withBytes { (bytes: UnsafePointer<UnsafePointer<UInt8>?>, strides: UnsafePointer<Int32>) in
      body(UnsafeRawPointer(bytes).assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self), strides)
    }
  }
}

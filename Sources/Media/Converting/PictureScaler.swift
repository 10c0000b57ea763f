internal import CMedia
package import Composition

/// Converts and scales pictures of one size and format into another with libswscale, exactly alike on every run.
package final class PictureScaler {
  /// One side of the conversion.
  package struct Picture: Sendable, Hashable {
    package var size: PixelSize
    package var format: FrameFormat
    /// Matrix and range count; where the matrix is not named it is BT.601 for fewer than 720 rows, else BT.709.
    package var colour: ColourTags

    package init(size: PixelSize, format: FrameFormat, colour: ColourTags) {
      self.size = size
      self.format = format
      self.colour = colour
    }
  }

  private let context: OpaquePointer
  private let source: Picture
  private let destination: Picture
  private let operation: String

  package init(from source: Picture, to destination: Picture) throws(MediaError) {
    sheaf_log_capture()
    self.source = source
    self.destination = destination
    operation =
      "\(source.size.width)x\(source.size.height) \(source.format) to "
      + "\(destination.size.width)x\(destination.size.height) \(destination.format)"
    try PictureLimits.check(source.size, subject: operation)
    try PictureLimits.check(destination.size, subject: operation)
    guard sws_isSupportedInput(source.format.avFormat) > 0, sws_isSupportedOutput(destination.format.avFormat) > 0
    else {
      throw MediaError(
        .unsupported, operation: "scaling", subject: operation, message: "libswscale has no such conversion")
    }
    context = try allocated(sws_alloc_context(), "scaling \(operation)")
    let isResized = source.size != destination.size
    // The ranges too must be known when libswscale chooses its way: told later, it has taken a plain copy already.
    let settings: [(name: String, value: Int)] = [
      ("srcw", source.size.width), ("srch", source.size.height), ("src_format", Int(source.format.rawValue)),
      ("src_range", source.isFullRange ? 1 : 0), ("dstw", destination.size.width), ("dsth", destination.size.height),
      ("dst_format", Int(destination.format.rawValue)), ("dst_range", destination.isFullRange ? 1 : 0),
      ("sws_flags", Int(PictureScaler.flags(source, isResized: isResized))),
    ]
    for (name, value) in settings {
      try check(
        av_opt_set_int(UnsafeMutableRawPointer(context), name, Int64(value), 0), "setting \(name) of", operation)
    }
    try check(sws_init_context(context, nil, nil), "setting up", operation)
    let result = sws_setColorspaceDetails(
      context, sws_getCoefficients(source.swscaleMatrix), source.isFullRange ? 1 : 0,
      sws_getCoefficients(destination.swscaleMatrix), destination.isFullRange ? 1 : 0, 0, 1 << 16, 1 << 16)
    // A conversion without luma on either side has no matrix to set, and libswscale says so.
    if result < 0, !(source.format.isRGB && destination.format.isRGB) {
      try check(result, "setting the colours of", operation)
    }
  }

  deinit {
    sws_freeContext(context)
  }

  private static func flags(_ source: Picture, isResized: Bool) -> Int32 {
    var flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT
    // Chroma of every pixel: without it every second column of RGB is not looked at.
    if source.format.isRGB { flags |= SWS_FULL_CHR_H_INP }
    return flags
  }

  /// Scales the part of `frame` of the source's size whose top left is (`cropX`, `cropY`) — all of a frame of that size —
  /// into `target` with its top left at (`x`, `y`). Both places must lie on whole chroma samples. What is around it in
  /// the target stays as it was.
  package func scale(
    _ frame: Frame, cropX: Int = 0, cropY: Int = 0, into target: Frame, x: Int = 0, y: Int = 0
  ) throws(MediaError) {
    try verify(frame, source, cropX, cropY)
    try verify(target, destination, x, y)
    var read = PlaneAddresses(frame, x: cropX, y: cropY)
    var written = PlaneAddresses(target, x: x, y: y)
    let rows = read.withBytes { bytes, strides in
      written.withBytes { targets, targetStrides in
        sws_scale(context, bytes, strides, 0, Int32(source.size.height), targets, targetStrides)
      }
    }
    guard Int(rows) == destination.size.height else {
      throw MediaError(averror: min(rows, -1), operation: "scaling", subject: operation)
    }
  }

  private func verify(_ frame: Frame, _ side: Picture, _ x: Int, _ y: Int) throws(MediaError) {
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

extension PictureScaler.Picture {
  /// The formats of JPEG's range say so themselves.
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

/// Where a frame's planes begin, counted from a pixel that is not the first.
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

  /// The same addresses as libswscale takes them, to be read or to be written.
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

  mutating func withBytes<R>(
    _ body: (UnsafePointer<UnsafeMutablePointer<UInt8>?>, UnsafePointer<Int32>) -> R
  ) -> R {
    withBytes { (bytes: UnsafePointer<UnsafePointer<UInt8>?>, strides: UnsafePointer<Int32>) in
      body(UnsafeRawPointer(bytes).assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self), strides)
    }
  }
}

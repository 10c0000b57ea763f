internal import CMedia
package import CompositionModel

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
  /// The destination alone, for targets that it may not be written straight into.
  private var aside: Frame?

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
    guard fits(target, x) else {
      let aside: Frame
      if let made = self.aside {
        aside = made
      } else {
        aside = try Frame(size: destination.size, format: destination.format)
        self.aside = aside
      }
      try convert(PlaneAddresses(frame, x: cropX, y: cropY), to: PlaneAddresses(aside, x: 0, y: 0))
      return copy(aside, into: target, x: x, y: y)
    }
    try convert(PlaneAddresses(frame, x: cropX, y: cropY), to: PlaneAddresses(target, x: x, y: y))
  }

  /// Whether libswscale may write straight into the target. It fills whole vectors, beyond a row's last pixel: that is
  /// harmless where the row ends with the target's, whose padding takes it.
  private func fits(_ target: Frame, _ x: Int) -> Bool {
    if x + destination.size.width == target.size.width { return true }
    return (0..<destination.format.planeCount).allSatisfy { plane in
      let isChroma = (plane == 1 || plane == 2) && !destination.format.isRGB
      let width =
        isChroma ? destination.size.width >> destination.format.chromaShift.horizontal : destination.size.width
      return width * destination.format.pixelSteps[plane] % 64 == 0
    }
  }

  private func copy(_ aside: Frame, into target: Frame, x: Int, y: Int) {
    let written = PlaneAddresses(target, x: x, y: y)
    for plane in 0..<aside.format.planeCount {
      let (bytesPerRow, rows) = aside.extent(ofPlane: plane)
      let stride = (from: aside.stride(ofPlane: plane), to: target.stride(ofPlane: plane))
      guard let to = written.address(ofPlane: plane) else { continue }
      aside.withPlane(plane) { from in
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

internal import CMedia
package import CompositionModel

/// Converts and scales frames of one size and format to another with libswscale. The same input always gives the same
/// output. Chroma lies where each side says that it does.
package final class FrameScaler {
  /// One side of the conversion.
  package struct Side: Sendable, Hashable {
    package var size: PixelSize
    package var format: FrameFormat
    /// Only matrix and range matter. A matrix without a name is BT.601 for fewer than 720 rows, else BT.709.
    package var colour: ColourTags
    /// Where subsampled chroma lies.
    package var chromaSite: ChromaSite

    /// - Parameter chromaSite: Nil: that of the tags.
    package init(size: PixelSize, format: FrameFormat, colour: ColourTags, chromaSite: ChromaSite? = nil) {
      self.size = size
      self.format = format
      self.colour = colour
      self.chromaSite = chromaSite ?? ChromaSite(tag: colour.chromaLocation)
    }
  }

  private let source: Side
  private let destination: Side
  private let operation: String
  /// The conversion, or its two steps.
  private let first: ScalingStep
  private let second: ScalingStep?
  /// What the first of two steps gives.
  private var between: Frame?
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
    guard source.hasChroma, destination.hasChroma, source.swscaleMatrix != destination.swscaleMatrix,
      let format = FrameFormat(name: source.format.hasAlpha && destination.format.hasAlpha ? "gbrap12le" : "gbrp14le")
    else {
      first = try ScalingStep(from: source, to: destination, hasFullChroma: hasFullChroma, operation)
      second = nil
      return
    }
    // From one matrix to another by way of R'G'B', at the smaller of the two sizes. libswscale would do the same by
    // itself, but it forgets where chroma lies.
    func area(_ size: PixelSize) -> Int { size.width * size.height }
    let rgb = Side(
      size: area(source.size) > area(destination.size) ? destination.size : source.size, format: format,
      colour: ColourTags(isFullRange: true))
    first = try ScalingStep(from: source, to: rgb, hasFullChroma: true, operation)
    second = try ScalingStep(from: rgb, to: destination, hasFullChroma: false, operation)
    between = try Frame(size: rgb.size, format: rgb.format, colour: rgb.colour)
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
    guard let second, let between else { return try first.convert(read, to: written, operation) }
    try first.convert(read, to: PlaneAddresses(between, x: 0, y: 0), operation)
    try second.convert(PlaneAddresses(between, x: 0, y: 0), to: written, operation)
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

/// One conversion by libswscale.
private final class ScalingStep {
  private let context: OpaquePointer
  private let rows: (read: Int32, written: Int32)

  init(
    from source: FrameScaler.Side, to destination: FrameScaler.Side, hasFullChroma: Bool, _ operation: String
  ) throws(MediaError) {
    context = try allocated(sws_alloc_context(), "scaling \(operation)")
    rows = (Int32(source.size.height), Int32(destination.size.height))
    // libswscale chooses its method when it is set up, so the ranges must be set before. Set later, they do not stop it
    // from copying pixels unchanged.
    var settings: [(name: String, value: Int)] = [
      ("srcw", source.size.width), ("srch", source.size.height), ("src_format", Int(source.format.rawValue)),
      ("src_range", source.isFullRange ? 1 : 0), ("dstw", destination.size.width), ("dsth", destination.size.height),
      ("dst_format", Int(destination.format.rawValue)), ("dst_range", destination.isFullRange ? 1 : 0),
      ("sws_flags", Int(ScalingStep.flags(source) | (hasFullChroma ? SWS_FULL_CHR_H_INT : 0))),
    ]
    for (name, side) in [("src", source), ("dst", destination)] {
      let (across, down) = side.chromaShift
      if across > 0 { settings.append(("\(name)_h_chr_pos", side.chromaSite.across.swscalePosition(across))) }
      if down > 0 { settings.append(("\(name)_v_chr_pos", side.chromaSite.down.swscalePosition(down))) }
    }
    for (name, value) in settings {
      try check(
        av_opt_set_int(UnsafeMutableRawPointer(context), name, Int64(value), 0), "setting \(name) of", operation)
    }
    // A filter for chroma, which changes nothing, keeps libswscale from copying or averaging chroma as if it lay in the
    // usual place.
    let identity = source.movesChroma(to: destination) ? try ScalingStep.identity() : nil
    defer { sws_freeVec(identity) }
    var filter = SwsFilter(lumH: nil, lumV: nil, chrH: identity, chrV: nil)
    let result = identity == nil ? sws_init_context(context, nil, nil) : sws_init_context(context, &filter, nil)
    try check(result, "setting up", operation)
    // Without chroma on one side there is nothing to convert by matrices.
    let matrix = source.hasChroma ? source.swscaleMatrix : destination.swscaleMatrix
    let colours = sws_setColorspaceDetails(
      context, sws_getCoefficients(matrix), source.isFullRange ? 1 : 0,
      sws_getCoefficients(destination.hasChroma ? destination.swscaleMatrix : matrix),
      destination.isFullRange ? 1 : 0, 0, 1 << 16, 1 << 16)
    // A conversion from RGB to RGB has no matrix; libswscale reports an error if one is set.
    if colours < 0, !(source.format.isRGB && destination.format.isRGB) {
      try check(colours, "setting the colours of", operation)
    }
  }

  deinit {
    sws_freeContext(context)
  }

  private static func flags(_ source: FrameScaler.Side) -> Int32 {
    var flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT
    // Computes chroma from every pixel of RGB; without it every second column is ignored.
    if source.format.isRGB { flags |= SWS_FULL_CHR_H_INP }
    return flags
  }

  private static func identity() throws(MediaError) -> UnsafeMutablePointer<SwsVector> {
    let vector = try allocated(sws_allocVec(3), "scaling")
    for (index, weight) in [0.0, 1, 0].enumerated() { vector.pointee.coeff[index] = weight }
    return vector
  }

  func convert(_ read: PlaneAddresses, to written: PlaneAddresses, _ operation: String) throws(MediaError) {
    var (read, written) = (read, written)
    let count = read.withBytes { bytes, strides in
      written.withMutableBytes { targets, targetStrides in
        sws_scale(context, bytes, strides, 0, rows.read, targets, targetStrides)
      }
    }
    guard count == rows.written else {
      throw MediaError(averror: min(count, -1), operation: "scaling", subject: operation)
    }
  }
}

extension ChromaSite.Place {
  /// In 1/256 of a pixel from the middle of the first pixel of a cell of 2^shift.
  fileprivate func swscalePosition(_ shift: Int) -> Int { Int((distance(in: 1 << shift) - 0.5) * 256) }
}

extension FrameScaler.Side {
  /// Luma and chroma.
  fileprivate var hasChroma: Bool { !format.isRGB && format.hasChroma }

  fileprivate var chromaShift: (horizontal: Int, vertical: Int) { hasChroma ? format.chromaShift : (0, 0) }

  /// Whether chroma samples lie elsewhere although no side is scaled: what libswscale's methods for frames of one size
  /// do not do.
  fileprivate func movesChroma(to other: FrameScaler.Side) -> Bool {
    guard size == other.size, hasChroma, other.hasChroma else { return false }
    let (from, to) = (chromaShift, other.chromaShift)
    func moves(_ from: Int, _ to: Int, _ place: ChromaSite.Place, _ otherPlace: ChromaSite.Place) -> Bool {
      from == to ? from > 0 && place != otherPlace : (from > 0 ? place : otherPlace) != .middle
    }
    return moves(from.horizontal, to.horizontal, chromaSite.across, other.chromaSite.across)
      || moves(from.vertical, to.vertical, chromaSite.down, other.chromaSite.down)
  }

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

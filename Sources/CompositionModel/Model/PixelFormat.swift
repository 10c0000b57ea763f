/// The pixel formats that frames are composited and encoded in: planar Y'CbCr. The raw value is the name in documents.
public enum PixelFormat: String, Sendable, Hashable, Codable, CaseIterable {
  case yuv420p, yuv422p, yuv444p, yuv420p10, yuv422p10, yuv444p10

  /// Formats of the document's language that this version cannot composite in.
  package static let notYet = ["gray", "rgb24", "gbrp", "yuva420p"]

  /// Bits a component: 8 or 10.
  public var bitDepth: Int {
    switch self {
    case .yuv420p, .yuv422p, .yuv444p: 8
    case .yuv420p10, .yuv422p10, .yuv444p10: 10
    }
  }

  /// The format with 10 bits and the same subsampling.
  var deep: PixelFormat {
    switch self {
    case .yuv420p, .yuv420p10: .yuv420p10
    case .yuv422p, .yuv422p10: .yuv422p10
    case .yuv444p, .yuv444p10: .yuv444p10
    }
  }

  /// The powers of two by which chroma planes are narrower and lower than the luma plane.
  public var chromaShift: (horizontal: Int, vertical: Int) {
    switch self {
    case .yuv420p, .yuv420p10: (1, 1)
    case .yuv422p, .yuv422p10: (1, 0)
    case .yuv444p, .yuv444p10: (0, 0)
    }
  }
}

extension PixelSize {
  /// The size in which pictures of this size, which have square pixels, are stored with pixels of a shape: as high, and
  /// the nearest width that the pixel format has.
  /// - Parameter aspect: Nil: square.
  package func stored(with aspect: AspectRatio?, as format: PixelFormat) -> PixelSize {
    guard let aspect else { return self }
    return PixelSize(width: format.width(nearest: width, aspect.vertical, aspect.horizontal), height: height)
  }
}

extension PixelFormat {
  /// The nearest width that can be stored to `length · numerator / denominator`, which are positive; in pixels.
  package func width(nearest length: Int, _ numerator: Int, _ denominator: Int) -> Int {
    Self.multiple(of: 1 << chromaShift.horizontal, nearest: length, numerator, denominator)
  }

  /// The nearest height, in the same way.
  package func height(nearest length: Int, _ numerator: Int, _ denominator: Int) -> Int {
    Self.multiple(of: 1 << chromaShift.vertical, nearest: length, numerator, denominator)
  }

  private static func multiple(of step: Int, nearest length: Int, _ numerator: Int, _ denominator: Int) -> Int {
    // Numbers of a payload may be of any size.
    let (step, denominator) = (Int128(step), Int128(denominator))
    let nearest = (2 * Int128(length) * Int128(numerator) + denominator * step) / (2 * denominator * step) * step
    return Int(clamping: max(step, nearest))
  }
}

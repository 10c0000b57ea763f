public import CompositionModel

/// The arrangement of a picture's samples in memory: Core Video's pixel format types.
public enum PixelFormatType: Sendable, Hashable, CaseIterable {
  /// Bytes of blue, green, red and alpha in one plane: `kCVPixelFormatType_32BGRA`.
  case bgra32
  /// Bytes of alpha, red, green and blue in one plane: `kCVPixelFormatType_32ARGB`.
  case argb32
  /// Bytes of red, green, blue and alpha in one plane: `kCVPixelFormatType_32RGBA`.
  case rgba32
  /// Bytes of alpha, blue, green and red in one plane: `kCVPixelFormatType_32ABGR`.
  case abgr32
  /// Bytes of red, green and blue in one plane: `kCVPixelFormatType_24RGB`.
  case rgb24
  /// Bytes of blue, green and red in one plane: `kCVPixelFormatType_24BGR`.
  case bgr24
  /// 8-bit 4:2:0 in planes of Y', Cb and Cr, of video range: `kCVPixelFormatType_420YpCbCr8Planar`.
  case yuv420Planar8VideoRange
  /// 8-bit 4:2:0 in planes of Y', Cb and Cr, of full range: `kCVPixelFormatType_420YpCbCr8PlanarFullRange`.
  case yuv420Planar8FullRange
  /// 8-bit 4:2:0 in planes of Y' and of Cb with Cr, of video range: `kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange`,
  /// NV12.
  case yuv420BiPlanar8VideoRange
  /// 8-bit 4:2:0 in planes of Y' and of Cb with Cr, of full range: `kCVPixelFormatType_420YpCbCr8BiPlanarFullRange`.
  case yuv420BiPlanar8FullRange
  /// 8-bit 4:2:2 in one plane, in the order Cb Y' Cr Y', of video range: `kCVPixelFormatType_422YpCbCr8`, UYVY.
  case yuv422UYVY
  /// 8-bit 4:2:2 in one plane, in the order Y' Cb Y' Cr, of video range: `kCVPixelFormatType_422YpCbCr8_yuvs`, YUY2.
  case yuv422YUYV
  /// 10-bit 4:2:0 in planes of Y' and of Cb with Cr, of video range:
  /// `kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange`, P010. A sample has the 10 highest of 16 bits, the lower byte
  /// first.
  case yuv420BiPlanar10VideoRange
  /// The same of full range: `kCVPixelFormatType_420YpCbCr10BiPlanarFullRange`.
  case yuv420BiPlanar10FullRange
  /// The same of 4:2:2 and video range: `kCVPixelFormatType_422YpCbCr10BiPlanarVideoRange`, P210.
  case yuv422BiPlanar10VideoRange
  /// The same of 4:4:4 and video range: `kCVPixelFormatType_444YpCbCr10BiPlanarVideoRange`, P410.
  case yuv444BiPlanar10VideoRange

  /// libavutil's name of the arrangement.
  var frameFormat: String {
    switch self {
    case .bgra32: "bgra"
    case .argb32: "argb"
    case .rgba32: "rgba"
    case .abgr32: "abgr"
    case .rgb24: "rgb24"
    case .bgr24: "bgr24"
    case .yuv420Planar8VideoRange, .yuv420Planar8FullRange: "yuv420p"
    case .yuv420BiPlanar8VideoRange, .yuv420BiPlanar8FullRange: "nv12"
    case .yuv422UYVY: "uyvy422"
    case .yuv422YUYV: "yuyv422"
    case .yuv420BiPlanar10VideoRange, .yuv420BiPlanar10FullRange: "p010le"
    case .yuv422BiPlanar10VideoRange: "p210le"
    case .yuv444BiPlanar10VideoRange: "p410le"
    }
  }

  /// Whether all codes are used: always of red, green and blue.
  var isFullRange: Bool {
    switch self {
    case .bgra32, .argb32, .rgba32, .abgr32, .rgb24, .bgr24: true
    case .yuv420Planar8FullRange, .yuv420BiPlanar8FullRange, .yuv420BiPlanar10FullRange: true
    case .yuv420Planar8VideoRange, .yuv420BiPlanar8VideoRange, .yuv422UYVY, .yuv422YUYV: false
    case .yuv420BiPlanar10VideoRange, .yuv422BiPlanar10VideoRange, .yuv444BiPlanar10VideoRange: false
    }
  }
}

/// How pictures are read: the `outputSettings` of AVFoundation's video outputs.
///
/// Y'CbCr becomes red, green and blue by the matrix and the range of the pictures; where a file has no tag, the matrix
/// is that of BT.709 from 720 rows on, and of BT.601 below. Primaries and transfer function stay as they are. Alpha is
/// as it is stored, not multiplied into the colours, and opaque where there is none; formats without alpha leave it
/// out.
public struct VideoOutputSettings: Sendable, Hashable {
  /// `kCVPixelBufferPixelFormatTypeKey`. Nil: the pictures are not converted, and `ImageBuffer.formatName` has the name
  /// of what the decoder gives; only indices into a palette become colours.
  public var pixelFormat: PixelFormatType?
  /// `kCVPixelBufferWidthKey` and `kCVPixelBufferHeightKey`: pictures are scaled to it, whatever their shape. Nil:
  /// their own.
  public var size: PixelSize?

  /// - Parameters:
  ///   - pixelFormat: The arrangement of the samples. Nil: that of the pictures.
  ///   - size: The size to which pictures are scaled, in pixels. Nil: their own.
  public init(pixelFormat: PixelFormatType? = nil, size: PixelSize? = nil) {
    self.pixelFormat = pixelFormat
    self.size = size
  }

  func check() throws(SheafError) {
    guard let size else { return }
    let sides = 1...PixelSize.largestSide
    guard sides.contains(size.width), sides.contains(size.height) else {
      throw SheafError(
        .misuse, "pictures of \(size.width)x\(size.height); each side is 1 to \(PixelSize.largestSide) pixels")
    }
  }
}

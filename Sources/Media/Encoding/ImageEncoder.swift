internal import CMedia
package import CompositionModel

/// Encodes pictures, each as a file of its own.
package final class ImageEncoder {
  /// The format and the colours of the frames that it takes.
  package let format: FrameFormat
  package let colour: ColourTags
  private let encoder: Encoder
  private let size: PixelSize
  /// In libavcodec's units; nil if the encoder has an option of its own.
  private let globalQuality: Int32?
  private var count: Int64 = 0

  /// From this quality on JPEG keeps the chroma of every pixel.
  private static let fullChroma = 91

  /// - Parameters:
  ///   - quality: Within `ImageFormat.qualities`; without effect on PNG.
  ///   - hasAlpha: Whether the pictures may have transparent pixels. Without effect on JPEG.
  package init(_ image: ImageFormat, quality: Int, size: PixelSize, hasAlpha: Bool) throws(MediaError) {
    self.size = size
    guard size.width <= image.largestSide, size.height <= image.largestSide else {
      throw MediaError(
        .tooLarge, operation: "encoding", subject: image.rawValue,
        message: "a picture of \(size.width)x\(size.height); each side must be 1 to \(image.largestSide)")
    }
    let (name, pixels): (String, String)
    var options: [(key: String, value: String)] = []
    var globalQuality: Int32?
    var colour = ColourTags(isFullRange: true)
    switch image {
    case .png:
      (name, pixels) = ("png", hasAlpha ? "rgba" : "rgb24")
      options = [("pred", "mixed"), ("compression_level", "4")]
    case .jpeg:
      (name, pixels) = ("mjpeg", quality >= Self.fullChroma ? "yuvj444p" : "yuvj420p")
      // JFIF.
      colour.matrix = "bt470bg"
      colour.chromaLocation = "center"
      // From 1, the best of its quantisers, to 31.
      let quantiser = 1 + 30 * Double(ImageFormat.qualities.upperBound - quality) / 99
      globalQuality = Int32((quantiser * Double(FF_QP2LAMBDA)).rounded())
    case .webp:
      (name, pixels) = ("libwebp", "bgra")
      let isLossless = quality == ImageFormat.qualities.upperBound
      options = [("quality", "\(quality)"), ("lossless", isLossless ? "1" : "0")]
    }
    guard let format = FrameFormat(name: pixels) else {
      throw MediaError(
        .unsupported, operation: "encoding", subject: image.rawValue, message: "libavutil has no format \(pixels)")
    }
    (self.format, self.colour, self.globalQuality) = (format, colour, globalQuality)
    encoder = try Encoder(name)
    let context = encoder.context
    context.pointee.width = Int32(size.width)
    context.pointee.height = Int32(size.height)
    context.pointee.pix_fmt = format.avFormat
    context.pointee.time_base = AVRational(num: 1, den: 1)
    if image == .jpeg {
      context.pointee.color_range = AVCOL_RANGE_JPEG
      context.pointee.flags |= AV_CODEC_FLAG_QSCALE
      context.pointee.qmin = 1
    }
    if let globalQuality { context.pointee.global_quality = globalQuality }
    try encoder.open(options)
  }

  /// The file of a frame, which must have the encoder's size and format.
  package func file(of frame: Frame) throws(MediaError) -> [UInt8] {
    guard frame.size == size, frame.format == format else {
      throw MediaError(
        .invalidRequest, operation: "encoding with", subject: encoder.name,
        message: "a frame of \(frame.size.width)x\(frame.size.height) \(frame.format) where "
          + "\(size.width)x\(size.height) \(format) is encoded")
    }
    let sent = try frame.reference()
    // It refuses a time that it has had.
    sent.pts = count
    count += 1
    if let globalQuality { sent.pointer.pointee.quality = globalQuality }
    try encoder.send(sent)
    guard let packet = try encoder.receive() else {
      throw MediaError(
        .unsupported, operation: "encoding with", subject: encoder.name, message: "it returned no picture")
    }
    return packet.withBytes { [UInt8]($0) }
  }
}

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
      // libswscale spreads the pixels of an odd row or column evenly over its chroma samples, of which the last is for
      // half as many: the chroma would be up to a pixel away from its place.
      let isOdd = size.width % 2 == 1 || size.height % 2 == 1
      (name, pixels) = ("mjpeg", quality >= Self.fullChroma || isOdd ? "yuvj444p" : "yuvj420p")
      // JFIF.
      colour.matrix = "bt470bg"
      colour.chromaLocation = "center"
      // With this quantiser libavcodec takes the numbers of the tables as they are.
      globalQuality = 8 * FF_QP2LAMBDA
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
      // The context frees them.
      context.pointee.intra_matrix = try JPEGTables.allocate(JPEGTables.luma, quality: quality)
      context.pointee.chroma_intra_matrix = try JPEGTables.allocate(JPEGTables.chroma, quality: quality)
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

/// The quantisers of JPEG's coefficients for a quality from 1 to 100, as the Independent JPEG Group's encoder computes
/// them from the tables of the standard's annex K (ITU-T T.81). libavcodec quantises the mean of a block by 8 whatever
/// they say.
private enum JPEGTables {
  static let luma: [Int] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
  ]
  static let chroma: [Int] =
    [17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66]
    + Array(repeating: 99, count: 38)

  static func allocate(_ table: [Int], quality: Int) throws(MediaError) -> UnsafeMutablePointer<UInt16> {
    let percent = quality < 50 ? 5000 / quality : 200 - 2 * quality
    let bytes = try allocated(av_malloc(table.count * MemoryLayout<UInt16>.size), "opening the encoder of JPEG")
    let numbers = bytes.bindMemory(to: UInt16.self, capacity: table.count)
    for (index, number) in table.enumerated() {
      numbers[index] = UInt16(min(255, max(1, (number * percent + 50) / 100)))
    }
    return numbers
  }
}

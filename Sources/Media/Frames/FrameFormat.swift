internal import CMedia
package import CompositionModel

/// How the pixels of a frame lie in memory: one of libavutil's pixel formats.
package struct FrameFormat: Sendable, Hashable, CustomStringConvertible {
  let rawValue: Int32

  init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// By libavutil's name, such as `yuv420p10le` or `rgba`; nil where there is no such format.
  package init?(name: String) {
    let format = av_get_pix_fmt(name)
    guard format.rawValue != sheaf_pixel_format_none else { return nil }
    rawValue = format.rawValue
  }

  /// One of the formats that compositing works in, in this machine's byte order; with a fourth plane of alpha if asked.
  package init(_ format: PixelFormat, alpha: Bool = false) {
    let value =
      switch (format, alpha) {
      case (.yuv420p, false): AV_PIX_FMT_YUV420P
      case (.yuv422p, false): AV_PIX_FMT_YUV422P
      case (.yuv444p, false): AV_PIX_FMT_YUV444P
      case (.yuv420p10, false): sheaf_pixel_format_yuv420p10
      case (.yuv422p10, false): sheaf_pixel_format_yuv422p10
      case (.yuv444p10, false): sheaf_pixel_format_yuv444p10
      case (.yuv420p, true): AV_PIX_FMT_YUVA420P
      case (.yuv422p, true): AV_PIX_FMT_YUVA422P
      case (.yuv444p, true): AV_PIX_FMT_YUVA444P
      case (.yuv420p10, true): sheaf_pixel_format_yuva420p10
      case (.yuv422p10, true): sheaf_pixel_format_yuva422p10
      case (.yuv444p10, true): sheaf_pixel_format_yuva444p10
      }
    rawValue = value.rawValue
  }

  /// Packed 8-bit red, green, blue and straight alpha.
  package static let rgba = FrameFormat(rawValue: AV_PIX_FMT_RGBA.rawValue)
  /// One plane of 8 bits, full range.
  package static let gray = FrameFormat(rawValue: AV_PIX_FMT_GRAY8.rawValue)

  var avFormat: AVPixelFormat { AVPixelFormat(rawValue: rawValue) }

  private var descriptor: AVPixFmtDescriptor? { av_pix_fmt_desc_get(avFormat)?.pointee }

  /// libavutil's name.
  package var name: String { av_get_pix_fmt_name(avFormat).map { String(cString: $0) } ?? "none" }
  package var description: String { name }

  /// Bits of the deepest component; 8 to 16 for what can be composited.
  package var bitDepth: Int {
    guard let descriptor else { return 0 }
    let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
    return components.prefix(Int(descriptor.nb_components)).map { Int($0.depth) }.max() ?? 0
  }

  package var hasAlpha: Bool { has(AV_PIX_FMT_FLAG_ALPHA) || has(AV_PIX_FMT_FLAG_PAL) }
  /// Red, green and blue, or a palette of them; else luma with or without chroma.
  package var isRGB: Bool { has(AV_PIX_FMT_FLAG_RGB) || has(AV_PIX_FMT_FLAG_PAL) }
  package var planeCount: Int { max(0, Int(av_pix_fmt_count_planes(avFormat))) }

  /// Powers of two by which chroma planes are narrower and lower than luma.
  package var chromaShift: (horizontal: Int, vertical: Int) {
    (Int(descriptor?.log2_chroma_w ?? 0), Int(descriptor?.log2_chroma_h ?? 0))
  }

  /// Whether pixels are indices into a palette, which is the second plane.
  var isPaletted: Bool { has(AV_PIX_FMT_FLAG_PAL) }

  /// Bytes from one pixel to the next in each plane; 0 where a pixel is less than a byte.
  var pixelSteps: [Int] {
    guard let descriptor, !has(AV_PIX_FMT_FLAG_BITSTREAM) else { return [0, 0, 0, 0] }
    var steps = [0, 0, 0, 0]
    let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
    for component in components.prefix(Int(descriptor.nb_components)) where (0..<4).contains(Int(component.plane)) {
      // The least: in packed 4:2:2 a luma sample lies every two bytes, a chroma sample every four.
      let step = Int(component.step)
      let plane = Int(component.plane)
      steps[plane] = steps[plane] == 0 ? step : min(steps[plane], step)
    }
    return steps
  }

  private func has(_ flag: Int32) -> Bool { (descriptor?.flags ?? 0) & UInt64(flag) != 0 }
}

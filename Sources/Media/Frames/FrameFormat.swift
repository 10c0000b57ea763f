internal import CMedia
package import CompositionModel

/// The memory layout of a frame's pixels: one of libavutil's pixel formats.
package struct FrameFormat: Sendable, Hashable, CustomStringConvertible {
  let rawValue: Int32

  init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// By libavutil's name, such as `yuv420p10le` or `rgba`; nil if there is no such format.
  package init?(name: String) {
    let format = av_get_pix_fmt(name)
    guard format.rawValue != sheaf_pixel_format_none else { return nil }
    rawValue = format.rawValue
  }

  /// A format that frames are composited in, in this machine's byte order.
  package init(_ format: PixelFormat) {
    let value =
      switch format {
      case .yuv420p: AV_PIX_FMT_YUV420P
      case .yuv422p: AV_PIX_FMT_YUV422P
      case .yuv444p: AV_PIX_FMT_YUV444P
      case .yuv420p10: sheaf_pixel_format_yuv420p10
      case .yuv422p10: sheaf_pixel_format_yuv422p10
      case .yuv444p10: sheaf_pixel_format_yuv444p10
      }
    rawValue = value.rawValue
  }

  var avFormat: AVPixelFormat { AVPixelFormat(rawValue: rawValue) }

  private var descriptor: AVPixFmtDescriptor? { av_pix_fmt_desc_get(avFormat)?.pointee }

  private var components: ArraySlice<AVComponentDescriptor> {
    guard let descriptor else { return [] }
    let all = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
    return all.prefix(Int(descriptor.nb_components))
  }

  /// libavutil's name.
  package var name: String { av_get_pix_fmt_name(avFormat).map { String(cString: $0) } ?? "none" }
  package var description: String { name }

  /// For a format of JPEG's, which has the full range and is otherwise one that has not, that one's name. Else nil.
  var nameWithoutRange: String? { name.hasPrefix("yuvj") ? "yuv" + name.dropFirst(4) : nil }

  /// Bits of the deepest component; 8 to 16 for formats that can be composited.
  package var bitDepth: Int {
    components.map { Int($0.depth) }.max() ?? 0
  }

  package var hasAlpha: Bool { has(AV_PIX_FMT_FLAG_ALPHA) || has(AV_PIX_FMT_FLAG_PAL) }
  /// Red, green and blue, or a palette of them; else luma with or without chroma.
  package var isRGB: Bool { has(AV_PIX_FMT_FLAG_RGB) || has(AV_PIX_FMT_FLAG_PAL) }
  /// Whether there are two samples of colour besides luma, or red, green and blue.
  package var hasChroma: Bool { components.count - (has(AV_PIX_FMT_FLAG_ALPHA) ? 1 : 0) >= 3 }
  package var planeCount: Int { max(0, Int(av_pix_fmt_count_planes(avFormat))) }

  /// The binary logarithms of how much narrower and lower the chroma planes are than luma.
  package var chromaShift: (horizontal: Int, vertical: Int) {
    (Int(descriptor?.log2_chroma_w ?? 0), Int(descriptor?.log2_chroma_h ?? 0))
  }

  /// Whether pixels are indices into a palette, which is the second plane.
  var isPaletted: Bool { has(AV_PIX_FMT_FLAG_PAL) }

  /// Bytes from one pixel to the next in each plane; 0 if a pixel is less than a byte.
  var pixelSteps: [Int] {
    guard !has(AV_PIX_FMT_FLAG_BITSTREAM) else { return [0, 0, 0, 0] }
    var steps = [0, 0, 0, 0]
    for component in components where (0..<4).contains(Int(component.plane)) {
      // The smallest: packed 4:2:2 has a luma sample every two bytes and a chroma sample every four.
      let step = Int(component.step)
      let plane = Int(component.plane)
      steps[plane] = steps[plane] == 0 ? step : min(steps[plane], step)
    }
    return steps
  }

  /// The depth of the samples if each is a number of one byte, or of two with the least significant first; 16 if a
  /// number does not start at the lowest bit. Else nil.
  var sampleDepth: Int? {
    guard !has(AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT)
    else { return nil }
    let depths = Set(components.map { Int($0.depth) })
    guard let depth = depths.first, depths.count == 1 else { return nil }
    if depth == 8 { return components.allSatisfy { $0.shift == 0 } ? 8 : nil }
    // Two components in one number, as 15 bits of red, green and blue are.
    let areWords = components.allSatisfy { $0.step % 2 == 0 && $0.offset % 2 == 0 }
    guard depth > 8, depth <= 16, !has(AV_PIX_FMT_FLAG_BE), areWords
    else { return nil }
    return components.allSatisfy { $0.shift == 0 } ? depth : 16
  }

  /// The depth of the samples if each component has a plane of its own, of numbers as `sampleDepth` has them. Else nil.
  package var planarDepth: Int? { planeCount == components.count ? sampleDepth : nil }

  /// For each plane the bytes of one pixel, if the frame can be rotated and mirrored plane by plane: every plane holds
  /// whole pixels of whole bytes and, if `swappingAxes`, chroma has the same subsampling across and down. Else nil.
  package func pixelBytes(swappingAxes: Bool) -> [Int]? {
    guard let descriptor, !has(AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL),
      !swappingAxes || descriptor.log2_chroma_w == descriptor.log2_chroma_h
    else { return nil }
    var bytes = [Int](repeating: 0, count: planeCount)
    for component in components {
      let (plane, step) = (Int(component.plane), Int(component.step))
      guard bytes.indices.contains(plane), bytes[plane] == 0 || bytes[plane] == step else { return nil }
      bytes[plane] = step
    }
    // Luma and subsampled chroma in one plane: two pixels share their bytes.
    let isPacked = Set(components.map(\.plane)).count == 1 && components.count > 1
    if isPacked, descriptor.log2_chroma_w > 0 { return nil }
    return bytes.allSatisfy { (1...8).contains($0) } ? bytes : nil
  }

  /// Whether any of these flags is set.
  private func has(_ flag: Int32) -> Bool { (descriptor?.flags ?? 0) & UInt64(flag) != 0 }
}

extension ColourTags {
  /// From libavutil's numbers; nil for "unspecified" and "reserved".
  init(
    primaries: AVColorPrimaries, transfer: AVColorTransferCharacteristic, matrix: AVColorSpace, range: AVColorRange,
    location: AVChromaLocation
  ) {
    self.init(
      primaries: primaries == AVCOL_PRI_UNSPECIFIED ? nil : named(av_color_primaries_name(primaries)),
      transfer: transfer == AVCOL_TRC_UNSPECIFIED ? nil : named(av_color_transfer_name(transfer)),
      matrix: matrix == AVCOL_SPC_UNSPECIFIED ? nil : named(av_color_space_name(matrix)),
      isFullRange: range == AVCOL_RANGE_JPEG,
      chromaLocation: location == AVCHROMA_LOC_UNSPECIFIED ? nil : named(av_chroma_location_name(location)))
  }
}

private func named(_ name: UnsafePointer<CChar>?) -> String? {
  name.map { String(cString: $0) }.flatMap { $0 == "reserved" ? nil : $0 }
}

/// `ColourTags` as libavutil's numbers; a name that libavutil does not have is "unspecified".
struct ColourNumbers {
  let primaries: AVColorPrimaries
  let transfer: AVColorTransferCharacteristic
  let matrix: AVColorSpace
  let range: AVColorRange
  let location: AVChromaLocation

  init(_ tags: ColourTags) {
    primaries =
      number(tags.primaries, av_color_primaries_from_name).map { AVColorPrimaries(UInt32($0)) }
      ?? AVCOL_PRI_UNSPECIFIED
    transfer =
      number(tags.transfer, av_color_transfer_from_name).map { AVColorTransferCharacteristic(UInt32($0)) }
      ?? AVCOL_TRC_UNSPECIFIED
    matrix = number(tags.matrix, av_color_space_from_name).map { AVColorSpace(UInt32($0)) } ?? AVCOL_SPC_UNSPECIFIED
    range = tags.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    location =
      number(tags.chromaLocation, av_chroma_location_from_name).map { AVChromaLocation(UInt32($0)) }
      ?? AVCHROMA_LOC_UNSPECIFIED
  }
}

private func number(_ name: String?, _ find: (UnsafePointer<CChar>?) -> Int32) -> Int32? {
  guard let name else { return nil }
  let value = find(name)
  return value < 0 ? nil : value
}

import CMedia
import CompositionModel
import Media

extension Frame {
  /// The planes of a frame in one of the composition's formats, to be read.
  func withPlanes<R>(_ body: (Planes) throws(RenderError) -> R) throws(RenderError) -> R {
    try withPlanes(isWritten: false, body)
  }

  /// The planes of a frame that nothing shares, to be drawn on.
  func withMutablePlanes<R>(_ body: (Planes) throws(RenderError) -> R) throws(RenderError) -> R {
    try withPlanes(isWritten: true, body)
  }

  private func withPlanes<R>(
    isWritten: Bool, _ body: (Planes) throws(RenderError) -> R
  ) throws(RenderError) -> R {
    guard let format = PixelFormat.allCases.first(where: { FrameFormat($0) == self.format }) else {
      throw RenderError(.task, "a \(self.format) frame can't be composited; frames are converted first")
    }
    func lend(_ index: Int, _ body: (Plane) -> Result<R, RenderError>) -> Result<R, RenderError> {
      let stride = stride(ofPlane: index)
      return isWritten
        ? withMutablePlane(index) { body(Plane(base: $0, stride: stride)) }
        : withPlane(index) { body(Plane(base: UnsafeMutableRawPointer(mutating: $0), stride: stride)) }
    }
    return try lend(0) { luma in
      lend(1) { cb in
        lend(2) { cr in
          let planes = Planes(luma: luma, cb: cb, cr: cr, format: format)
          return Result { () throws(RenderError) in try body(planes) }
        }
      }
    }.get()
  }
}

extension Frame {
  /// Turns a part, which starts on a chroma sample, plane by plane into a frame of the turned size.
  func turn(_ part: PixelRect, with turning: Turning, pixelBytes: [Int], into target: Frame) {
    let shift = format.chromaShift
    for (plane, bytes) in pixelBytes.enumerated() {
      let isChroma = (plane == 1 || plane == 2) && !format.isRGB
      let (across, down) = isChroma ? (shift.horizontal, shift.vertical) : (0, 0)
      let size = PixelSize(width: -(-part.size.width >> across), height: -(-part.size.height >> down))
      let (fromStride, toStride) = (stride(ofPlane: plane), target.stride(ofPlane: plane))
      withPlane(plane) { from in
        target.withMutablePlane(plane) { to in
          let first = from + (part.y >> down) * fromStride + (part.x >> across) * bytes
          turning.apply(
            from: first.assumingMemoryBound(to: UInt8.self), fromStride: fromStride, size: size, pixelBytes: bytes,
            to: to.assumingMemoryBound(to: UInt8.self), toStride: toStride)
        }
      }
    }
  }
}

extension FrameFormat {
  /// Whether a part's first pixel is the first of a chroma sample.
  func startsOnChroma(_ part: PixelRect) -> Bool {
    part.x % (1 << chromaShift.horizontal) == 0 && part.y % (1 << chromaShift.vertical) == 0
  }

  /// A format without subsampling, no less deep, that can be turned.
  var turnable: FrameFormat {
    let depth = bitDepth
    let name =
      if isRGB { depth > 8 ? "rgba64le" : "rgba" } else if hasAlpha {
        depth > 10 ? "yuva444p16le" : depth > 8 ? "yuva444p10le" : "yuva444p"
      } else { depth > 12 ? "yuv444p16le" : depth > 10 ? "yuv444p12le" : depth > 8 ? "yuv444p10le" : "yuv444p" }
    return FrameFormat(name: name) ?? self
  }

  /// For each plane the bytes of one pixel, if a frame in this format can be turned plane by plane: every plane holds
  /// whole pixels of whole bytes and, where axes are swapped, chroma is as coarse across as down. Else nil.
  func pixelBytes(swappingAxes: Bool) -> [Int]? {
    let refused = UInt64(AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL)
    guard let descriptor = av_pix_fmt_desc_get(av_get_pix_fmt(name))?.pointee, descriptor.flags & refused == 0,
      !swappingAxes || descriptor.log2_chroma_w == descriptor.log2_chroma_h
    else { return nil }
    var bytes = [Int](repeating: 0, count: planeCount)
    let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
    let used = components.prefix(Int(descriptor.nb_components))
    for component in used {
      let (plane, step) = (Int(component.plane), Int(component.step))
      guard bytes.indices.contains(plane), bytes[plane] == 0 || bytes[plane] == step else { return nil }
      bytes[plane] = step
    }
    // Luma and chroma in one plane while chroma is subsampled: two pixels share their bytes.
    let isPacked = Set(used.map(\.plane)).count == 1 && used.count > 1
    if isPacked, descriptor.log2_chroma_w > 0 { return nil }
    return bytes.allSatisfy { (1...8).contains($0) } ? bytes : nil
  }
}

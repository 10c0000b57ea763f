import CompositionModel
import Media
import RenderTasks

/// Turns the frames of one track, or of a film, into pictures for a screen: upright, in square pixels, no larger than
/// asked for, and in the colours of standard television. A frame of high dynamic range or of wide primaries is
/// converted to those by way of light; of any other, only the matrix and the range are applied.
final class ImageFitter {
  private static let screen = ColourTags(primaries: "bt709", transfer: "bt709", matrix: "bt709")

  /// The size of the pictures, in pixels.
  let size: PixelSize
  /// Whether the pictures may have transparent pixels.
  let hasAlpha: Bool
  private let video: VideoFormat
  private let fitter: SourceFitter
  private let format: VideoTaskFormat
  private let title: String
  private var scalers: [(from: FrameScaler.Side, to: FrameScaler.Side, scaler: FrameScaler)] = []

  init(_ source: PlannedSource, _ output: ImageOutput) {
    video = source.video
    title = source.title
    size = output.size(of: video.presentationSize)
    hasAlpha = video.hasAlpha
    format = Self.format(of: video)
    fitter = SourceFitter(source, format: format)
  }

  /// A fitter of the frames of a film.
  convenience init(_ film: VideoTaskFormat, _ output: ImageOutput) {
    let video = VideoFormat(
      size: film.size, pixelFormat: FrameFormat(film.pixelFormat).name, bitDepth: film.pixelFormat.bitDepth,
      colour: film.colour, nominalFrameRate: .zero, frames: FrameTimes([]), keyframes: [])
    self.init(
      PlannedSource(
        digest: "the film", track: 0, codec: "", timebase: film.frameDuration, origin: 0, decodeFrom: nil, video: video),
      output)
  }

  /// The format in which frames are made upright, and converted if need be: their own, as nearly as there is one.
  private static func format(of video: VideoFormat) -> VideoTaskFormat {
    var colour = video.colour
    if video.pixelFormat.hasPrefix("yuvj") { colour.isFullRange = true }
    let path = ColourPath(video, film: screen, size: video.size)
    let isOfScreen = !path.source.transfer.isHDR && path.source.primaries.isStandard
    if !isOfScreen { colour = screen }
    let shift = FrameFormat(name: video.pixelFormat)?.chromaShift ?? (0, 0)
    // What is converted by way of light has another precision than its codes.
    let isDeep = video.bitDepth > 8 || !isOfScreen
    let pixelFormat: PixelFormat =
      switch shift {
      case (1, 1): isDeep ? .yuv420p10 : .yuv420p
      case (1, 0): isDeep ? .yuv422p10 : .yuv422p
      default: isDeep ? .yuv444p10 : .yuv444p
      }
    return VideoTaskFormat(
      size: video.size, pixelFormat: pixelFormat, colour: colour, frameDuration: MediaTime(seconds: 1))
  }

  /// A frame as an encoder, or a contact sheet, takes it.
  func picture(_ frame: Frame, format output: FrameFormat, colour: ColourTags) throws(RenderError) -> Frame {
    if frame.format.hasAlpha || frame.format.isRGB {
      let packed = try fitter.coloured(frame, size: size).packed(hasAlpha: output.hasAlpha)
      return try converted(packed, packed.colour, nil, to: output, colour)
    }
    fitter.forgetWhole()
    let (whole, site) = try fitter.whole(frame)
    let own = SourceColour(video, frameFormat: frame.format, composition: format).composition
    return try converted(whole, own, site, to: output, colour)
  }

  /// - Parameter site: Where the chroma of the frame lies. Nil: it has none.
  private func converted(
    _ frame: Frame, _ own: ColourTags, _ site: ChromaSite?, to output: FrameFormat, _ colour: ColourTags
  ) throws(RenderError) -> Frame {
    if frame.format == output, frame.size == size { return frame }
    let from = FrameScaler.Side(size: frame.size, format: frame.format, colour: own, chromaSite: site)
    let to = FrameScaler.Side(size: size, format: output, colour: colour)
    return try mapErrors(to: RenderError.during("\(title): making a picture")) { () throws(MediaError) in
      let scaler: FrameScaler
      if let known = scalers.first(where: { $0.from == from && $0.to == to }) {
        scaler = known.scaler
      } else {
        scaler = try FrameScaler(from: from, to: to, hasFullChroma: true)
        if scalers.count == 4 { scalers.removeFirst() }
        scalers.append((from, to, scaler))
      }
      let target = try Frame(size: size, format: output, colour: colour)
      try scaler.scale(frame, into: target)
      return target
    }
  }
}

extension RGBAPicture {
  /// The picture with 8 bits a component: RGBA whose colours are not multiplied by alpha, or RGB over black.
  func packed(hasAlpha: Bool) throws(RenderError) -> Frame {
    let name = hasAlpha ? "rgba" : "rgb24"
    guard let format = FrameFormat(name: name) else { throw RenderError(.infrastructure, "libav has no \(name)") }
    let frame = try mapErrors(to: RenderError.during("making a picture")) { () throws(MediaError) in
      try Frame(size: size, format: format, colour: ColourTags(isFullRange: true))
    }
    let step = hasAlpha ? 4 : 3
    let rowBytes = frame.stride(ofPlane: 0)
    let colours = (0..<3).map { plane($0) }
    let alpha = plane(3)
    frame.withMutablePlane(0) { base in
      for row in 0..<size.height {
        var target = (base + row * rowBytes).assumingMemoryBound(to: UInt8.self)
        for place in (row * stride / 2)..<(row * stride / 2 + size.width) {
          let coverage = UInt32(alpha[place])
          // Of a transparent pixel the colour is not known, and black.
          let divisor = hasAlpha ? max(1, coverage) : 65535
          for index in 0..<3 {
            target[index] = UInt8(min(255, (UInt32(colours[index][place]) * 255 + divisor / 2) / divisor))
          }
          if hasAlpha { target[3] = UInt8((coverage * 255 + 32767) / 65535) }
          target += step
        }
      }
    }
    return frame
  }
}

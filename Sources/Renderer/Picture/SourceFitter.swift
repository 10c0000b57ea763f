import CompositionModel
import Media
import Segmenter

/// Brings the frames of one source into the frame of the composition: clean aperture, orientation, pixel aspect and fit,
/// then the composition's format, matrix and range (FEATURES F9, F10, F34). A frame that is all that already is passed on
/// as it is, planes and all.
final class SourceFitter {
  private let video: VideoFormat
  private let format: VideoTaskFormat
  private let cell: ChromaCell
  private let title: String
  /// One for each conversion met, which for nearly every source is one.
  private var scalers: [(key: ScalerKey, scaler: PictureScaler)] = []
  /// The latest picture of each fit, for frames that are shown again.
  private var latest: [Fitting: (pts: Int64, picture: LayerPicture)] = [:]

  private struct ScalerKey: Hashable {
    let from: PictureScaler.Picture
    let to: PictureScaler.Picture
  }

  init(_ source: PlannedSource, format: VideoTaskFormat) {
    video = source.video
    title = source.title
    self.format = format
    cell = ChromaCell(format.pixelFormat)
  }

  func picture(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    if let (pts, picture) = latest[fitting], pts == frame.pts { return picture }
    let picture = video.hasAlpha ? try blended(frame, fitting) : try opaque(frame, fitting)
    latest[fitting] = (frame.pts, picture)
    return picture
  }

  /// A frame of the source upright, with straight alpha taken in, at a size in pixels.
  func rgba(_ frame: Frame, size: PixelSize) throws(RenderError) -> RGBAPicture {
    let name = frame.format.bitDepth > 8 ? "rgba64le" : "rgba"
    guard let packed = FrameFormat(name: name) else { throw RenderError(.infrastructure, "libav has no \(name)") }
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let aperture = aperture(of: frame)
    var straight = frame
    var (x, y) = (aperture.x, aperture.y)
    if frame.format != packed {
      straight = try converted(
        frame, part: aperture, colour: colours.source, to: aperture.size, packed, colours.source)
      (x, y) = (0, 0)
    }
    if video.orientation != .upright {
      straight = try turned(straight, part: PixelRect(x: x, y: y, size: aperture.size))
      (x, y) = (0, 0)
    }
    let upright =
      video.orientation.swapsAxes
      ? PixelSize(width: aperture.size.height, height: aperture.size.width) : aperture.size
    let picture = try RGBAPicture(upright)
    picture.premultiply(straight, x: x, y: y)
    return upright == size ? picture : try picture.scaled(to: size)
  }

  private func blended(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    var picture = try rgba(frame, size: fitting.scaled)
    if fitting.shown != PixelRect(fitting.scaled) {
      picture = try picture.placed(fitting.shown, x: 0, y: 0, in: fitting.target.size)
    }
    return .blend(try BlendPicture(picture, rect: fitting.target, cell: cell, matrix: YCbCrMatrix(format)))
  }

  private func opaque(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let wanted = FrameFormat(format.pixelFormat)
    var part = aperture(of: frame)
    var upright = frame
    if video.orientation != .upright {
      upright = try turned(frame, part: part, colour: colours.source)
      part = PixelRect(upright.size)
    }
    let isScaled = part.size != fitting.scaled
    if !isScaled, upright.format == wanted, colours.isSame,
      (part.x + fitting.shown.x) % cell.width == 0, (part.y + fitting.shown.y) % cell.height == 0
    {
      return .opaque(frame: upright, x: part.x + fitting.shown.x, y: part.y + fitting.shown.y, rect: fitting.target)
    }
    let seen = fitting.shown.shifted(x: part.x, y: part.y)
    if !isScaled, upright.format.startsOnChroma(seen) {
      // Nothing but the format changes: only what is seen is converted.
      let picture = try converted(
        upright, part: seen, colour: colours.source, to: seen.size, wanted, colours.composition)
      return .opaque(frame: picture, x: 0, y: 0, rect: fitting.target)
    }
    let picture = try converted(
      upright, part: part, colour: colours.source, to: fitting.scaled, wanted, colours.composition)
    return .opaque(frame: picture, x: fitting.shown.x, y: fitting.shown.y, rect: fitting.target)
  }

  /// The clean aperture, its first column and row rounded down to a chroma sample. A frame that is not of the described
  /// size has none and is seen whole.
  private func aperture(of frame: Frame) -> PixelRect {
    let whole = PixelRect(frame.size)
    guard let described = video.cleanAperture, frame.size == video.size,
      let inside = described.intersection(whole), inside.size == described.size
    else { return whole }
    let shift = frame.format.chromaShift
    let (cellWidth, cellHeight) = (1 << shift.horizontal, 1 << shift.vertical)
    return PixelRect(x: inside.x & ~(cellWidth - 1), y: inside.y & ~(cellHeight - 1), size: inside.size)
  }

  private func converted(
    _ frame: Frame, part: PixelRect, colour: ColourTags, to size: PixelSize, _ wanted: FrameFormat,
    _ wantedColour: ColourTags
  ) throws(RenderError) -> Frame {
    let key = ScalerKey(
      from: PictureScaler.Picture(size: part.size, format: frame.format, colour: colour),
      to: PictureScaler.Picture(size: size, format: wanted, colour: wantedColour))
    return try media("\(title): fitting \(key.from.size) \(key.from.format) into \(size) \(wanted)") {
      () throws(MediaError) in
      let scaler: PictureScaler
      if let known = scalers.first(where: { $0.key == key }) {
        scaler = known.scaler
      } else {
        scaler = try PictureScaler(from: key.from, to: key.to)
        // Sources that change their size all the time are no reason to keep every scaler.
        if scalers.count == 4 { scalers.removeFirst() }
        scalers.append((key, scaler))
      }
      let target = try Frame(size: size, format: wanted, colour: wantedColour)
      try scaler.scale(frame, cropX: part.x, cropY: part.y, into: target)
      return target
    }
  }

  /// A part of a frame, turned upright. Formats that can't be turned plane by plane are first brought to one that can,
  /// without loss.
  private func turned(_ frame: Frame, part: PixelRect, colour: ColourTags? = nil) throws(RenderError) -> Frame {
    let swaps = video.orientation.swapsAxes
    guard let pixelBytes = frame.format.pixelBytes(swappingAxes: swaps) else {
      let turnable = frame.format.turnable
      let tags = colour ?? video.colour
      let same = try converted(frame, part: part, colour: tags, to: part.size, turnable, tags)
      guard same.format != frame.format else {
        throw RenderError(.infrastructure, "\(title): a \(frame.format) frame can't be turned")
      }
      return try turned(same, part: PixelRect(part.size), colour: tags)
    }
    let size = swaps ? PixelSize(width: part.size.height, height: part.size.width) : part.size
    let target = try media("\(title): turning") { () throws(MediaError) in
      try Frame(size: size, format: frame.format, colour: frame.colour)
    }
    target.pts = frame.pts
    frame.turn(part, with: Turning(video.orientation), pixelBytes: pixelBytes, into: target)
    return target
  }
}

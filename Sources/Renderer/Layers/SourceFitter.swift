import CompositionModel
import Media
import RenderTasks

/// Fits the frames of one source into the composition's frame: applies clean aperture, orientation, pixel aspect and
/// fit, then converts to the composition's format, matrix and range. A frame that needs none of this is used as it is,
/// without a copy.
final class SourceFitter {
  private let video: VideoFormat
  private let format: VideoTaskFormat
  /// The block of the film's luma samples that share one chroma sample.
  let cell: ChromaCell
  private let title: String
  private let alpha: AlphaMode
  /// Of pictures that are not stored. Nil: they are.
  private let painter: PicturePainter?
  /// Where the chroma of the source's frames lies, as they are stored and upright.
  private let storedSite: ChromaSite
  private let uprightSite: ChromaSite
  /// One for each conversion in use. Nearly every source needs one.
  private var scalers: [(key: ScalerKey, scaler: FrameScaler)] = []
  /// The latest picture of each fitting, for frames that are shown again.
  private var latest: [Fitting: (pts: Int64, picture: LayerPicture)] = [:]
  /// The plane of the latest picture that was a mask, and its timestamp, for each kind of mask.
  private var masks: [MaskKind: (pts: Int64, plane: MaskPlane)] = [:]
  private lazy var placer = PicturePlacer(format)
  /// For the blurred copies of pictures, by their size.
  private var copyPlacer: (size: PixelSize, placer: PicturePlacer)?
  /// The latest picture that was made ready to be placed and is not simply the source's.
  var latestPrepared: (key: PreparedPicture.Key, prepared: PreparedPicture)?
  /// To the film's colours; nil if the source has them.
  private lazy var conversion = colourConversion()
  /// The latest pictures that were placed, the oldest first. A picture that moves has a new place in every frame.
  private var placed: [(key: PlacedKey, picture: LayerPicture?)] = []
  /// The latest frame, upright and in the composition's format; and with alpha.
  private var upright: (pts: Int64, frame: Frame, site: ChromaSite)?
  private var uprightBlend: (pts: Int64, picture: BlendPicture)?

  private struct PlacedKey: Equatable {
    var pts: Int64
    var placement: Placement
    var filters: [Filter<Double>]
  }

  private struct MaskKind: Hashable {
    var channel: LayerMask.Channel
    var isInverted: Bool
  }

  private struct ScalerKey: Hashable {
    let from: FrameScaler.Side
    let to: FrameScaler.Side
  }

  init(_ source: PlannedSource, format: VideoTaskFormat) {
    painter = PicturePainter(source.video)
    video = painter == nil || source.video.hasAlpha ? source.video : source.video.drawn(in: format)
    title = source.title
    alpha = source.alpha ?? .straight
    storedSite = ChromaSite(tag: video.colour.chromaLocation)
    uprightSite = storedSite.upright(video.orientation)
    self.format = format
    cell = format.cell
  }

  /// A frame of the source as a layer of the composition.
  func picture(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    if let (pts, picture) = latest[fitting], pts == frame.pts { return picture }
    let picture = video.hasAlpha ? try blended(frame, fitting) : try opaque(frame, fitting)
    latest[fitting] = (frame.pts, picture)
    return picture
  }

  var hasAlpha: Bool { video.hasAlpha }
  var isStill: Bool { video.isStill }
  /// The size of an upright picture in square pixels.
  var pictureSize: PixelSize { video.presentationSize }
  var filmSize: PixelSize { format.size }

  /// A frame of the source with filters, in its place. Nil if it is outside the film's frame.
  func picture(
    _ frame: Frame, _ placement: Placement, _ filters: [Filter<Double>], by chain: FilterChain
  ) throws(RenderError) -> LayerPicture? {
    let key = PlacedKey(pts: frame.pts, placement: placement, filters: filters)
    if let known = placed.first(where: { $0.key == key }) { return known.picture }
    let prepared = try prepared(frame, placement, filters, by: chain)
    let picture: LayerPicture?
    switch prepared.picture {
    case .opaque(let whole, _, _, _): picture = try placer.picture(whole, prepared.site, prepared.samples, placement)
    case .blend(let whole): picture = try placer.picture(whole, prepared.samples, placement)
    case .shaped: picture = try placer.picture(prepared.picture.blendPicture, prepared.samples, placement)
    }
    if placed.count == 8 { placed.removeFirst() }
    placed.append((key, picture))
    return picture
  }

  /// A picture of another source with its coverage multiplied by a frame of this one, the mask.
  /// - Parameter placement: the picture's.
  func masked(
    _ picture: BlendPicture, by frame: Frame, _ channel: LayerMask.Channel, isInverted: Bool, _ placement: Placement
  ) throws(RenderError) -> BlendPicture {
    let kind = MaskKind(channel: channel, isInverted: isInverted)
    let plane: MaskPlane
    if let known = masks[kind], known.pts == frame.pts {
      plane = known.plane
    } else {
      let size = video.orientation.uprightSize(aperture(of: frame).size)
      plane = try MaskPlane(rgba(frame, size: size), channel, isInverted: isInverted, YCbCrMatrix(format))
      masks[kind] = (frame.pts, plane)
    }
    return try placer.masked(picture, by: plane, placement.mask(plane.size))
  }

  /// Draws pictures in frames of another size than the film's.
  func placer(_ size: PixelSize) -> PicturePlacer {
    if let copyPlacer, copyPlacer.size == size { return copyPlacer.placer }
    var other = format
    other.size = size
    let placer = PicturePlacer(other)
    copyPlacer = (size, placer)
    return placer
  }

  /// Forgets the latest whole frame. For frames that have no timestamps of their own, as those of a film.
  func forgetWhole() {
    upright = nil
    uprightBlend = nil
  }

  /// All of an opaque frame, upright, in the composition's format, at its own size; and where its chroma lies.
  func whole(_ frame: Frame) throws(RenderError) -> (frame: Frame, site: ChromaSite) {
    if let upright, upright.pts == frame.pts { return (upright.frame, upright.site) }
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let output = FrameFormat(format.pixelFormat)
    var part = aperture(of: frame)
    var (whole, site) = (frame, uprightSite)
    if video.orientation != .upright {
      whole = try self.upright(frame, part: part, colour: colours.source)
      part = PixelRect(whole.size)
    }
    whole = try rangeTagged(whole)
    if whole.format != output || !colours.isSame || part != PixelRect(whole.size) || movesChroma {
      (whole, site) = (try composed(whole, part: part, colours, to: part.size), cell.site)
    }
    upright = (frame.pts, whole, site)
    return (whole, site)
  }

  /// All of a frame with alpha, upright, at its own size.
  func wholeBlend(_ frame: Frame) throws(RenderError) -> BlendPicture {
    if let uprightBlend, uprightBlend.pts == frame.pts { return uprightBlend.picture }
    let size = video.orientation.uprightSize(aperture(of: frame).size)
    let whole = try BlendPicture(
      coloured(frame, size: size), rect: PixelRect(size), cell: ChromaCell(horizontalShift: 0, verticalShift: 0),
      matrix: YCbCrMatrix(format))
    uprightBlend = (frame.pts, whole)
    return whole
  }

  /// A frame of the source, upright and premultiplied, at a size in pixels and in the film's colours.
  func coloured(_ frame: Frame, size: PixelSize) throws(RenderError) -> RGBAPicture {
    let picture = try rgba(frame, size: size)
    try (painter == nil ? conversion : ColourConversion.graphics(format))?.convert(picture)
    return picture
  }

  /// A frame of the source, upright and premultiplied, at a size in pixels and in its own colours.
  func rgba(_ frame: Frame, size: PixelSize) throws(RenderError) -> RGBAPicture {
    if let painter { return try painter.rgba(size) }
    let picture = try rgba(frame)
    return picture.size == size ? picture : try picture.scaled(to: size)
  }

  /// libswscale converts luma and chroma to red, green and blue of which the highest are too low: of 8 bits, white is
  /// 253 of 255.
  private func rgba(_ frame: Frame) throws(RenderError) -> RGBAPicture {
    if frame.format.isYCbCr { return try rgbaOfYCbCr(frame) }
    let name = frame.format.bitDepth > 8 ? "rgba64le" : "rgba"
    guard let packed = FrameFormat(name: name) else { throw RenderError(.infrastructure, "libav has no \(name)") }
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let aperture = aperture(of: frame)
    var packedFrame = frame
    var (x, y) = (aperture.x, aperture.y)
    if frame.format != packed {
      packedFrame = try converted(
        frame, part: aperture, colour: colours.source, storedSite, to: aperture.size, packed, colours.source,
        hasFullChroma: cell.width == 1)
      (x, y) = (0, 0)
    }
    if video.orientation != .upright {
      packedFrame = try upright(packedFrame, part: PixelRect(x: x, y: y, size: aperture.size))
      (x, y) = (0, 0)
    }
    let picture = try RGBAPicture(video.orientation.uprightSize(aperture.size))
    picture.premultiply(packedFrame, alpha, x: x, y: y)
    return picture
  }

  /// A frame of luma and chroma, of which libswscale only makes the planes' sizes equal.
  private func rgbaOfYCbCr(_ frame: Frame) throws(RenderError) -> RGBAPicture {
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let aperture = aperture(of: frame)
    var (planar, x, y) = (frame, aperture.x, aperture.y)
    let target = frame.format.withFullChroma
    if frame.format != target {
      planar = try converted(
        frame, part: aperture, colour: colours.source, storedSite, to: aperture.size, target, colours.source)
      (x, y) = (0, 0)
    }
    if video.orientation != .upright {
      planar = try upright(planar, part: PixelRect(x: x, y: y, size: aperture.size), colour: colours.source)
      (x, y) = (0, 0)
    }
    let picture = try RGBAPicture(video.orientation.uprightSize(aperture.size))
    picture.convert(planar, alpha, YCbCrMatrix(colours.source, depth: target.bitDepth), x: x, y: y)
    return picture
  }

  private func blended(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    var picture = try coloured(frame, size: fitting.scaled)
    let (target, box) = (fitting.target, cell.reached(by: fitting.target, in: format.size))
    if fitting.shown != PixelRect(box.size) || fitting.scaled != box.size {
      picture = try picture.placed(fitting.shown, x: target.x - box.x, y: target.y - box.y, in: box.size)
    }
    return .blend(try BlendPicture(picture, rect: box, cell: cell, matrix: YCbCrMatrix(format)))
  }

  private func opaque(_ frame: Frame, _ fitting: Fitting) throws(RenderError) -> LayerPicture {
    let colours = SourceColour(video, frameFormat: frame.format, composition: format)
    let output = FrameFormat(format.pixelFormat)
    var part = aperture(of: frame)
    var source = frame
    if video.orientation != .upright {
      source = try upright(frame, part: part, colour: colours.source)
      part = PixelRect(source.size)
    }
    source = try rangeTagged(source)
    let isScaled = part.size != fitting.scaled
    if !isScaled, source.format == output, colours.isSame, !movesChroma,
      (part.x + fitting.shown.x) % cell.width == 0, (part.y + fitting.shown.y) % cell.height == 0
    {
      return .opaque(frame: source, x: part.x + fitting.shown.x, y: part.y + fitting.shown.y, rect: fitting.target)
    }
    if let painter {
      let picture = try painter.frame(fitting.scaled, format)
      return .opaque(frame: picture, x: fitting.shown.x, y: fitting.shown.y, rect: fitting.target)
    }
    let shown = fitting.shown.shifted(x: part.x, y: part.y)
    if !isScaled, source.format.startsOnChroma(shown) {
      // Only the format changes, so the shown part alone is converted.
      let picture = try composed(source, part: shown, colours, to: shown.size)
      return .opaque(frame: picture, x: 0, y: 0, rect: fitting.target)
    }
    let picture = try composed(source, part: part, colours, to: fitting.scaled)
    return .opaque(frame: picture, x: fitting.shown.x, y: fitting.shown.y, rect: fitting.target)
  }

  /// The numbers of JPEG's formats mean what `SourceColour` says, by whatever name.
  private func rangeTagged(_ frame: Frame) throws(RenderError) -> Frame {
    try mapErrors(to: RenderError.during("\(title): fitting a frame")) { () throws(MediaError) in
      try frame.withRangeTagged()
    }
  }

  /// The clean aperture, its first column and row rounded down to a chroma sample. A frame of another size than the
  /// described one has none and is shown whole.
  private func aperture(of frame: Frame) -> PixelRect {
    let whole = PixelRect(frame.size)
    guard let described = video.cleanAperture, frame.size == video.size,
      let inside = described.intersection(whole), inside.size == described.size
    else { return whole }
    let shift = frame.format.chromaShift
    let (cellWidth, cellHeight) = (1 << shift.horizontal, 1 << shift.vertical)
    return PixelRect(x: inside.x & ~(cellWidth - 1), y: inside.y & ~(cellHeight - 1), size: inside.size)
  }

  /// Whether chroma that is subsampled as the film's is lies elsewhere. A picture that is only turned keeps its
  /// samples, and so loses nothing, although its chroma then lies at another side of its cells.
  private var movesChroma: Bool {
    cell.width > 1 && storedSite.across != cell.site.across || cell.height > 1 && storedSite.down != cell.site.down
  }

  /// A part of a frame in the composition's format at another size.
  func scaled(_ frame: Frame, _ part: PixelRect, to size: PixelSize) throws(RenderError) -> Frame {
    let colour = SourceColour(video, frameFormat: frame.format, composition: format).composition
    return try converted(frame, part: part, colour: colour, cell.site, to: size, frame.format, colour)
  }

  /// A part of an upright frame at a size, in the composition's format and colours. Where primaries or transfer
  /// functions differ, it is scaled first, in the source's colours and at least 12 bits deep.
  private func composed(
    _ frame: Frame, part: PixelRect, _ colours: SourceColour, to size: PixelSize
  ) throws(RenderError) -> Frame {
    let output = FrameFormat(format.pixelFormat)
    guard let conversion else {
      return try converted(
        frame, part: part, colour: colours.source, uprightSite, to: size, output, colours.composition)
    }
    var (planar, x, y) = (frame, part.x, part.y)
    if !ColourConversion.canConvert(frame.format, to: output) || part.size != size || !output.startsOnChroma(part)
      || movesChroma
    {
      let name = format.pixelFormat.rawValue.prefix(7) + "12le"
      guard let deep = FrameFormat(name: String(name)) else {
        throw RenderError(.infrastructure, "libav has no \(name)")
      }
      planar = try converted(frame, part: part, colour: colours.source, uprightSite, to: size, deep, colours.source)
      (x, y) = (0, 0)
    }
    let target = try mapErrors(to: RenderError.during("\(title): converting colours")) { () throws(MediaError) in
      try Frame(size: size, format: output, colour: colours.composition)
    }
    try conversion.convert(
      planar, x: x, y: y, YCbCrMatrix(colours.source, depth: planar.format.bitDepth), into: target, YCbCrMatrix(format))
    return target
  }

  private func colourConversion() -> ColourConversion? {
    let path = ColourPath(video, film: format.colour, size: format.size)
    if path.isSame { return nil }
    return ColourConversion(LightPath(path, toneMapping: format.toneMapping ?? .bt2390, peak: video.hdr?.peak))
  }

  /// - Parameter site: Where the chroma of the frame lies. That of the result lies where the film's does.
  private func converted(
    _ frame: Frame, part: PixelRect, colour: ColourTags, _ site: ChromaSite, to size: PixelSize,
    _ output: FrameFormat, _ outputColour: ColourTags, hasFullChroma: Bool = false
  ) throws(RenderError) -> Frame {
    let key = ScalerKey(
      from: FrameScaler.Side(size: part.size, format: frame.format, colour: colour, chromaSite: site),
      to: FrameScaler.Side(
        size: size, format: output, colour: outputColour, chromaSite: cell.site))
    return try mapErrors(to: RenderError.during("\(title): fitting a frame")) { () throws(MediaError) in
      let scaler: FrameScaler
      if let known = scalers.first(where: { $0.key == key }) {
        scaler = known.scaler
      } else {
        scaler = try FrameScaler(from: key.from, to: key.to, hasFullChroma: hasFullChroma)
        // Bounded for sources that change their size often.
        if scalers.count == 4 { scalers.removeFirst() }
        scalers.append((key, scaler))
      }
      let target = try Frame(size: size, format: output, colour: outputColour)
      try scaler.scale(frame, cropX: part.x, cropY: part.y, into: target)
      return target
    }
  }

  /// A part of a frame, upright. A format that cannot be oriented plane by plane is first converted, without loss, to
  /// one that can.
  private func upright(_ frame: Frame, part: PixelRect, colour: ColourTags? = nil) throws(RenderError) -> Frame {
    guard let pixelBytes = frame.format.pixelBytes(swappingAxes: video.orientation.swapsAxes) else {
      let orientable = frame.format.orientable
      let tags = colour ?? video.colour
      let same = try converted(
        frame, part: part, colour: tags, storedSite, to: part.size, orientable, tags)
      guard same.format != frame.format else {
        throw RenderError(.infrastructure, "\(title): a \(frame.format) frame cannot be made upright")
      }
      return try upright(same, part: PixelRect(part.size), colour: tags)
    }
    let target = try mapErrors(to: RenderError.during("\(title): making upright")) { () throws(MediaError) in
      try Frame(size: video.orientation.uprightSize(part.size), format: frame.format, colour: frame.colour)
    }
    target.pts = frame.pts
    frame.copyUpright(part, OrientationSteps(video.orientation), pixelBytes: pixelBytes, into: target)
    return target
  }
}

extension VideoFormat {
  /// An opaque picture that is drawn in a film's own format and colours.
  fileprivate func drawn(in format: VideoTaskFormat) -> VideoFormat {
    var video = self
    (video.pixelFormat, video.bitDepth) = (format.pixelFormat.rawValue, format.pixelFormat.bitDepth)
    video.colour = format.colour
    return video
  }
}

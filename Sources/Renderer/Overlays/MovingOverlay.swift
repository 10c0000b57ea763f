import CompositionModel
import Media
import RenderTasks

/// The frames of a video or an animated picture that is an overlay, as pictures at its place.
final class MovingOverlay {
  /// Index in `VideoTask.sources`.
  let source: Int
  let stream: SourceStream
  private let video: PlannedOverlayVideo
  private let planned: PlannedSource
  private let fitter: SourceFitter
  private let placement: OverlayPlacement
  private let format: VideoTaskFormat
  /// The timestamp and the picture of the frame that was drawn last, which may be shown again. The picture is nil if it
  /// is outside of the film's frame.
  private var latest: (pts: Int64, picture: LayerPicture?)?

  init(
    _ video: PlannedOverlayVideo, of planned: PlannedSource, _ stream: SourceStream, placement: OverlayPlacement,
    format: VideoTaskFormat
  ) {
    self.video = video
    self.planned = planned
    self.stream = stream
    self.placement = placement
    self.format = format
    source = video.source
    fitter = SourceFitter(planned, format: format)
  }

  /// The frame that is shown at a time of the asset.
  func frame(at time: Rational) throws(RenderError) -> Frame { try stream.frame(at: time) }

  /// A frame at the overlay's place, cut at the edges of the composition's frame; nil if it is outside.
  func picture(_ frame: Frame) throws(RenderError) -> LayerPicture? {
    if let latest, latest.pts == frame.pts { return latest.picture }
    var picture = planned.video.hasAlpha ? nil : try opaque(frame)
    if picture == nil { picture = try blended(frame) }
    latest = (frame.pts, picture)
    return picture
  }

  /// A frame that is cropped, filtered or transformed.
  func picture(_ frame: Frame, _ pose: OverlayPose, by chain: FilterChain) throws(RenderError) -> LayerPicture? {
    try PosedOverlay.picture(
      frame, fitter, width: video.width, height: video.height, placement, pose, by: chain)
  }

  private func blended(_ frame: Frame) throws(RenderError) -> LayerPicture? {
    let picture = try Overlays.image(
      frame, of: planned, fitter, width: video.width, height: video.height, placement: placement, format: format)
    return picture.map { .blend($0) }
  }

  /// A frame without alpha that shares no chroma sample with what is around it, in the composition's format. Nil for
  /// any other.
  private func opaque(_ frame: Frame) throws(RenderError) -> LayerPicture? {
    let size = planned.video.presentationSize.overlaySize(width: video.width, height: video.height)
    let cell = format.cell
    let origin = placement.origin(of: size, in: format.size)
    let placed = PixelRect(x: origin.x, y: origin.y, size: size)
    guard let visible = placed.intersection(PixelRect(format.size)),
      cell.enclosing(visible, in: format.size) == visible,
      size.width % cell.width == 0, size.height % cell.height == 0, origin.x % cell.width == 0,
      origin.y % cell.height == 0
    else { return nil }
    let fitting = Fitting(planned.video.presentationSize, fit: .fill, frame: size, cell: cell)
    guard case .opaque(let fitted, let x, let y, _) = try fitter.picture(frame, fitting) else { return nil }
    return .opaque(frame: fitted, x: x + visible.x - origin.x, y: y + visible.y - origin.y, rect: visible)
  }
}

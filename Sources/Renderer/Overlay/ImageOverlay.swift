import CompositionModel
import Media
import Segmenter

enum ImageOverlay {
  /// An image where its placement puts it, cut at the frame's edges; nil where it is outside the frame.
  ///
  /// Its size in pixels of the frame is `width` by `height`; of one alone, the other follows the image's shape, rounded to
  /// the nearest pixel; of none, the image's own, pixel aspect and orientation applied.
  static func picture(
    _ frame: Frame, of source: PlannedSource, width: Int?, height: Int?, placement: OverlayPlacement,
    format: VideoTaskFormat
  ) throws(RenderError) -> BlendPicture? {
    let size = size(of: source.video.presentationSize, width: width, height: height)
    guard size.width <= PictureLimits.side, size.height <= PictureLimits.side else {
      throw RenderError(
        .task, "an overlay of \(size.width)x\(size.height) pixels; each side must be within 1...\(PictureLimits.side)")
    }
    let origin = placement.origin(of: size, in: format.size)
    let placed = PixelRect(x: origin.x, y: origin.y, size: size)
    guard let visible = placed.intersection(PixelRect(format.size)) else { return nil }
    let whole = try SourceFitter(source, format: format).rgba(frame, size: size)
    let cell = ChromaCell(format.pixelFormat)
    let box = cell.enclosing(visible, in: format.size)
    let boxed = try whole.placed(
      visible.shifted(x: -origin.x, y: -origin.y), x: visible.x - box.x, y: visible.y - box.y, in: box.size)
    return try BlendPicture(boxed, rect: box, cell: cell, matrix: YCbCrMatrix(format))
  }

  static func size(of own: PixelSize, width: Int?, height: Int?) -> PixelSize {
    let (ownWidth, ownHeight) = (max(1, own.width), max(1, own.height))
    func rounded(_ numerator: Int, _ denominator: Int) -> Int {
      max(1, (2 * numerator + denominator) / (2 * denominator))
    }
    return switch (width.map { max(1, $0) }, height.map { max(1, $0) }) {
    case (let width?, let height?): PixelSize(width: width, height: height)
    case (let width?, nil): PixelSize(width: width, height: rounded(width * ownHeight, ownWidth))
    case (nil, let height?): PixelSize(width: rounded(height * ownWidth, ownHeight), height: height)
    case (nil, nil): PixelSize(width: ownWidth, height: ownHeight)
    }
  }
}

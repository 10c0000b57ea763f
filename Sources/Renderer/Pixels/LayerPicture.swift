import CompositionModel
import Media
import RenderTasks

/// A layer's picture, fitted into the frame.
enum LayerPicture {
  /// Opaque, in the composition's format: the part of `frame` from (x, y) on that is as large as `rect` is drawn at
  /// `rect`, in pixels of the composition's frame.
  case opaque(frame: Frame, x: Int, y: Int, rect: PixelRect)
  case blend(BlendPicture)
  /// Opaque within a convex shape.
  case shaped(ShapedPicture)

  /// All of an opaque frame of the composition's size.
  static func whole(_ frame: Frame) -> LayerPicture {
    .opaque(frame: frame, x: 0, y: 0, rect: PixelRect(frame.size))
  }

  /// The picture with coverage.
  var blendPicture: BlendPicture {
    get throws(RenderError) {
      switch self {
      case .blend(let picture): return picture
      case .shaped(let picture): return try picture.blendPicture()
      case .opaque(let frame, let x, let y, let rect):
        return try frame.withPlanes { planes throws(RenderError) in try planes.blendPicture(rect, x: x, y: y) }
      }
    }
  }
}

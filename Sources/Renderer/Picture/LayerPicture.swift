import CompositionModel
import Media

/// A layer's picture as it goes into the frame.
enum LayerPicture {
  /// Opaque, in the composition's format: the part of `frame` that starts at (x, y) and is as large as `rect` stands at
  /// `rect`, in pixels of the composition's frame.
  case opaque(frame: Frame, x: Int, y: Int, rect: PixelRect)
  case blend(BlendPicture)

  /// As a picture with coverage.
  var blendPicture: BlendPicture {
    get throws(RenderError) {
      switch self {
      case .blend(let picture): return picture
      case .opaque(let frame, let x, let y, let rect):
        return try frame.withPlanes { planes throws(RenderError) in try planes.blendPicture(rect, x: x, y: y) }
      }
    }
  }
}

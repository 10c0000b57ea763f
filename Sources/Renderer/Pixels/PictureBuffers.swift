import CKernels
package import CompositionModel
package import Media
import RenderTasks
package import SheafCompositing

extension PixelBuffer {
  /// A picture on the planes of a frame, which is not changed any more. Its format is one that frames are composited
  /// in.
  package init(_ frame: Frame, _ format: PixelFormat) {
    self.init(
      PixelLayout(size: frame.size, format: format, colour: frame.colour),
      planes: (0..<3).map { plane in
        (frame.withPlane(plane) { UnsafeMutableRawPointer(mutating: $0) }, frame.stride(ofPlane: plane))
      }, owner: frame)
  }

  /// A frame with planes of its own that has the picture's samples.
  package func copied() throws(MediaError) -> Frame {
    let frame = try Frame(size: size, format: FrameFormat(format), colour: colour)
    for plane in [PixelPlane.luma, .cb, .cr] {
      let stride = frame.stride(ofPlane: plane.rawValue)
      frame.withMutablePlane(plane.rawValue) { target in copyRows(of: plane, to: target, stride: stride) }
    }
    return frame
  }
}

extension PixelLayout {
  /// That of pictures of a size and format whose numbers mean what the tags say.
  package init(size: PixelSize, format: PixelFormat, colour: ColourTags) {
    let space = YCbCrMatrix(
      VideoTaskFormat(size: size, pixelFormat: format, colour: colour, frameDuration: MediaTime(seconds: 1))
    ).codeSpace
    self.init(
      size: size, format: format, colour: colour, weights: (space.red, space.blue),
      luma: (space.luma_offset, space.luma_scale), chroma: (space.chroma_offset, space.chroma_scale))
  }
}

package import Composition

/// Converts and scales pictures of one size and format into another with libswscale, exactly alike on every run.
package final class PictureScaler {
  /// One side of the conversion.
  package struct Picture: Sendable, Hashable {
    package var size: PixelSize
    package var format: FrameFormat
    /// Matrix and range count; where the matrix is not named it is BT.601 for fewer than 720 rows, else BT.709.
    package var colour: ColourTags

    package init(size: PixelSize, format: FrameFormat, colour: ColourTags) {
      self.size = size
      self.format = format
      self.colour = colour
    }
  }

  package init(from source: Picture, to destination: Picture) throws(MediaError) {
    throw MediaError(.unsupported, operation: "scaling", subject: "", message: "not there yet")
  }

  /// Scales all of `frame`, or the part of the source's size whose top left is `crop`, into `target` with its top left at
  /// (`x`, `y`), which must lie on whole chroma samples. What is around it stays as it was.
  package func scale(
    _ frame: Frame, cropX: Int = 0, cropY: Int = 0, into target: Frame, x: Int = 0, y: Int = 0
  ) throws(MediaError) {}
}

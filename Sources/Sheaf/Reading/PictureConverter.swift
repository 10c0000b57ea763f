import CompositionModel
import Media

/// Converts decoded pictures to a format and a size.
final class PictureConverter {
  private let format: FrameFormat?
  private let size: PixelSize?
  /// Nil: that of the picture.
  private let isFullRange: Bool?
  private var steps: (from: FrameScaler.Side, scalers: [(scaler: FrameScaler, to: FrameScaler.Side)])?

  /// - Parameters:
  ///   - format: Nil: that of the pictures.
  ///   - size: Nil: that of the pictures.
  ///   - isFullRange: Whether luma has all codes. Nil: as the picture has it.
  init(as format: FrameFormat?, size: PixelSize?, isFullRange: Bool? = nil) {
    (self.format, self.size, self.isFullRange) = (format, size, isFullRange)
  }

  convenience init(_ settings: VideoOutputSettings) {
    self.init(
      as: settings.pixelFormat.flatMap { FrameFormat(name: $0.frameFormat) }, size: settings.size,
      isFullRange: settings.pixelFormat?.isFullRange)
  }

  /// The picture itself if it is as it is wanted.
  func convert(_ frame: Frame) throws -> Frame {
    let frame = format == nil ? try frame.withRangeTagged() : frame
    let from = FrameScaler.Side(size: frame.size, format: frame.format, colour: frame.codedColour)
    let wanted = target(of: from)
    if wanted.format == from.format, wanted.size == from.size, wanted.colour.isFullRange == from.colour.isFullRange {
      return frame
    }
    if steps?.from != from { steps = (from, try scalers(from, wanted)) }
    return try (steps?.scalers ?? []).reduce(frame) { frame, step in
      let target = try Frame(size: step.to.size, format: step.to.format, colour: step.to.colour)
      try step.scaler.scale(frame, into: target)
      return target
    }
  }

  private func target(of from: FrameScaler.Side) -> FrameScaler.Side {
    // Indices into a palette are no picture without it.
    let format = self.format ?? (from.format.name == "pal8" ? FrameFormat(name: "rgba") : nil) ?? from.format
    let size = self.size ?? from.size
    var colour = from.colour
    if format.isRGB {
      (colour.matrix, colour.chromaLocation, colour.isFullRange) = ("gbr", nil, true)
    } else if from.format.isRGB {
      (colour.matrix, colour.isFullRange) = (size.height >= 720 ? "bt709" : "smpte170m", isFullRange ?? false)
    } else if let isFullRange {
      colour.isFullRange = isFullRange
    }
    return FrameScaler.Side(size: size, format: format, colour: colour)
  }

  /// libswscale widens samples of 8 bits to two planes of 10 by repeating their bits, which is right for full range
  /// alone, so the samples are widened, and scaled, in three planes before.
  private func scalers(
    _ from: FrameScaler.Side, _ to: FrameScaler.Side
  ) throws -> [(FrameScaler, FrameScaler.Side)] {
    let planar = ["p010le": "yuv420p10le", "p210le": "yuv422p10le", "p410le": "yuv444p10le"][to.format.name]
    guard let name = planar, let format = FrameFormat(name: name) else { return [try scaler(from, to)] }
    let between = FrameScaler.Side(size: to.size, format: format, colour: to.colour)
    let isPlanar = from.format == format && from.size == to.size && from.colour.isFullRange == to.colour.isFullRange
    return isPlanar ? [try scaler(from, to)] : [try scaler(from, between), try scaler(between, to)]
  }

  private func scaler(
    _ from: FrameScaler.Side, _ to: FrameScaler.Side
  ) throws -> (FrameScaler, FrameScaler.Side) {
    (try FrameScaler(from: from, to: to, hasFullChroma: to.format.isRGB), to)
  }
}

extension Frame {
  /// With the range that the names of JPEG's formats and of RGB imply.
  fileprivate var codedColour: ColourTags {
    var colour = colour
    if format.isRGB || format.name.hasPrefix("yuvj") { colour.isFullRange = true }
    return colour
  }
}

import CompositionModel
import Media
import Segmenter

/// What the numbers of a source and of the composition mean, with what their files leave open decided.
///
/// An untagged source means what the composition means. Where the composition is untagged too nothing is converted
/// between them, and what comes from RGB is made BT.709 from 720 lines on, BT.601 below.
struct SourceColour {
  let source: ColourTags
  let composition: ColourTags

  init(_ video: VideoFormat, frameFormat: FrameFormat, composition format: VideoTaskFormat) {
    let named = format.colour.matrix.flatMap { SourceColour.family[$0] }
    let target = named ?? (format.size.height >= 720 ? "bt709" : "smpte170m")
    var (from, to) = (video.colour, format.colour)
    to.matrix = target
    from.matrix = named == nil ? target : video.colour.matrix.flatMap { SourceColour.family[$0] } ?? target
    if frameFormat.isRGB || frameFormat.name.hasPrefix("yuvj") { from.isFullRange = true }
    // Stored grey pictures use the whole range and their formats have no place to say so.
    if frameFormat.name.hasPrefix("gray") || frameFormat.name.hasPrefix("ya"), video.isStill { from.isFullRange = true }
    source = from
    composition = to
  }

  /// Whether a YUV frame of the source is, number for number, one of the composition.
  var isSame: Bool {
    source.matrix == composition.matrix && source.isFullRange == composition.isFullRange
  }

  /// Matrices that can be computed with, under one name for each set of weights.
  private static let family = [
    "bt709": "bt709", "fcc": "fcc", "bt470bg": "smpte170m", "smpte170m": "smpte170m", "smpte240m": "smpte240m",
    "bt2020nc": "bt2020nc", "bt2020c": "bt2020nc",
  ]
}

import CKernels
import CompositionModel
import Media
import RenderTasks

/// The conversion of red, green and blue to the composition's luma and chroma: by its matrix, range and depth.
struct YCbCrMatrix: Sendable, Hashable {
  /// The weights of red and blue in luma.
  let red: Double
  let blue: Double
  let isFullRange: Bool
  let depth: Int
  /// From the colours of a document to the film's. Nil if they are the same.
  private let graphics: ColourPath?

  /// A matrix without such weights, or none, is replaced by BT.709 from 720 lines on and by BT.601 below.
  init(_ format: VideoTaskFormat) {
    let matrix = format.colour.matrix ?? ""
    (red, blue) = YCbCrMatrix.weights[matrix] ?? (format.size.height >= 720 ? (0.2126, 0.0722) : (0.299, 0.114))
    isFullRange = format.colour.isFullRange
    depth = format.pixelFormat.bitDepth
    let path = ColourPath(graphicsIn: format.colour, size: format.size)
    graphics = path.isSame ? nil : path
  }

  /// The matrix of a source whose tags are complete.
  init(_ tags: ColourTags, depth: Int) {
    (red, blue) = YCbCrMatrix.weights[tags.matrix ?? ""] ?? (0.2126, 0.0722)
    isFullRange = tags.isFullRange
    self.depth = depth
    graphics = nil
  }

  private static let weights: [String: (red: Double, blue: Double)] = [
    "bt709": (0.2126, 0.0722), "fcc": (0.30, 0.11), "bt470bg": (0.299, 0.114), "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087), "bt2020nc": (0.2627, 0.0593), "bt2020c": (0.2627, 0.0593),
  ]

  private var step: Double { Double(1 << (depth - 8)) }
  var lumaOffset: Double { isFullRange ? 0 : 16 * step }
  var chromaOffset: Double { 128 * step }
  var lumaScale: Double { isFullRange ? 256 * step - 1 : 219 * step }
  var chromaScale: Double { isFullRange ? 256 * step - 1 : 224 * step }

  /// The weights of red, green and blue, each 0…1, and of a constant 1, in codes; for luma, Cb and Cr.
  var codeRows: [(red: Double, green: Double, blue: Double, one: Double)] {
    let green = 1 - red - blue
    let (cb, cr) = (chromaScale / (2 * (1 - blue)), chromaScale / (2 * (1 - red)))
    return [
      (red * lumaScale, green * lumaScale, blue * lumaScale, lumaOffset),
      (-red * cb, -green * cb, (1 - blue) * cb, chromaOffset),
      ((1 - red) * cr, -green * cr, -blue * cr, chromaOffset),
    ]
  }

  /// The nearest codes of an opaque colour. A colour with alpha is drawn over black.
  func codes(_ color: Color) -> (luma: Int, cb: Int, cr: Int) {
    var numbers = [color.red, color.green, color.blue].map { Double($0) / 255 }
    if let graphics { numbers = LightPath(graphics, toneMapping: .bt2390).converted(numbers) }
    let alpha = Double(color.alpha) / 255
    let (red, green, blue) = (numbers[0] * alpha, numbers[1] * alpha, numbers[2] * alpha)
    let highest = Double(1 << depth) - 1
    let codes = codeRows.map { row in
      Int(min(highest, max(0, (row.red * red + row.green * green + row.blue * blue + row.one).rounded())))
    }
    return (codes[0], codes[1], codes[2])
  }

  /// For `sheaf_blend`.
  var codeSpace: sheaf_code_space {
    sheaf_code_space(
      red: Float(red), green: Float(1 - red - blue), blue: Float(blue), luma_offset: Float(lumaOffset),
      luma_scale: Float(lumaScale), chroma_offset: Float(chromaOffset), chroma_scale: Float(chromaScale),
      depth: Int32(depth))
  }

  /// For `sheaf_rgba_from_yuva16`.
  var rgbMatrix: sheaf_rgb_matrix {
    let (unit, green) = (65535 * Double(1 << 20), 1 - red - blue)
    let (ofCr, ofCb) = (unit * 2 * (1 - red) / chromaScale, unit * 2 * (1 - blue) / chromaScale)
    return sheaf_rgb_matrix(
      luma: Int64((unit / lumaScale).rounded()), red_cr: Int64(ofCr.rounded()),
      green_cb: Int64((-ofCb * blue / green).rounded()), green_cr: Int64((-ofCr * red / green).rounded()),
      blue_cb: Int64(ofCb.rounded()), luma_offset: Int32(lumaOffset), chroma_offset: Int32(chromaOffset),
      depth: Int32(depth))
  }

  /// For `sheaf_blend_from_rgba`: from 65535ths to 2^-(14-depth) of a code, in units of 2^-32. Green gets what rounding
  /// leaves over, so greys have no chroma and white has exactly the highest luma.
  var blendRows: [sheaf_matrix_row] {
    let scale = Double(1 << (14 - depth)) * 4_294_967_296 / 65535
    return codeRows.map { row in
      let red = Int64((row.red * scale).rounded())
      let blue = Int64((row.blue * scale).rounded())
      let total = Int64(((row.red + row.green + row.blue) * scale).rounded())
      return sheaf_matrix_row(
        red: red, green: total - red - blue, blue: blue, alpha: Int64((row.one * scale).rounded()))
    }
  }
}

/// The colour tags of a source and of the composition, with the missing ones filled in.
///
/// The primaries and the transfer functions are those of `ColourPath`. An untagged source has the composition's matrix,
/// or that of its size if the composition's primaries are not of standard television or the source is taken for BT.601.
/// If the composition is untagged too, nothing is converted between them, and RGB is converted to BT.709 from 720 lines
/// on, to BT.601 below.
struct SourceColour {
  let source: ColourTags
  let composition: ColourTags
  let path: ColourPath

  init(_ video: VideoFormat, frameFormat: FrameFormat, composition format: VideoTaskFormat) {
    path = ColourPath(video, film: format.colour, size: format.size)
    let named = format.colour.matrix.flatMap { SourceColour.family[$0] }
    let target = named ?? (format.size.height >= 720 ? "bt709" : "smpte170m")
    let isOfHighDefinition = video.size.isHighDefinition
    let untagged =
      path.film.primaries.isStandard
      ? video.isTakenForBT601(in: format.colour, format.size) ? "smpte170m" : target
      : path.source.primaries == .bt2020 ? "bt2020nc" : isOfHighDefinition ? "bt709" : "smpte170m"
    var (from, to) = (video.colour, format.colour)
    to.matrix = target
    from.matrix = named == nil ? target : video.colour.matrix.flatMap { SourceColour.family[$0] } ?? untagged
    if frameFormat.isRGB || frameFormat.name.hasPrefix("yuvj") { from.isFullRange = true }
    // Grey images use the full range, and their formats have no tag for it.
    if frameFormat.name.hasPrefix("gray") || frameFormat.name.hasPrefix("ya"), video.isStill { from.isFullRange = true }
    source = from
    composition = to
  }

  /// Whether the numbers of a YUV frame mean the same in the source and in the composition.
  var isSame: Bool {
    source.matrix == composition.matrix && source.isFullRange == composition.isFullRange && path.isSame
  }

  /// The matrices that conversions support, with one name for each set of weights.
  private static let family = [
    "bt709": "bt709", "fcc": "fcc", "bt470bg": "smpte170m", "smpte170m": "smpte170m", "smpte240m": "smpte240m",
    "bt2020nc": "bt2020nc", "bt2020c": "bt2020nc",
  ]
}

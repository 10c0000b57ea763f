import CKernels
import CPango
import CompositionModel
import Glibc
import Media
import RenderTasks

/// Draws a text with its outline, shadow and box. From below: the box, the shadow of the letters and their outline, the
/// outline, the letters. The outline is outside of the letters, so that it does not show through letters that are
/// transparent.
struct TextPainter {
  private let style: StyledText

  init(_ style: StyledText) {
    self.style = style
  }

  /// The standard deviation of the shadow's blur.
  private var deviation: Double { (style.shadow?.blur ?? 0) / 2 }
  /// How far the blur reaches, in pixels: where less than a thousandth is left.
  private var reach: Int { Int((deviation * 3).rounded(.up)) }

  /// The rectangle of the box, for a block of lines at the origin.
  private func box(_ block: PixelSize) -> PixelRect? {
    guard let box = style.box, block.width > 0, block.height > 0 else { return nil }
    return PixelRect(x: 0, y: 0, size: block).grown(by: box.padding)
  }

  /// All that is drawn on, if the letters are drawn on `ink`.
  func extent(of ink: PixelRect, block: PixelSize) -> PixelRect {
    var all = ink
    if !ink.isEmpty {
      if let outline = style.outline { all = all.grown(by: Int(outline.width.rounded(.up)) + 1) }
      if let shadow = style.shadow { all = all.enclosing(all.shifted(x: shadow.x, y: shadow.y).grown(by: reach)) }
    }
    return box(block).map { all.isEmpty ? $0 : all.enclosing($0) } ?? all
  }

  /// - Parameters:
  ///   - rect: In pixels from the block's top left.
  ///   - letters: The letters within a rectangle, in their colour without its alpha.
  ///   - shape: The coverage of the letters with their outline.
  func draw(
    _ rect: PixelRect, block: PixelSize, letters: (PixelRect) throws(RenderError) -> RGBAPicture,
    shape: (PixelRect) throws(RenderError) -> CoverageMask
  ) throws(RenderError) -> RGBAPicture {
    let picture = try RGBAPicture(rect.size)
    let (width, height) = (Int32(rect.size.width), Int32(rect.size.height))
    if let box = style.box, let place = self.box(block) {
      let mask = try CoverageMask(roundedBox: place.shifted(x: -rect.x, y: -rect.y), radius: box.radius, rect.size)
      paint(mask, box.color, on: picture)
    }
    if let shadow = style.shadow {
      let around = rect.shifted(x: -shadow.x, y: -shadow.y).grown(by: reach)
      paint(try shape(around).blurred(deviation: deviation, reach: reach), shadow.color, on: picture)
    }
    let outline = try style.outline.map { outline throws(RenderError) in (try shape(rect), outline.color.premultiplied)
    }
    let text = try letters(rect)
    var colour = outline?.1 ?? [0, 0, 0, 0]
    sheaf_text_over(
      picture.planes(), text.planes(), UInt32(style.color.alpha) * 257, outline?.0.base, outline?.0.stride ?? 0,
      &colour,
      width, height)
    return picture
  }

  private func paint(_ mask: CoverageMask, _ color: Color, on picture: RGBAPicture) {
    var colour = color.premultiplied
    sheaf_paint_over(
      picture.planes(), mask.base, mask.stride, &colour, Int32(picture.size.width), Int32(picture.size.height))
  }
}

/// A plane of coverage, 65535 is one.
final class CoverageMask {
  let size: PixelSize
  private let samples: SampleStorage

  var base: UnsafeMutablePointer<UInt16> { samples.base }
  /// Bytes from one row to the next.
  var stride: Int { 2 * size.width }

  private init(_ size: PixelSize) throws(RenderError) {
    self.size = size
    samples = try SampleStorage(count: size.width * size.height)
  }

  /// What was drawn on a canvas of coverage.
  init(_ canvas: CairoCanvas) throws(RenderError) {
    size = canvas.size
    samples = try SampleStorage(count: size.width * size.height)
    let (data, stride) = try canvas.pixels()
    sheaf_widen_coverage8(base, self.stride, data, stride, Int32(size.width), Int32(size.height))
  }

  /// A rectangle with rounded corners, in a mask of a size.
  convenience init(roundedBox rect: PixelRect, radius: Int, _ size: PixelSize) throws(RenderError) {
    let canvas = CairoCanvas(size, CAIRO_FORMAT_A8)
    let radius = Double(min(radius, rect.size.width / 2, rect.size.height / 2))
    let (left, right) = (Double(rect.x) + radius, Double(rect.columns.upperBound) - radius)
    let (top, bottom) = (Double(rect.y) + radius, Double(rect.rows.upperBound) - radius)
    cairo_new_path(canvas.cairo)
    for (index, (x, y)) in [(right, top), (right, bottom), (left, bottom), (left, top)].enumerated() {
      let angle = Double(index - 1) * Double.pi / 2
      cairo_arc(canvas.cairo, x, y, radius, angle, angle + Double.pi / 2)
    }
    cairo_close_path(canvas.cairo)
    cairo_set_source_rgba(canvas.cairo, 0, 0, 0, 1)
    cairo_fill(canvas.cairo)
    try self.init(canvas)
  }

  /// Adds what is within a radius of what another mask covers, which has `margin` pixels more on each side.
  func add(_ other: CoverageMask, grownBy radius: Double, margin: Int) throws(RenderError) {
    let scratch = try SampleStorage(count: other.size.width * other.size.height)
    sheaf_grow16(
      base, stride, Int32(size.width), Int32(size.height), other.base, other.stride, Int32(margin), radius, scratch.base
    )
  }

  /// The mask without a border of `reach` pixels, convolved with a Gaussian that reaches as far.
  func blurred(deviation: Double, reach: Int) throws(RenderError) -> CoverageMask {
    guard reach > 0 else { return self }
    let shares = (-reach...reach).map { exp(-Double($0 * $0) / (2 * deviation * deviation)) }
    let total = shares.reduce(0, +)
    // They add up to 65536, so that a plane of one value keeps it.
    var weights = shares.map { UInt32(($0 / total * 65536).rounded()) }
    weights[reach] = weights.indices.filter { $0 != reach }.reduce(65536) { $0 - weights[$1] }
    let (width, height) = (max(1, size.width - 2 * reach), max(1, size.height - 2 * reach))
    let across = try CoverageMask(PixelSize(width: width, height: size.height))
    sheaf_convolve16(
      across.base, across.stride, base, stride, Int32(width), Int32(size.height), weights, Int32(weights.count), 2)
    let result = try CoverageMask(PixelSize(width: width, height: height))
    sheaf_convolve16(
      result.base, result.stride, across.base, across.stride, Int32(width), Int32(height), weights,
      Int32(weights.count), across.stride)
    return result
  }
}

/// A picture that Cairo draws on.
final class CairoCanvas {
  let size: PixelSize
  let cairo: OpaquePointer
  private let surface: OpaquePointer

  init(_ size: PixelSize, _ format: cairo_format_t) {
    self.size = size
    // Both exist in any case: what cannot be made is an object in an error state.
    surface = cairo_image_surface_create(format, Int32(clamping: size.width), Int32(clamping: size.height))
    cairo = cairo_create(surface)
  }

  deinit {
    cairo_destroy(cairo)
    cairo_surface_destroy(surface)
  }

  /// The pixels, valid as long as this exists, and the bytes from one row to the next.
  func pixels() throws(RenderError) -> (UnsafeMutablePointer<UInt8>, stride: Int) {
    let status = cairo_status(cairo)
    cairo_surface_flush(surface)
    guard status == CAIRO_STATUS_SUCCESS, let data = cairo_image_surface_get_data(surface) else {
      let message = String(cString: cairo_status_to_string(status))
      let step = "a text of \(size.width)x\(size.height) pixels could not be drawn"
      if status == CAIRO_STATUS_NO_MEMORY {
        throw RenderError.during(step)(.init(.outOfMemory, operation: "drawing", subject: "it", message: message))
      }
      throw RenderError(.infrastructure, "\(step): \(message)")
    }
    return (data, Int(cairo_image_surface_get_stride(surface)))
  }
}

extension Color {
  /// Red, green and blue multiplied by alpha, and alpha, in 65535ths.
  fileprivate var premultiplied: [UInt16] {
    let alpha = UInt32(self.alpha) * 257
    return [red, green, blue].map { UInt16((UInt32($0) * 257 * alpha + 32767) / 65535) } + [UInt16(alpha)]
  }
}

extension PixelRect {
  func grown(by margin: Int) -> PixelRect {
    PixelRect(
      x: (x - margin)..<(columns.upperBound + margin), y: (y - margin)..<(rows.upperBound + margin))
  }

  /// The smallest rectangle that has both.
  fileprivate func enclosing(_ other: PixelRect) -> PixelRect {
    PixelRect(
      x: min(x, other.x)..<max(columns.upperBound, other.columns.upperBound),
      y: min(y, other.y)..<max(rows.upperBound, other.rows.upperBound))
  }
}

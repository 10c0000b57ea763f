import CKernels
import CPango
import CompositionModel
import Glibc
import Media
import RenderTasks

/// A plane of coverage, 65535 is one.
final class CoverageMask {
  let size: PixelSize
  private let samples: SampleStorage

  var base: UnsafeMutablePointer<UInt16> { samples.base }
  /// Bytes from one row to the next.
  var stride: Int { 2 * size.width }

  /// No coverage.
  init(_ size: PixelSize) throws(RenderError) {
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

  /// That of planes of coverage, of which 16384 is one.
  convenience init(_ samples: SampleStorage, _ size: PixelSize) throws(RenderError) {
    try self.init(size)
    for index in 0..<(size.width * size.height) { base[index] = Self.widened(samples.base[index]) }
  }

  /// That of a picture, in a rectangle. Beyond the picture there is none.
  convenience init(coverageOf picture: BlendPicture, in rect: PixelRect) throws(RenderError) {
    try self.init(rect.size)
    guard let part = picture.rect.intersection(rect) else { return }
    for y in part.rows {
      let from =
        picture.plane(.coverage) + (y - picture.rect.y) * picture.rect.size.width + part.x - picture.rect.x
      let to = base + (y - rect.y) * rect.size.width + part.x - rect.x
      for x in 0..<part.size.width { to[x] = Self.widened(from[x]) }
    }
  }

  private static func widened(_ sample: UInt16) -> UInt16 { UInt16((UInt32(sample) * 65535 + 8192) / 16384) }

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
      let step = "a text or a shape of \(size.width)x\(size.height) pixels could not be drawn"
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
  var premultiplied: [UInt16] {
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
  func enclosing(_ other: PixelRect) -> PixelRect {
    PixelRect(
      x: min(x, other.x)..<max(columns.upperBound, other.columns.upperBound),
      y: min(y, other.y)..<max(rows.upperBound, other.rows.upperBound))
  }
}

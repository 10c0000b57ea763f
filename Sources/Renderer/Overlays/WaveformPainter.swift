import CKernels
import CPango
import CompositionModel
import Media
import RenderTasks

/// Draws an overlay that is a picture of sound.
final class WaveformPainter {
  private let waveform: Waveform
  private let placement: OverlayPlacement
  private let format: VideoTaskFormat
  private let meter: WaveformMeter
  private let placer: PicturePlacer
  private var shape: WaveformShape?
  /// Rises with each shape that differs from the one before.
  private var number: Int64 = 0
  /// The picture of the latest shape in its place, which is nil if it is outside the frame.
  private var drawn: BlendPicture??

  init(
    _ planned: PlannedWaveform, placement: OverlayPlacement, format: VideoTaskFormat,
    inputs: [String: any ByteSource], liveness: Liveness?
  ) throws(RenderError) {
    (waveform, self.placement, self.format) = (planned.waveform, placement, format)
    let sound = WaveformSound(planned.mix, inputs: inputs, liveness: liveness)
    meter = try mapErrors(to: RenderError.caused(.task, "a waveform has no length")) { () throws(TimeError) in
      try WaveformMeter(planned, sound)
    }
    placer = PicturePlacer(format)
  }

  /// Takes the shape of a time of the segment. Times must rise from call to call.
  /// - Returns: A number that is another one if the shape is.
  func move(to time: Rational) throws(RenderError) -> Int64 {
    let next = try meter.shape(at: time)
    if next != shape { (shape, number, drawn) = (next, number + 1, nil) }
    return number
  }

  /// The latest shape in its place. Nil if it is outside the frame.
  func picture() throws(RenderError) -> BlendPicture? {
    if let drawn { return drawn }
    let origin = placement.origin(of: waveform.size, in: format.size)
    let whole = PixelRect(x: origin.x, y: origin.y, size: waveform.size)
    var made: BlendPicture?
    if let visible = whole.intersection(PixelRect(format.size)) {
      let box = format.cell.reached(by: visible, in: format.size)
      made = try BlendPicture(
        try rgba(box.shifted(x: -origin.x, y: -origin.y)), rect: box, cell: format.cell, matrix: YCbCrMatrix(format))
    }
    drawn = .some(made)
    return made
  }

  /// The latest shape, transformed or filtered. Nil if nothing of it is in the frame.
  func picture(_ pose: OverlayPose, by chain: FilterChain) throws(RenderError) -> LayerPicture? {
    let rect = PixelRect(waveform.size).grown(by: pose.filters.reach)
    var picture = LayerPicture.blend(
      try BlendPicture(
        try rgba(rect), rect: PixelRect(rect.size), cell: ChromaCell(horizontalShift: 0, verticalShift: 0),
        matrix: YCbCrMatrix(format)))
    if !pose.filters.isEmpty { picture = try chain.apply(pose.filters, to: picture) }
    let origin = placement.origin(of: waveform.size, in: format.size)
    let rectangle = Rectangle(
      x: Double(origin.x), y: Double(origin.y), width: Double(waveform.size.width),
      height: Double(waveform.size.height))
    let place = AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: Double(origin.x + rect.x), ty: Double(origin.y + rect.y))
    let matrix = place.then(pose.turn?.matrix(in: rectangle) ?? .identity)
    if matrix.isSingular { return nil }
    let whole = Rectangle(rect.size)
    return try placer.picture(
      picture.blendPicture, .identity,
      Placement(crop: whole, visible: whole, matrix: matrix, rectangle: .identity))
  }

  /// - Parameter rect: In pixels of the picture.
  private func rgba(_ rect: PixelRect) throws(RenderError) -> RGBAPicture {
    let canvas = CairoCanvas(rect.size, CAIRO_FORMAT_A8)
    cairo_translate(canvas.cairo, Double(-rect.x), Double(-rect.y))
    cairo_rectangle(canvas.cairo, 0, 0, Double(waveform.size.width), Double(waveform.size.height))
    cairo_clip(canvas.cairo)
    cairo_set_source_rgba(canvas.cairo, 0, 0, 0, 1)
    let height = Double(waveform.size.height)
    switch shape {
    case nil: break
    case .bars(let bars):
      for bar in bars { add(bar, top: { (height - $0) / 2 }, to: canvas) }
      cairo_fill(canvas.cairo)
    case .levels(let bars):
      for bar in bars { add(bar, top: { height - $0 }, to: canvas) }
      cairo_fill(canvas.cairo)
    case .line(let upper, let lower): draw(upper, lower, on: canvas)
    }
    let picture = try RGBAPicture(rect.size)
    let mask = try CoverageMask(canvas)
    var colour = waveform.color.premultiplied
    sheaf_paint_over(
      picture.planes(), mask.base, mask.stride, &colour, Int32(rect.size.width), Int32(rect.size.height))
    try ColourConversion.graphics(format)?.convert(picture)
    return picture
  }

  private func add(_ bar: WaveformShape.Bar, top: (Double) -> Double, to canvas: CairoCanvas) {
    let (left, right) = (Double(bar.left) / WaveformShape.unit, Double(bar.right) / WaveformShape.unit)
    let height = Double(bar.height) / WaveformShape.unit
    guard left < right else { return }
    let (upper, lower) = (top(height), top(height) + height)
    let radius = min(waveform.cornerRadius, (right - left) / 2, height / 2)
    guard radius > 0 else {
      cairo_rectangle(canvas.cairo, left, upper, right - left, height)
      return
    }
    let corners = [
      (right - radius, upper + radius), (right - radius, lower - radius), (left + radius, lower - radius),
      (left + radius, upper + radius),
    ]
    cairo_new_sub_path(canvas.cairo)
    for (index, (x, y)) in corners.enumerated() {
      let angle = Double(index - 1) * Double.pi / 2
      cairo_arc(canvas.cairo, x, y, radius, angle, angle + Double.pi / 2)
    }
    cairo_close_path(canvas.cairo)
  }

  /// The area between both ends of each column, and a line around it.
  private func draw(_ upper: [Int32], _ lower: [Int32], on canvas: CairoCanvas) {
    for (column, place) in upper.enumerated() {
      cairo_line_to(canvas.cairo, Double(column) + 0.5, Double(place) / WaveformShape.unit)
    }
    for (column, place) in lower.enumerated().reversed() {
      cairo_line_to(canvas.cairo, Double(column) + 0.5, Double(place) / WaveformShape.unit)
    }
    cairo_close_path(canvas.cairo)
    cairo_set_line_width(canvas.cairo, waveform.lineWidth)
    cairo_set_line_join(canvas.cairo, CAIRO_LINE_JOIN_ROUND)
    cairo_fill_preserve(canvas.cairo)
    cairo_stroke(canvas.cairo)
  }
}

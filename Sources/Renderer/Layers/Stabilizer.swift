import CKernels
import CompositionModel
import Foundation
import Media
import RenderTasks

/// Moves, turns and enlarges the pictures of a source, so that the motion of its camera is even.
final class Stabilizer {
  private let planned: PlannedStabilization
  private let title: String
  /// What is shown of a stored picture of the described size.
  private let aperture: PixelRect?
  private let size: PixelSize
  private let colour: ColourTags
  /// The width of a pixel of which the height is 1.
  private let aspect: Double
  private let chroma: ChromaSite
  private let sampler = PlaneSampler()
  /// The latest picture.
  private var latest: (stored: Frame, frame: Frame)?
  /// From pictures of a size and a format to one with a plane for each component.
  private var scaler: (size: PixelSize, format: FrameFormat, scaler: FrameScaler)?

  init(_ planned: PlannedStabilization, _ source: PlannedSource) {
    self.planned = planned
    let video = source.video
    (aperture, size, colour, title) = (video.cleanAperture, video.size, video.colour, source.title)
    aspect = Double(video.pixelAspect.horizontal) / Double(video.pixelAspect.vertical)
    chroma = ChromaSite(tag: video.colour.chromaLocation)
  }

  /// A picture in its place, with the timestamp that it has.
  func frame(_ frame: Frame) throws(RenderError) -> Frame {
    if let latest, latest.stored === frame, latest.frame.pts == frame.pts { return latest.frame }
    let made = try mapErrors(to: RenderError.during("\(title): stabilizing a picture")) { () throws(MediaError) in
      try moved(planar(frame), by: planned.place(of: frame.pts))
    }
    latest = (frame, made)
    return made
  }

  /// A picture with a plane for each component.
  private func planar(_ frame: Frame) throws(MediaError) -> Frame {
    if frame.format.planarDepth != nil { return frame }
    let name = frame.format.bitDepth > 8 ? "gbrp16le" : "gbrp"
    let format =
      frame.format.isYCbCr
      ? frame.format.withFullChroma
      : FrameFormat(name: frame.format.hasAlpha ? name.replacing("gbrp", with: "gbrap") : name) ?? frame.format
    let scaler: FrameScaler
    if let known = self.scaler, known.size == frame.size, known.format == frame.format {
      scaler = known.scaler
    } else {
      scaler = try FrameScaler(
        from: .init(size: frame.size, format: frame.format, colour: colour, chromaSite: chroma),
        to: .init(size: frame.size, format: format, colour: colour, chromaSite: chroma), hasFullChroma: true)
      self.scaler = (frame.size, frame.format, scaler)
    }
    let planar = try frame.blank(format)
    try scaler.scale(frame, into: planar)
    return planar
  }

  private func moved(_ frame: Frame, by place: MotionStep) throws(MediaError) -> Frame {
    let made = try frame.blank(frame.format)
    let depth = frame.format.planarDepth ?? 8
    let luma = map(place, of: frame)
    for plane in 0..<frame.format.planeCount {
      let isChroma = (plane == 1 || plane == 2) && !frame.format.isRGB
      let shift: (horizontal: Int, vertical: Int) = isChroma ? frame.format.chromaShift : (0, 0)
      let (bytes, rows) = frame.extent(ofPlane: plane)
      let width = bytes / (depth > 8 ? 2 : 1)
      let map = luma.ofChroma(
        across: 1 << shift.horizontal, down: 1 << shift.vertical, isChroma ? chroma : ChromaSite(tag: nil))
      let whole = sheaf_span(start: 0, inner_start: 0, inner_end: Int32(width), end: Int32(width))
      frame.withPlane(plane) { from in
        made.withMutablePlane(plane) { to in
          func samples(_ base: UnsafeMutableRawPointer, _ stride: Int) -> SamplePlane {
            SamplePlane(
              base: base, stride: stride, width: width, height: rows, depth: depth, highest: (1 << depth) - 1)
          }
          sampler.sample(
            samples(UnsafeMutableRawPointer(mutating: from), frame.stride(ofPlane: plane)), map,
            into: samples(to, made.stride(ofPlane: plane)), spans: Array(repeating: whole, count: rows))
        }
      }
    }
    return made
  }

  /// Where the samples of luma are taken from.
  private func map(_ place: MotionStep, of frame: Frame) -> PlaneMap {
    let shown = frame.size == size ? aperture ?? PixelRect(frame.size) : PixelRect(frame.size)
    let middle = (
      x: Double(shown.x) + Double(shown.size.width) / 2, y: Double(shown.y) + Double(shown.size.height) / 2
    )
    let angle = Double(place.angle) / MotionStep.unitsOfRadian
    let (cosine, sine) = (cos(angle) / planned.zoom, sin(angle) / planned.zoom)
    // From the middle of the first sample.
    let (x, y) = ((0.5 - middle.x) * aspect, 0.5 - middle.y)
    return PlaneMap(
      a: cosine, b: sine * aspect, c: -sine / aspect, d: cosine,
      u: (cosine * x - sine * y + Double(place.x) / MotionStep.unitsOfPixel) / aspect + middle.x - 0.5,
      v: sine * x + cosine * y + Double(place.y) / MotionStep.unitsOfPixel + middle.y - 0.5)
  }
}

extension PlaneMap {
  /// The map of samples of which each has a cell of this map's samples.
  fileprivate func ofChroma(across: Int, down: Int, _ site: ChromaSite) -> PlaneMap {
    if across == 1, down == 1 { return self }
    let (width, height) = (Double(across), Double(down))
    // Of the first one, in samples of this map.
    let x = across == 1 ? 0 : site.across.distance(in: across) - 0.5
    let y = down == 1 ? 0 : site.down.distance(in: down) - 0.5
    return PlaneMap(
      a: a, b: b * width / height, c: c * height / width, d: d, u: (u + a * x + c * y - x) / width,
      v: (v + b * x + d * y - y) / height)
  }
}

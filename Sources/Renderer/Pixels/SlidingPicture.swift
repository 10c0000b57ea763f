import CKernels
import CompositionModel
import Media
import RenderTasks

/// How far a picture of the whole frame has moved along one axis, in 1/16384 of a pixel; right and down are positive.
///
/// A sample between two samples of the picture is their weighted mean. Beyond the picture's edge its last sample is
/// repeated twice, as far as the edge of the matte between both pictures reaches in chroma; what lies farther away is
/// not drawn, because there the picture has no share.
struct Displacement {
  let isVertical: Bool
  let amount: Int

  /// The movements of the two pictures of a slide or a push. Nil for one that stays, as those of all other kinds do.
  static func of(
    _ kind: TransitionKind, progress: Double, size: PixelSize
  ) -> (from: Displacement?, to: Displacement?) {
    let direction: SlideDirection
    switch kind {
    case .slide(let slide): direction = slide
    case .push(let push): direction = push
    default: return (nil, nil)
    }
    let (x, y) = direction.vector
    let way = x == 0 ? size.height : size.width
    // B comes from the side that it moves away from, and A is always a frame's width or height before it.
    let rest = Int((Double(way) * (1 - progress) * Double(Weight.one)).rounded())
    let to = -(x + y) * rest
    let moved = Displacement(isVertical: x == 0, amount: to)
    guard case .push = kind else { return (nil, moved) }
    return (Displacement(isVertical: x == 0, amount: to + (x + y) * way * Weight.one), moved)
  }

  /// The samples by which a plane has moved, and the rest in 1/16384.
  fileprivate func steps(shift: Int) -> (whole: Int, rest: Int) {
    let amount = amount >> shift
    return (amount >> 14, amount & (Weight.one - 1))
  }

  /// The rows or columns of a plane of which both neighbours are in the picture.
  fileprivate static func inside(_ length: Int, whole: Int) -> Range<Int> {
    let start = min(length, max(0, whole + 1))
    return start..<max(start, min(length, length + whole))
  }
}

extension Planes {
  /// Draws a part of another frame that has this frame's size, moved.
  func draw(_ other: Planes, at part: PixelRect, moved: Displacement) {
    let source = other.parts(part)
    for (index, to) in parts(PixelRect(part.size)).enumerated() {
      let isChroma = index > 0
      let shift = !isChroma ? 0 : moved.isVertical ? cell.verticalShift : cell.horizontalShift
      let (whole, rest) = moved.steps(shift: shift)
      let from = source[index]
      if sampleBytes == 1 {
        MovedPlane(
          to: to.bytes, toStride: to.stride, from: from.bytes, fromStride: from.stride, width: Int(to.width),
          height: Int(to.height)
        ).draw(whole, rest, isVertical: moved.isVertical, Kernels.best.mix8)
      } else {
        MovedPlane(
          to: to.words, toStride: to.stride, from: from.words, fromStride: from.stride, width: Int(to.width),
          height: Int(to.height)
        ).draw(whole, rest, isVertical: moved.isVertical, Kernels.best.mix16)
      }
    }
  }
}

extension BlendPicture {
  /// This picture as one of the whole frame, transparent where it is not.
  func sheet(_ frame: PixelSize, weight: Int = Weight.one) throws(RenderError) -> BlendPicture {
    let sheet = try BlendPicture(rect: PixelRect(frame), cell: cell)
    for plane in Plane.allCases {
      let (part, whole) = (rect(of: plane), sheet.rect(of: plane))
      let to = sheet.plane(plane) + part.y * whole.size.width + part.x
      Kernels.best.mix16(
        to, sheet.strideInBytes(plane), self.plane(plane), strideInBytes(plane), to, sheet.strideInBytes(plane),
        Int32(part.size.width), Int32(part.size.height), Int32(weight), 0)
    }
    return sheet
  }

  /// The same at a weight, moved.
  func sheet(_ frame: PixelSize, weight: Int, moved: Displacement) throws(RenderError) -> BlendPicture {
    let still = try sheet(frame, weight: weight)
    let result = try BlendPicture(rect: PixelRect(frame), cell: cell)
    for plane in Plane.allCases {
      let whole = still.rect(of: plane)
      let (stride, width, height) = (still.strideInBytes(plane), whole.size.width, whole.size.height)
      let shift = !plane.isChroma ? 0 : moved.isVertical ? cell.verticalShift : cell.horizontalShift
      let (steps, rest) = moved.steps(shift: shift)
      MovedPlane(
        to: result.plane(plane), toStride: stride, from: still.plane(plane), fromStride: stride, width: width,
        height: height
      ).draw(steps, rest, isVertical: moved.isVertical, Kernels.best.mix16)
    }
    return result
  }
}

/// A plane and where it is drawn, moved. Strides are in bytes.
private struct MovedPlane<Sample> {
  /// A mix of `struct sheaf_kernels`.
  typealias Mix = (
    UnsafeMutablePointer<Sample>?, Int, UnsafePointer<Sample>?, Int, UnsafePointer<Sample>?, Int, Int32, Int32, Int32,
    Int32
  ) -> Void

  let to: UnsafeMutablePointer<Sample>
  let toStride: Int
  let from: UnsafeMutablePointer<Sample>
  let fromStride: Int
  let width: Int
  let height: Int

  private func target(_ x: Int, _ y: Int) -> UnsafeMutablePointer<Sample> {
    (UnsafeMutableRawPointer(to) + y * toStride).assumingMemoryBound(to: Sample.self) + x
  }

  private func source(_ x: Int, _ y: Int) -> UnsafeMutablePointer<Sample> {
    (UnsafeMutableRawPointer(from) + y * fromStride).assumingMemoryBound(to: Sample.self) + x
  }

  func draw(_ whole: Int, _ rest: Int, isVertical: Bool, _ mix: Mix) {
    let (weight, restWeight) = (Int32(Weight.one - rest), Int32(rest))
    let length = isVertical ? height : width
    let inside = Displacement.inside(length, whole: whole)
    // The places beyond the edges that are in the frame, where the first and the last sample are.
    func within(_ places: ClosedRange<Int>) -> Range<Int> { Range(places).clamped(to: 0..<length) }
    let (before, after) = (within((whole - 1)...whole), within((length + whole)...(length + whole + 1)))
    if isVertical {
      if !inside.isEmpty {
        mix(
          target(0, inside.lowerBound), toStride, source(0, inside.lowerBound - whole), fromStride,
          source(0, inside.lowerBound - whole - 1), fromStride, Int32(width), Int32(inside.count), weight, restWeight)
      }
      for row in before { target(0, row).update(from: source(0, 0), count: width) }
      for row in after { target(0, row).update(from: source(0, height - 1), count: width) }
      return
    }
    if !inside.isEmpty {
      mix(
        target(inside.lowerBound, 0), toStride, source(inside.lowerBound - whole, 0), fromStride,
        source(inside.lowerBound - whole - 1, 0), fromStride, Int32(inside.count), Int32(height), weight, restWeight)
    }
    for row in 0..<height {
      for column in before { target(column, row).pointee = source(0, row).pointee }
      for column in after { target(column, row).pointee = source(width - 1, row).pointee }
    }
  }
}

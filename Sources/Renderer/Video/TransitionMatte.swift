import CKernels
import CompositionModel
import RenderTasks

/// The share of the second picture for each pixel of a frame, in 1/16384, at one progress of a transition.
///
/// Every shape has a field of values 0…1, which say when a pixel is reached, and an edge that passes through them. The
/// share of a pixel of value d is 1/2 + (e - d)/w, limited to 0…1, where w is the softness plus the change of the field
/// from one pixel to the next, and e goes from where no pixel has a share to where every one has all. So a sharp edge
/// that is parallel to the pixels covers each by exactly the part of it that is behind the edge. The share of a chroma
/// sample is that of its place in the cell: the weighted mean of the pixels around it (`sheaf_subsample16`).
///
/// A dissolve of changed pictures has one share everywhere, and where B is smaller than the frame, that share times the
/// part of a pixel that B's frame covers.
struct TransitionMatte {
  private enum Shape {
    /// `corner + x·across + y·down`.
    case plane(corner: Double, across: Double, down: Double)
    /// `centre - slope·r` at r pixels from a point in pixels.
    case circle(x: Double, y: Double, centre: Double, slope: Double)
    /// `min(limit, peak - slope·|x|)` at x pixels from a point, both of which fall with the distance in rows.
    case tent(x: Double, y: Double, peak: Falling, slope: Double, limit: Falling)
    case clock(x: Double, y: Double, progress: Double, softness: Double)
    /// A share within a shape, of whose rows each has edges from a place in the shape's on.
    case shape(Renderer.Shape, edges: [Int], share: Int)
    /// `first + step·level`, in 2^-32 of a share's unit.
    case levels(MatteLevels, first: Int64, step: Int64)
  }

  /// `value - slope·distance`.
  private struct Falling {
    var value: Double
    var slope = 0.0

    func at(_ distance: Double) -> Double { value - slope * abs(distance) }
  }

  private let shape: Shape
  private let size: PixelSize

  /// The matte of a kind at a progress. Nil for a kind without one.
  /// - Parameter levels: The levels of the matte of a luma transition.
  init?(_ kind: TransitionKind, progress: Double, size: PixelSize, levels: MatteLevels?) {
    self.size = size
    switch kind {
    case .dissolve, .fade, .custom: return nil
    case .wipe(let direction, let softness):
      let (x, y) = direction.vector
      shape = Self.plane(x: x, y: y, progress: progress, softness: softness, size: size)
    case .slide(let direction), .push(let direction):
      let (x, y) = direction.vector
      shape = Self.plane(x: x, y: y, progress: progress, softness: 0, size: size)
    case .circle(let x, let y, let softness):
      let (x, y) = (x * Double(size.width), y * Double(size.height))
      let (across, down) = (max(x, Double(size.width) - x), max(y, Double(size.height) - y))
      let radius = (across * across + down * down).squareRoot()
      let edge = Edge(progress: progress, width: softness + 1 / radius)
      shape = .circle(x: x, y: y, centre: edge.share(of: 0), slope: edge.slope / radius)
    case .clock(let x, let y, let softness):
      let (x, y) = (x * Double(size.width), y * Double(size.height))
      shape = .clock(x: x, y: y, progress: progress, softness: softness)
    case .iris(let iris, let x, let y, let softness):
      shape = Self.iris(iris, x: x, y: y, progress: progress, softness: softness, size: size)
    case .blur, .pixelate: shape = .plane(corner: progress * Double(Weight.one), across: 0, down: 0)
    case .zoom, .spin:
      // A dissolve is within B's frame, which B fills at the end.
      let share = kind == .zoom ? Weight.of(progress) : Weight.one
      let place = SideChange.place(ofB: kind, progress: progress, size: size)
      let frame = Renderer.Shape(place.corners(of: Rectangle(size)), in: size)
      var edges = [0]
      for span in frame.spans {
        edges.append((edges.last ?? 0) + Int(span.inner_start - span.start + span.end - span.inner_end))
      }
      shape = .shape(frame, edges: edges, share: share)
    case .luma(let softness, let isInverted):
      guard let levels else { return nil }
      let edge = Edge(progress: progress, width: softness + 1.0 / 255)
      let first = fixed(edge.share(of: isInverted ? 1 : 0))
      let step = fixed(edge.slope / 65535)
      shape = .levels(levels, first: first, step: isInverted ? step : -step)
    }
  }

  /// An edge that moves in a direction, which is -1, 0 or 1 along each axis.
  private static func plane(x: Int, y: Int, progress: Double, softness: Double, size: PixelSize) -> Shape {
    let axes = Double(abs(x) + abs(y))
    // The field's change from one pixel to the next.
    let across = Double(x) / (Double(size.width) * axes)
    let down = Double(y) / (Double(size.height) * axes)
    let pixel = abs(across) + abs(down)
    // The middle of the first pixel that is reached has the value pixel/2, and that of the last one 1 - pixel/2.
    let edge = Edge(progress: progress, width: softness + pixel, from: pixel / 2, to: 1 - pixel / 2)
    let corner =
      (x < 0 ? 1 / axes : 0) + across / 2 + (y < 0 ? 1 / axes : 0) + down / 2
    return .plane(corner: edge.share(of: corner), across: -edge.slope * across, down: -edge.slope * down)
  }

  /// A shape that grows. It has an edge along each axis, or one that crosses the pixels.
  private static func iris(
    _ iris: IrisShape, x: Double, y: Double, progress: Double, softness: Double, size: PixelSize
  ) -> Shape {
    let (farX, farY) = (max(x, 1 - x), max(y, 1 - y))
    let reach = iris == .rectangle ? max(farX, farY) : farX + farY
    // The field's change from one pixel to the next.
    let (across, down) = (1 / (Double(size.width) * reach), 1 / (Double(size.height) * reach))
    let columns = Edge(progress: progress, width: softness + (iris == .rectangle ? across : across + down))
    let rows = Edge(progress: progress, width: softness + down)
    let (peak, one) = (columns.share(of: 0), Double(Weight.one))
    return .tent(
      x: x * Double(size.width), y: y * Double(size.height),
      peak: Falling(value: peak, slope: iris == .rectangle ? 0 : columns.slope * down),
      slope: columns.slope * across,
      limit: iris == .rectangle
        ? Falling(value: rows.share(of: 0), slope: rows.slope * down) : Falling(value: one))
  }

  /// Where the edge is at a progress.
  private struct Edge {
    private let position: Double
    /// The slope of the shares over a field's values, negated, in 1/16384.
    let slope: Double

    /// - Parameters:
    ///   - width: Over which the share goes from 0 to one.
    ///   - from: The least value of the field.
    ///   - to: The greatest value of the field.
    init(progress: Double, width: Double, from: Double = 0, to: Double = 1) {
      position = from - width / 2 + progress * (to - from + width)
      slope = Double(Weight.one) / width
    }

    func share(of value: Double) -> Double { Double(Weight.one) / 2 + (position - value) * slope }
  }

  /// Whether all rows are equal.
  var isUniform: Bool {
    if case .plane(_, _, 0) = shape { true } else { false }
  }

  /// Computes the shares of a row of pixels.
  func row(_ y: Int, into shares: UnsafeMutablePointer<UInt16>) {
    let count = Int32(size.width)
    switch shape {
    case .plane(let corner, let across, let down):
      sheaf_matte_line(shares, count, fixed(corner + Double(y) * down), fixed(across))
    case .circle(let x, let centreY, let centre, let slope):
      sheaf_matte_circle(shares, count, 0.5 - x, Double(y) + 0.5 - centreY, centre, slope)
    case .tent(let x, let centreY, let peak, let slope, let limit):
      let distance = Double(y) + 0.5 - centreY
      sheaf_matte_tent(shares, count, 0.5 - x, peak.at(distance), slope, limit.at(distance))
    case .clock(let x, let centreY, let progress, let softness):
      sheaf_matte_clock(shares, count, 0.5 - x, Double(y) + 0.5 - centreY, progress, softness)
    case .shape(let frame, let edges, let share):
      withUnsafePointer(to: frame.spans[y]) { span in
        frame.edges.withUnsafeBufferPointer { all in
          // A shape without edges has no memory for them.
          let own = all.baseAddress.map { $0 + edges[y] }
          sheaf_matte_shape(shares, count, span, own, Int32(share))
        }
      }
    case .levels(let levels, let first, let step):
      sheaf_matte_levels(shares, levels.row(y), count, first, step)
    }
  }
}

/// In units of 2^-32.
private func fixed(_ value: Double) -> Int64 { Int64((value * 4_294_967_296).rounded()) }

/// The luma of a still picture that is stretched to the frame, 0…65535.
final class MatteLevels {
  private let size: PixelSize
  private let samples: SampleStorage

  init(_ picture: RGBAPicture) throws(RenderError) {
    size = picture.size
    samples = try SampleStorage(count: size.width * size.height)
    sheaf_matte_luma(samples.base, size.width * 2, picture.planes(), Int32(size.width), Int32(size.height))
  }

  func row(_ y: Int) -> UnsafePointer<UInt16> { UnsafePointer(samples.base + y * size.width) }
}

extension WipeDirection {
  /// Right and down are positive.
  fileprivate var vector: (x: Int, y: Int) {
    switch self {
    case .left: (-1, 0)
    case .right: (1, 0)
    case .up: (0, -1)
    case .down: (0, 1)
    case .upLeft: (-1, -1)
    case .upRight: (1, -1)
    case .downLeft: (-1, 1)
    case .downRight: (1, 1)
    }
  }
}

extension SlideDirection {
  /// Right and down are positive.
  var vector: (x: Int, y: Int) {
    switch self {
    case .left: (-1, 0)
    case .right: (1, 0)
    case .up: (0, -1)
    case .down: (0, 1)
    }
  }
}

extension Planes {
  /// Sets this whole frame to the mix of parts of two frames that have its size, by a matte. Either may be this frame.
  /// - Parameter cell: with the place of the film's chroma.
  func mix(
    _ size: PixelSize, _ a: (planes: Planes, at: PixelRect), _ b: (planes: Planes, at: PixelRect),
    by matte: TransitionMatte, cell: ChromaCell
  ) throws(RenderError) {
    let targets = parts(PixelRect(size))
    let (ofA, ofB) = (a.planes.parts(a.at), b.planes.parts(b.at))
    let width = size.width
    // The shares of the last four rows of pixels, then of a row of chroma samples, which is made of three at most.
    let shares = try SampleStorage(count: 5 * width)
    func shareRow(_ row: Int) -> UnsafeMutablePointer<UInt16> { shares.base + row % 4 * width }
    let chromaShares = shares.base + 4 * width
    let subsampling = cell.subsampling(repeatsLeft: true, repeatsTop: true)
    func mixRows(_ plane: Int, _ row: Int, _ count: Int, _ shares: UnsafeMutablePointer<UInt16>) {
      let (to, a, b) = (targets[plane], ofA[plane], ofB[plane])
      if sampleBytes == 1 {
        MatteKernels.best.mix8(
          to.bytes + row * to.stride, to.stride, a.bytes + row * a.stride, a.stride, b.bytes + row * b.stride,
          b.stride, shares, 0, to.width, Int32(count))
      } else {
        func words(_ part: Part) -> UnsafeMutablePointer<UInt16> {
          (part.base + row * part.stride).assumingMemoryBound(to: UInt16.self)
        }
        MatteKernels.best.mix16(
          words(to), to.stride, words(a), a.stride, words(b), b.stride, shares, 0, to.width, Int32(count))
      }
    }
    if matte.isUniform {
      matte.row(0, into: shares.base)
      var ofColumns = subsampling
      ofColumns.shift_y = 0
      var rows: [UnsafePointer<UInt16>?] = [UnsafePointer(shares.base), nil, nil]
      sheaf_subsample_row16(chromaShares, &rows, Int32(width), ofColumns)
      mixRows(0, 0, size.height, shares.base)
      for chroma in 1...2 { mixRows(chroma, 0, Int(targets[chroma].height), chromaShares) }
      return
    }
    let reach = cell.rowsOfSample
    var rows = [UnsafePointer<UInt16>?](repeating: nil, count: 3)
    var next = 0
    for (number, top) in stride(from: 0, to: size.height, by: cell.height).enumerated() {
      while next < min(size.height, top + max(cell.height, reach.upperBound)) {
        matte.row(next, into: shareRow(next))
        mixRows(0, next, 1, shareRow(next))
        next += 1
      }
      for (index, row) in reach.enumerated() {
        rows[index] = UnsafePointer(shareRow(min(size.height - 1, max(0, top + row))))
      }
      sheaf_subsample_row16(chromaShares, &rows, Int32(width), subsampling)
      for chroma in 1...2 { mixRows(chroma, number, 1, chromaShares) }
    }
  }
}

private enum MatteKernels {
  /// The fastest version that this processor runs.
  static let best = sheaf_matte_kernels_best().pointee
}

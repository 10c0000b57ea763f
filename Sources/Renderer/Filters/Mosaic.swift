import CKernels
import CompositionModel

/// Blocks of one colour, whose corners meet in the centre of what is seen of a picture. A sample is in the block that
/// its centre is in; that of a chroma sample is taken to be the centre of its cell.
struct Mosaic {
  /// The side of a block in luma samples across, and down.
  let across: Double
  let down: Double
  /// The centre in luma samples.
  let centre: (x: Double, y: Double)

  init(size: Double, _ lengths: FilterLengths) {
    across = size / lengths.across
    down = size / lengths.down
    centre = (lengths.seen.x + lengths.seen.width / 2, lengths.seen.y + lengths.seen.height / 2)
  }

  func apply(to work: FilterPicture) {
    let cell = work.planes.cell
    for plane in BlendPicture.Plane.allCases {
      if work.isOpaque, plane == .coverage || plane == .chromaCoverage { continue }
      let size = work.planes.rect(of: plane).size
      let columns = Self.ends(size.width, step: plane.isChroma ? cell.width : 1, from: centre.x, side: across)
      let rows = Self.ends(size.height, step: plane.isChroma ? cell.height : 1, from: centre.y, side: down)
      sheaf_filter_mosaic(
        work.planes.plane(plane), work.planes.strideInBytes(plane), columns, Int32(columns.count), rows,
        Int32(rows.count))
    }
  }

  /// Where blocks end along a side of samples that are `step` luma samples apart.
  private static func ends(_ count: Int, step: Int, from centre: Double, side: Double) -> [Int32] {
    func block(_ sample: Int) -> Double { (((Double(sample) + 0.5) * Double(step) - centre) / side).rounded(.down) }
    var ends = (1..<max(1, count)).filter { block($0) != block($0 - 1) }.map(Int32.init)
    ends.append(Int32(count))
    return ends
  }
}

import CKernels
import CompositionModel
import RenderTasks

/// How much of a vignetted picture's colours is kept, by place: 1 - amount·s, where s rises from 0 at `radius` to 1 at
/// `radius` + `softness`, as t²(3 - 2t). Distances from the picture's centre are in halves of its diagonal.
struct VignetteMap {
  struct Key: Equatable {
    var size: PixelSize
    var cell: ChromaCell
    var lengths: FilterLengths
    var amount: Double
    var radius: Double
    var softness: Double
  }

  /// In 1/16384, row by row.
  let luma: SampleStorage
  /// The same at the centres of the chroma samples.
  let chroma: SampleStorage

  init(_ key: Key) throws(RenderError) {
    luma = try VignetteMap.plane(key, size: key.size, stepX: 1, stepY: 1)
    chroma = try VignetteMap.plane(
      key, size: key.cell.chroma(PixelRect(key.size)).size, stepX: key.cell.width, stepY: key.cell.height)
  }

  private static func plane(_ key: Key, size: PixelSize, stepX: Int, stepY: Int) throws(RenderError) -> SampleStorage {
    let plane = try SampleStorage(count: size.width * size.height)
    let (lengths, seen) = (key.lengths, key.lengths.seen)
    let (halfX, halfY) = (seen.width / 2 * lengths.across, seen.height / 2 * lengths.down)
    let (centreX, centreY) = (seen.x + seen.width / 2, seen.y + seen.height / 2)
    let scale = 1 / (halfX * halfX + halfY * halfY)
    let across = (0..<size.width).map { x in
      let distance = ((Double(x) + 0.5) * Double(stepX) - centreX) * lengths.across
      return distance * distance * scale
    }
    let falloff = sheaf_falloff(amount: key.amount, radius: key.radius, softness: key.softness)
    for y in 0..<size.height {
      let distance = ((Double(y) + 0.5) * Double(stepY) - centreY) * lengths.down
      FilterKernels.best.pointee.falloff(
        plane.base + y * size.width, across, distance * distance * scale, falloff, Int32(size.width))
    }
    return plane
  }
}

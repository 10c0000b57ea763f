import CompositionModel
import TestPrograms
import Testing

@testable import Renderer

@Suite struct OrientationStepsTests {
  /// Every orientation at every pixel size, against moving one pixel at a time: first mirrored, then rotated clockwise.
  @Test(arguments: [0, 90, 180, 270], [1, 2, 3, 4, 8])
  func `every pixel goes to its place`(clockwise: Int, bytes: Int) {
    var generator = SeededRandom(seed: 7)
    for isMirrored in [false, true] {
      let orientation = Orientation(clockwise: clockwise, isMirrored: isMirrored)
      let (width, height) = (37, 21)
      let from = (0..<(width * height * bytes)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let turnedWidth = orientation.swapsAxes ? height : width
      var right = from
      for y in 0..<height {
        for x in 0..<width {
          var (tx, ty) = (isMirrored ? width - 1 - x : x, y)
          switch clockwise {
          case 90: (tx, ty) = (height - 1 - ty, tx)
          case 180: (tx, ty) = (width - 1 - tx, height - 1 - ty)
          case 270: (tx, ty) = (ty, width - 1 - tx)
          default: break
          }
          for byte in 0..<bytes {
            right[(ty * turnedWidth + tx) * bytes + byte] = from[(y * width + x) * bytes + byte]
          }
        }
      }
      var to = [UInt8](repeating: 0, count: from.count)
      from.withUnsafeBufferPointer { from in
        to.withUnsafeMutableBufferPointer { to in
          guard let from = from.baseAddress, let to = to.baseAddress else { return }
          OrientationSteps(orientation).apply(
            from: from, fromStride: width * bytes, size: PixelSize(width: width, height: height), pixelBytes: bytes,
            to: to, toStride: turnedWidth * bytes)
        }
      }
      #expect(to == right)
    }
  }
}

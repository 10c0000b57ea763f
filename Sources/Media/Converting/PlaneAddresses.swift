internal import CMedia

/// Where a frame's planes begin, counted from a pixel that is not the first.
struct PlaneAddresses {
  private var bytes: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
  private var strides: (Int32, Int32, Int32, Int32)

  init(_ frame: Frame, x: Int, y: Int) {
    let data = frame.pointer.pointee.data
    let lines = frame.pointer.pointee.linesize
    strides = (lines.0, lines.1, lines.2, lines.3)
    let steps = frame.format.pixelSteps
    let (across, down) = frame.format.chromaShift
    let isPaletted = frame.format.isPaletted
    func address(_ base: UnsafeMutablePointer<UInt8>?, _ plane: Int, _ stride: Int32) -> UnsafePointer<UInt8>? {
      guard let base, !(isPaletted && plane == 1) else { return base.map { UnsafePointer($0) } }
      let isChroma = (plane == 1 || plane == 2) && !frame.format.isRGB
      let row = isChroma ? y >> down : y
      let column = isChroma ? x >> across : x
      return UnsafePointer(base + row * Int(stride) + column * steps[plane])
    }
    bytes = (
      address(data.0, 0, lines.0), address(data.1, 1, lines.1), address(data.2, 2, lines.2), address(data.3, 3, lines.3)
    )
  }

  func address(ofPlane plane: Int) -> UnsafeMutableRawPointer? {
    let bytes = [bytes.0, bytes.1, bytes.2, bytes.3]
    return bytes[plane].map { UnsafeMutableRawPointer(mutating: $0) }
  }

  /// The same addresses as libswscale takes them, to be read or to be written.
  mutating func withBytes<R>(
    _ body: (UnsafePointer<UnsafePointer<UInt8>?>, UnsafePointer<Int32>) -> R
  ) -> R {
    withUnsafePointer(to: &strides) { strides in
      withUnsafePointer(to: &bytes) { bytes in
        let strides = UnsafeRawPointer(strides).assumingMemoryBound(to: Int32.self)
        let bytes = UnsafeRawPointer(bytes).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        return body(bytes, strides)
      }
    }
  }

  mutating func withMutableBytes<R>(
    _ body: (UnsafePointer<UnsafeMutablePointer<UInt8>?>, UnsafePointer<Int32>) -> R
  ) -> R {
    withBytes { (bytes: UnsafePointer<UnsafePointer<UInt8>?>, strides: UnsafePointer<Int32>) in
      body(UnsafeRawPointer(bytes).assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self), strides)
    }
  }
}

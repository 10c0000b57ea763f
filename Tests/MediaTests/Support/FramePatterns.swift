import Media

extension Frame {
  /// Equal, within one run, for frames of equal pixels, and different for others except by a chance of 2^-64.
  var digest: Int {
    var hasher = Hasher()
    for plane in 0..<format.planeCount {
      let (bytesPerRow, rows) = extent(ofPlane: plane)
      let stride = stride(ofPlane: plane)
      withPlane(plane) { base in
        for row in 0..<rows {
          hasher.combine(bytes: UnsafeRawBufferPointer(start: base + row * stride, count: bytesPerRow))
        }
      }
    }
    return hasher.finalize()
  }

  /// Fills every plane with a pattern that differs from frame to frame.
  func fillWithPattern(_ seed: Int) {
    for plane in 0..<format.planeCount {
      let (bytesPerRow, rows) = extent(ofPlane: plane)
      let stride = stride(ofPlane: plane)
      let isDeep = format.bitDepth > 8
      withMutablePlane(plane) { base in
        for row in 0..<rows {
          for column in 0..<(isDeep ? bytesPerRow / 2 : bytesPerRow) {
            let value = (column * (seed % 5 + 1) + row * 3 + seed * 7 + (column & row & 24)) & 0xff
            if isDeep {
              (base + row * stride).storeBytes(of: UInt16(value * 4), toByteOffset: column * 2, as: UInt16.self)
            } else {
              (base + row * stride).storeBytes(of: UInt8(value), toByteOffset: column, as: UInt8.self)
            }
          }
        }
      }
    }
  }
}

public import CompositionModel

/// A plane of a picture. Luma has a sample for each pixel, as alpha has; chroma has fewer if the format is subsampled.
public enum PixelPlane: Int, Sendable, Hashable, CaseIterable {
  case luma, cb, cr
  /// How much of a pixel is covered: 0 is transparent, the highest number opaque. A picture without transparency has no
  /// such plane.
  case alpha
}

/// The type of a sample: `UInt8` in formats of 8 bits, otherwise `UInt16`.
public protocol PixelSample: FixedWidthInteger, UnsignedInteger, BitwiseCopyable, Sendable {}

extension UInt8: PixelSample {}
extension UInt16: PixelSample {}

/// What is common to all pictures of a film: their size, their format, and what their numbers mean.
package struct PixelLayout: Sendable {
  package var size: PixelSize
  package var format: PixelFormat
  package var colour: ColourTags
  /// The weights of red and blue in luma.
  package var weights: (red: Float, blue: Float)
  /// The codes of black and of no colour, and how many codes each of luma and chroma has.
  package var luma: (offset: Float, scale: Float)
  package var chroma: (offset: Float, scale: Float)

  package init(
    size: PixelSize, format: PixelFormat, colour: ColourTags, weights: (red: Float, blue: Float),
    luma: (offset: Float, scale: Float), chroma: (offset: Float, scale: Float)
  ) {
    (self.size, self.format, self.colour) = (size, format, colour)
    (self.weights, self.luma, self.chroma) = (weights, luma, chroma)
  }

  @inline(__always) var shift: (horizontal: Int, vertical: Int) { format.chromaShift }
  @inline(__always) var isDeep: Bool { format.bitDepth > 8 }
  var highest: Int { 1 << format.bitDepth - 1 }

  func size(of plane: PixelPlane) -> PixelSize {
    guard plane == .cb || plane == .cr else { return size }
    let (across, down) = shift
    return PixelSize(width: -(-size.width >> across), height: -(-size.height >> down))
  }
}

/// The memory of the planes.
struct PixelMemory: @unchecked Sendable {
  // Sendable because what owns the memory changes it only while no picture that is read is on it.
  struct Plane {
    let base: UnsafeMutableRawPointer
    /// Bytes from one row to the next.
    let stride: Int
    let size: PixelSize
  }

  let layout: PixelLayout
  let luma: Plane
  let cb: Plane
  let cr: Plane
  let alpha: Plane?
  /// Keeps the memory. Nil if the caller of whoever uses it does.
  let owner: AnyObject?

  func plane(_ plane: PixelPlane) -> Plane {
    switch plane {
    case .luma: return luma
    case .cb: return cb
    case .cr: return cr
    case .alpha:
      guard let alpha else { preconditionFailure("this picture has no alpha plane") }
      return alpha
    }
  }

  func load(_ name: PixelPlane, _ x: Int, _ y: Int) -> Int {
    let plane = plane(name)
    precondition(
      x >= 0 && x < plane.size.width && y >= 0 && y < plane.size.height,
      "(\(x), \(y)) is outside of the \(name) plane of \(plane.size.width)x\(plane.size.height) samples")
    let row = plane.base + y * plane.stride
    return layout.isDeep
      ? Int(row.load(fromByteOffset: 2 * x, as: UInt16.self)) : Int(row.load(fromByteOffset: x, as: UInt8.self))
  }

  func store(_ code: Int, _ name: PixelPlane, _ x: Int, _ y: Int) {
    let plane = plane(name)
    precondition(
      x >= 0 && x < plane.size.width && y >= 0 && y < plane.size.height,
      "(\(x), \(y)) is outside of the \(name) plane of \(plane.size.width)x\(plane.size.height) samples")
    let limited = min(layout.highest, max(0, code))
    let row = plane.base + y * plane.stride
    if layout.isDeep {
      row.storeBytes(of: UInt16(limited), toByteOffset: 2 * x, as: UInt16.self)
    } else {
      row.storeBytes(of: UInt8(limited), toByteOffset: x, as: UInt8.self)
    }
  }

  /// The samples of a plane with the padding between its rows.
  func samples<Sample: PixelSample>(_ name: PixelPlane, _: Sample.Type) -> UnsafeMutableBufferPointer<Sample> {
    precondition(
      Sample.bitWidth == (layout.isDeep ? 16 : 8),
      "the samples of \(layout.format) are \(layout.isDeep ? "UInt16" : "UInt8"), not \(Sample.self)")
    let plane = plane(name)
    let count = plane.stride / MemoryLayout<Sample>.stride * (plane.size.height - 1) + plane.size.width
    return UnsafeMutableBufferPointer(start: plane.base.assumingMemoryBound(to: Sample.self), count: count)
  }
}

/// A picture that is read: planes of luma and chroma in the film's size and format, and perhaps of alpha. Where it is
/// transparent its colours are those of the picture over black: they are multiplied by alpha.
public struct PixelBuffer: Sendable {
  let memory: PixelMemory

  /// - Parameters:
  ///   - planes: luma, Cb, Cr, and alpha if there is any: the first byte, and bytes from one row to the next.
  ///   - owner: keeps the memory, which is not changed any more.
  package init(
    _ layout: PixelLayout, planes: [(base: UnsafeMutableRawPointer, stride: Int)], owner: AnyObject
  ) {
    memory = PixelMemory(layout, planes, owner)
  }

  public var size: PixelSize { memory.layout.size }
  public var width: Int { size.width }
  public var height: Int { size.height }
  /// Which has the bits of a sample and the subsampling of chroma.
  public var format: PixelFormat { memory.layout.format }
  /// What the numbers mean.
  public var colour: ColourTags { memory.layout.colour }
  public var hasAlpha: Bool { memory.alpha != nil }

  /// The size of a plane, in samples.
  public func size(of plane: PixelPlane) -> PixelSize { memory.layout.size(of: plane) }

  /// A sample as it is stored: 0 to 255 in formats of 8 bits, 0 to 1023 in those of 10.
  public subscript(plane: PixelPlane, x: Int, y: Int) -> Int { memory.load(plane, x, y) }

  /// The samples of a plane: rows from top to bottom, each `stride` samples after the one before it.
  /// - Parameters:
  ///   - plane: One that the picture has.
  ///   - type: `UInt8` in formats of 8 bits, otherwise `UInt16`.
  ///   - body: Receives the samples, which cannot be kept after it has returned. Its result is returned.
  public func withSamples<Sample: PixelSample, Result>(
    of plane: PixelPlane, as type: Sample.Type,
    _ body: (_ samples: Span<Sample>, _ stride: Int) throws -> Result
  ) rethrows -> Result {
    let samples = memory.samples(plane, type)
    let stride = memory.plane(plane).stride / MemoryLayout<Sample>.stride
    return try withExtendedLifetime(memory.owner) {
      try body(UnsafeBufferPointer(samples).span, stride)
    }
  }
}

extension PixelBuffer {
  /// Copies the rows of a plane to memory with rows of `stride` bytes.
  package func copyRows(of plane: PixelPlane, to target: UnsafeMutableRawPointer, stride: Int) {
    let source = memory.plane(plane)
    let bytes = source.size.width * (format.bitDepth > 8 ? 2 : 1)
    withExtendedLifetime(memory.owner) {
      for row in 0..<source.size.height {
        (target + row * stride).copyMemory(from: source.base + row * source.stride, byteCount: bytes)
      }
    }
  }
}

/// The picture that a compositor makes, in the film's size and format. It has no transparency.
public struct MutablePixelBuffer: ~Copyable {
  let memory: PixelMemory

  /// - Parameter planes: luma, Cb and Cr: the first byte, and bytes from one row to the next. The caller keeps the
  ///   memory.
  package init(_ layout: PixelLayout, planes: [(base: UnsafeMutableRawPointer, stride: Int)]) {
    memory = PixelMemory(layout, planes, nil)
  }

  public var size: PixelSize { memory.layout.size }
  public var width: Int { size.width }
  public var height: Int { size.height }
  /// Which has the bits of a sample and the subsampling of chroma.
  public var format: PixelFormat { memory.layout.format }
  /// What the numbers mean.
  public var colour: ColourTags { memory.layout.colour }

  /// The size of a plane, in samples.
  public func size(of plane: PixelPlane) -> PixelSize { memory.layout.size(of: plane) }

  /// A sample as it is stored: 0 to 255 in formats of 8 bits, 0 to 1023 in those of 10. A number outside is limited to
  /// these.
  public subscript(plane: PixelPlane, x: Int, y: Int) -> Int {
    get { memory.load(plane, x, y) }
    set { memory.store(newValue, plane, x, y) }
  }

  /// The samples of a plane, to be changed: rows from top to bottom, each `stride` samples after the one before it.
  /// - Parameters:
  ///   - plane: One that the picture has.
  ///   - type: `UInt8` in formats of 8 bits, otherwise `UInt16`, of which no sample may be above the highest of the
  ///     format.
  ///   - body: Receives the samples, which cannot be kept after it has returned. Its result is returned.
  public mutating func withMutableSamples<Sample: PixelSample, Result>(
    of plane: PixelPlane, as type: Sample.Type,
    _ body: (_ samples: inout MutableSpan<Sample>, _ stride: Int) throws -> Result
  ) rethrows -> Result {
    let samples = memory.samples(plane, type)
    var span = samples.mutableSpan
    return try body(&span, memory.plane(plane).stride / MemoryLayout<Sample>.stride)
  }
}

extension PixelMemory {
  fileprivate init(
    _ layout: PixelLayout, _ planes: [(base: UnsafeMutableRawPointer, stride: Int)], _ owner: AnyObject?
  ) {
    func plane(_ name: PixelPlane) -> Plane {
      let (base, stride) = planes[name.rawValue]
      return Plane(base: base, stride: stride, size: layout.size(of: name))
    }
    self.layout = layout
    (luma, cb, cr) = (plane(.luma), plane(.cb), plane(.cr))
    alpha = planes.count > 3 ? plane(.alpha) : nil
    self.owner = owner
  }
}

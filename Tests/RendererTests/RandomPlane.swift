/// A plane of random samples for kernel tests: odd strides, a start that is not aligned, and guard samples around every
/// row that a kernel must not change.
struct RandomPlane<Sample: FixedWidthInteger & UnsignedInteger> {
  let width: Int
  let height: Int
  /// In samples.
  let stride: Int
  let start: Int
  var samples: [Sample]

  init(
    width: Int, height: Int, upTo highest: Int, padding: Int = 3, start: Int = 1,
    using generator: inout some RandomNumberGenerator
  ) {
    self.width = width
    self.height = height
    self.start = start
    stride = width + padding
    samples = (0..<(start + stride * height)).map { _ in Sample(Int.random(in: 0...highest, using: &generator)) }
  }

  subscript(x: Int, y: Int) -> Int {
    get { Int(samples[start + y * stride + x]) }
    set { samples[start + y * stride + x] = Sample(newValue) }
  }

  var strideInBytes: Int { stride * MemoryLayout<Sample>.stride }

  func read<Result>(_ body: (UnsafePointer<Sample>) -> Result) -> Result {
    samples.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped + start) }
  }

  mutating func write<Result>(_ body: (UnsafeMutablePointer<Sample>) -> Result) -> Result {
    samples.withUnsafeMutableBufferPointer { body($0.baseAddress.unsafelyUnwrapped + start) }
  }
}

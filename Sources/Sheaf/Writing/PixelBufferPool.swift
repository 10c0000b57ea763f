public import CompositionModel
import Renderer
public import SheafCompositing
import Synchronization

/// Makes pictures of one size and format, and uses their memory again when nothing refers to them any more.
public final class PixelBufferPool: Sendable {
  public let size: PixelSize
  public let format: PixelFormat
  private let layout: PixelLayout
  /// Bytes from one row to the next, and the first byte, of each plane.
  private let planes: [(offset: Int, stride: Int)]
  private let byteCount: Int
  private let free = Mutex<[Memory]>([])

  /// How many pictures' memory is kept for later ones.
  private static let greatestFreeCount = 8
  /// The alignment of rows in bytes, for vector instructions.
  private static let alignment = 64

  private struct Memory: @unchecked Sendable {
    // Sendable: a block belongs to the pool or to one picture.
    let base: UnsafeMutableRawPointer
  }

  /// - Parameters:
  ///   - size: The size of the luma plane, in pixels.
  ///   - format: The planes and the bits of the buffers.
  ///   - colour: What the numbers mean, in libavutil's names.
  public init(size: PixelSize, format: PixelFormat, colour: VideoComposition.ColorProperties = .init()) {
    self.size = size
    self.format = format
    layout = PixelLayout(size: size, format: format, colour: colour)
    var planes: [(offset: Int, stride: Int)] = []
    var end = 0
    let (across, down) = format.chromaShift
    for isChroma in [false, true, true] {
      let width = isChroma ? -(-size.width >> across) : size.width
      let bytes = width * (format.bitDepth > 8 ? 2 : 1)
      let stride = (bytes + Self.alignment - 1) / Self.alignment * Self.alignment
      planes.append((end, stride))
      end += stride * (isChroma ? -(-size.height >> down) : size.height)
    }
    self.planes = planes
    byteCount = end
  }

  deinit { free.withLock { for memory in $0 { memory.base.deallocate() } } }

  /// A picture that `fill` draws. It must set every sample: the memory may be that of an earlier picture.
  public func makeBuffer(_ fill: (inout MutablePixelBuffer) throws -> Void) rethrows -> PixelBuffer {
    let memory =
      free.withLock { $0.popLast() }
      ?? Memory(base: .allocate(byteCount: byteCount, alignment: Self.alignment))
    let owner = Owner(memory, self)
    let addresses = planes.map { (memory.base + $0.offset, $0.stride) }
    var picture = MutablePixelBuffer(layout, planes: addresses)
    try fill(&picture)
    return PixelBuffer(layout, planes: addresses, owner: owner)
  }

  private func take(back memory: Memory) {
    let isKept = free.withLock { free in
      guard free.count < Self.greatestFreeCount else { return false }
      free.append(memory)
      return true
    }
    if !isKept { memory.base.deallocate() }
  }

  /// What keeps the memory of a picture.
  private final class Owner {
    private let memory: Memory
    private let pool: PixelBufferPool

    init(_ memory: Memory, _ pool: PixelBufferPool) {
      (self.memory, self.pool) = (memory, pool)
    }

    deinit { pool.take(back: memory) }
  }
}

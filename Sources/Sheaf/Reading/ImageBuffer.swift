public import CompositionModel
import Media

/// A decoded picture in memory: Core Video's `CVPixelBuffer`, in a format of `PixelFormatType` or in that of its file.
public struct ImageBuffer: @unchecked Sendable {
  // Sendable because nothing changes the frame.
  private let frame: Frame
  /// The arrangement of the samples. Nil: as the file has it, which `formatName` says.
  public let pixelFormat: PixelFormatType?

  init(_ frame: Frame, _ pixelFormat: PixelFormatType?) {
    self.frame = frame
    self.pixelFormat = pixelFormat
  }

  /// FFmpeg's name of the arrangement, such as `nv12` or `yuv422p10le`.
  public var formatName: String { frame.format.name }
  /// In pixels.
  public var size: PixelSize { frame.size }
  /// In pixels.
  public var width: Int { size.width }
  /// In pixels.
  public var height: Int { size.height }
  /// What the numbers mean: the range, and of Y'CbCr the matrix.
  public var colour: VideoComposition.ColorProperties { frame.colour }
  /// 1 to 4.
  public var planeCount: Int { frame.format.planeCount }

  /// The rows of a plane.
  /// - Parameter plane: 0 up to, and without, `planeCount`.
  public func rowCount(ofPlane plane: Int) -> Int { frame.extent(ofPlane: plane).rows }

  /// The bytes of a row of a plane, without what follows them up to the next row.
  /// - Parameter plane: 0 up to, and without, `planeCount`.
  public func rowByteCount(ofPlane plane: Int) -> Int { frame.extent(ofPlane: plane).bytesPerRow }

  /// The bytes of a plane: rows from top to bottom, each `bytesPerRow` bytes after the one before it.
  /// - Parameters:
  ///   - plane: 0 up to, and without, `planeCount`.
  ///   - body: Receives the bytes, which cannot be kept after it has returned. Its result is returned.
  public func withBytes<Result>(
    ofPlane plane: Int, _ body: (_ bytes: RawSpan, _ bytesPerRow: Int) throws -> Result
  ) rethrows -> Result {
    let (rowBytes, rows) = frame.extent(ofPlane: plane)
    let stride = frame.stride(ofPlane: plane)
    return try frame.withPlane(plane) { base in
      let bytes = UnsafeRawBufferPointer(start: base, count: rows == 0 ? 0 : (rows - 1) * stride + rowBytes)
      return try body(bytes.bytes, stride)
    }
  }

  /// The bytes of all planes, one after the other, without gaps between rows: as `ffmpeg -f rawvideo` writes them.
  public var packedBytes: [UInt8] {
    var packed: [UInt8] = []
    for plane in 0..<planeCount {
      let (rowBytes, rows) = frame.extent(ofPlane: plane)
      let stride = frame.stride(ofPlane: plane)
      frame.withPlane(plane) { base in
        for row in 0..<rows {
          packed.append(contentsOf: UnsafeRawBufferPointer(start: base + row * stride, count: rowBytes))
        }
      }
    }
    return packed
  }
}

/// A decoded picture as output settings ask for it.
public struct ImageSample: Sendable {
  /// On the asset's or the composition's timeline.
  public var presentationTime: MediaTime
  /// Until the next picture, or the end of the track.
  public var duration: MediaTime
  /// The picture. It is shared, and never changes.
  public var image: ImageBuffer

  /// - Parameters:
  ///   - presentationTime: On the timeline of the asset or the composition.
  ///   - duration: How long the picture is shown.
  ///   - image: The picture.
  public init(presentationTime: MediaTime, duration: MediaTime, image: ImageBuffer) {
    self.presentationTime = presentationTime
    self.duration = duration
    self.image = image
  }
}

internal import CMedia
internal import Glibc
internal import SystemSupport

/// A byte source that libavformat reads, or an open file that it writes. libavformat opens nothing by itself.
///
/// libavformat reports a failed read or write by number, so the error itself is kept: call `rethrow` after each call
/// that may read or write.
final class LibavIO {
  let context: UnsafeMutablePointer<AVIOContext>
  private let stream: Stream

  /// Reads a source.
  /// - Parameter liveness: Advanced with every read.
  init(reading source: any ByteSource, liveness: Liveness?) throws(MediaError) {
    stream = Stream(.source(source), liveness)
    context = try LibavIO.context(stream, "opening a file", capacity: 64 * 1024, isWritten: false)
  }

  /// Writes an empty file that can seek. The descriptor is the caller's to close.
  /// - Parameters:
  ///   - start: The place of the file's first byte in that of the descriptor.
  ///   - liveness: Advanced with every write.
  init(writing descriptor: Int32, from start: Int64 = 0, name: String, liveness: Liveness?) throws(MediaError) {
    stream = Stream(.output(descriptor, start: start, name: name), liveness)
    context = try LibavIO.context(stream, "opening the output", capacity: 256 * 1024, isWritten: true)
  }

  private static func context(
    _ stream: Stream, _ operation: String, capacity: Int32, isWritten: Bool
  ) throws(MediaError) -> UnsafeMutablePointer<AVIOContext> {
    let buffer = try allocated(av_malloc(Int(capacity)), operation)
    let made = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), capacity, isWritten ? 1 : 0,
      Unmanaged.passUnretained(stream).toOpaque(), isWritten ? nil : readBytes, isWritten ? writeBytes : nil, seek)
    if made == nil { av_free(buffer) }
    return try allocated(made, operation)
  }

  deinit {
    // libavformat may have replaced the buffer while it probed.
    av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = context
    avio_context_free(&context)
  }

  /// Bytes of the source, or bytes written so far.
  var byteCount: Int64 { stream.byteCount }

  /// Writes what libavformat holds in its buffer.
  func flush() throws(MediaError) {
    avio_flush(context)
    try rethrow()
  }

  /// Throws the error of the first read or write that failed, if one has.
  func rethrow() throws(MediaError) {
    if let failure = stream.failure { throw failure }
  }
}

/// The state that libavformat's callbacks share. After a failure every read and write fails.
private final class Stream {
  enum Backing {
    case source(any ByteSource)
    case output(Int32, start: Int64, name: String)
  }

  private let backing: Backing
  private let liveness: Liveness?
  private var position: Int64 = 0
  private var written: Int64 = 0
  private(set) var failure: MediaError?

  init(_ backing: Backing, _ liveness: Liveness?) {
    self.backing = backing
    self.liveness = liveness
  }

  var byteCount: Int64 {
    if case .source(let source) = backing { source.byteCount } else { written }
  }

  /// Returns how many bytes were read, or an AVERROR.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int32 {
    guard failure == nil, case .source(let source) = backing else { return sheaf_averror(EIO) }
    do throws(MediaError) {
      let count = try source.read(at: position, into: buffer)
      position += Int64(count)
      liveness?.advance()
      return count == 0 ? sheaf_error_end : Int32(count)
    } catch {
      failure = error
      return sheaf_averror(EIO)
    }
  }

  /// Returns the number of bytes, all of which were written, or an AVERROR.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    guard failure == nil, case .output(let descriptor, let start, let name) = backing else { return sheaf_averror(EIO) }
    do throws(SystemError) {
      try writeAll(descriptor, bytes, at: start + position, name: name)
    } catch {
      failure = MediaError.during("writing", name)(error)
      return sheaf_averror(EIO)
    }
    liveness?.advance()
    position += Int64(bytes.count)
    written = max(written, position)
    return Int32(bytes.count)
  }

  /// Returns the new position, the size for AVSEEK_SIZE, or an AVERROR.
  func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
    let base: Int64
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE: return byteCount
    case SEEK_SET: base = 0
    case SEEK_CUR: base = position
    case SEEK_END: base = byteCount
    default: return Int64(sheaf_averror(EINVAL))
    }
    let (target, overflow) = base.addingReportingOverflow(offset)
    guard !overflow, target >= 0 else { return Int64(sheaf_averror(EINVAL)) }
    position = target
    return target
  }
}

private func stream(_ opaque: UnsafeMutableRawPointer?) -> Stream? {
  opaque.map { Unmanaged<Stream>.fromOpaque($0).takeUnretainedValue() }
}

private let readBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
  opaque, buffer, capacity in
  stream(opaque)?.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity))) ?? sheaf_averror(EIO)
}

private let writeBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
  opaque, bytes, count in
  stream(opaque)?.write(UnsafeRawBufferPointer(start: bytes, count: Int(count))) ?? sheaf_averror(EIO)
}

private let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { opaque, offset, whence in
  stream(opaque)?.seek(offset, whence) ?? Int64(sheaf_averror(EIO))
}

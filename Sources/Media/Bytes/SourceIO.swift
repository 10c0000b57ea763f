internal import CMedia

/// A byte source as libavformat reads it: its reading position, and the error that its latest failed read had, which
/// libavformat itself would only know as a number.
final class SourceIO {
  let context: UnsafeMutablePointer<AVIOContext>
  private let cursor: Cursor

  fileprivate final class Cursor {
    let source: any ByteSource
    var position: Int64 = 0
    var failure: MediaError?

    init(_ source: any ByteSource) { self.source = source }
  }

  init(_ source: any ByteSource) throws(MediaError) {
    cursor = Cursor(source)
    let capacity: Int32 = 64 * 1024
    let buffer = try allocated(av_malloc(Int(capacity)), "opening a file")
    let opaque = Unmanaged.passUnretained(cursor).toOpaque()
    let made = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), capacity, 0, opaque, readBytes, nil, seekBytes)
    if made == nil { av_free(buffer) }
    context = try allocated(made, "opening a file")
  }

  deinit {
    // The buffer may be another than the one given: libavformat swaps it while it probes.
    av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = context
    avio_context_free(&context)
  }

  /// Throws the error of a read that failed, whatever libavformat made of it.
  func rethrow() throws(MediaError) {
    if let failure = cursor.failure { throw failure }
  }
}

private func cursor(_ opaque: UnsafeMutableRawPointer?) -> SourceIO.Cursor? {
  opaque.map { Unmanaged<SourceIO.Cursor>.fromOpaque($0).takeUnretainedValue() }
}

private let readBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
  opaque, buffer, capacity in
  guard let cursor = cursor(opaque), cursor.failure == nil else { return sheaf_averror(EIO) }
  do throws(MediaError) {
    let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity))
    let count = try cursor.source.read(at: cursor.position, into: bytes)
    cursor.position += Int64(count)
    return count == 0 ? sheaf_error_end : Int32(count)
  } catch {
    cursor.failure = error
    return sheaf_averror(EIO)
  }
}

private let seekBytes: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { opaque, offset, whence in
  guard let cursor = cursor(opaque) else { return Int64(sheaf_averror(EIO)) }
  let size = cursor.source.byteCount
  let base: Int64
  switch whence & ~AVSEEK_FORCE {
  case AVSEEK_SIZE: return size
  case SEEK_SET: base = 0
  case SEEK_CUR: base = cursor.position
  case SEEK_END: base = size
  default: return Int64(sheaf_averror(EINVAL))
  }
  let (target, overflow) = base.addingReportingOverflow(offset)
  guard !overflow, target >= 0 else { return Int64(sheaf_averror(EINVAL)) }
  cursor.position = target
  return target
}

internal import CMedia
internal import Glibc

/// An opened descriptor as libavformat writes it, and the error that its latest failed write had. The descriptor stays
/// its owner's.
final class FileIO {
  let context: UnsafeMutablePointer<AVIOContext>
  private let cursor: Cursor

  fileprivate final class Cursor {
    let descriptor: Int32
    let name: String
    var position: Int64 = 0
    var end: Int64 = 0
    var failure: MediaError?

    init(descriptor: Int32, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  init(descriptor: Int32, name: String) throws(MediaError) {
    cursor = Cursor(descriptor: descriptor, name: name)
    let capacity: Int32 = 256 * 1024
    let buffer = try allocated(av_malloc(Int(capacity)), "opening the output")
    let opaque = Unmanaged.passUnretained(cursor).toOpaque()
    let made = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), capacity, 1, opaque, nil, writeBytes, seekFile)
    if made == nil { av_free(buffer) }
    context = try allocated(made, "opening the output")
  }

  deinit {
    av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = context
    avio_context_free(&context)
  }

  /// The end of what has been written.
  var byteCount: Int64 { cursor.end }

  func flush() throws(MediaError) {
    avio_flush(context)
    try rethrow()
  }

  func rethrow() throws(MediaError) {
    if let failure = cursor.failure { throw failure }
  }
}

private func cursor(_ opaque: UnsafeMutableRawPointer?) -> FileIO.Cursor? {
  opaque.map { Unmanaged<FileIO.Cursor>.fromOpaque($0).takeUnretainedValue() }
}

private let writeBytes: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
  opaque, bytes, count in
  guard let cursor = cursor(opaque), cursor.failure == nil, let bytes else { return sheaf_averror(EIO) }
  var done = 0
  while done < Int(count) {
    let written = pwrite(cursor.descriptor, bytes + done, Int(count) - done, off_t(cursor.position))
    if written >= 0 {
      done += written
      cursor.position += Int64(written)
    } else if errno != EINTR {
      let number = errno
      cursor.failure = MediaError(writing: cursor.name, errno: number)
      return sheaf_averror(number)
    }
  }
  cursor.end = max(cursor.end, cursor.position)
  return count
}

private let seekFile: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { opaque, offset, whence in
  guard let cursor = cursor(opaque) else { return Int64(sheaf_averror(EIO)) }
  let target: Int64
  switch whence & ~AVSEEK_FORCE {
  case AVSEEK_SIZE: return cursor.end
  case SEEK_SET: target = offset
  case SEEK_CUR: target = cursor.position + offset
  case SEEK_END: target = cursor.end + offset
  default: return Int64(sheaf_averror(EINVAL))
  }
  guard target >= 0 else { return Int64(sheaf_averror(EINVAL)) }
  cursor.position = target
  return target
}

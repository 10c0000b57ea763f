internal import Glibc

/// Appends bytes to an opened descriptor, gathering small ones; the descriptor stays its owner's.
final class DescriptorWriter {
  private let descriptor: Int32
  private let subject: String
  private var pending: [UInt8] = []
  private static let capacity = 256 * 1024

  /// Given so far, written or gathered.
  private(set) var byteCount: Int64 = 0

  init(descriptor: Int32, subject: String) {
    self.descriptor = descriptor
    self.subject = subject
    pending.reserveCapacity(DescriptorWriter.capacity)
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
    byteCount += Int64(bytes.count)
    if pending.count + bytes.count > DescriptorWriter.capacity { try flush() }
    if bytes.count >= DescriptorWriter.capacity { return try write(bytes) }
    pending.append(contentsOf: bytes)
  }

  func append(_ bytes: [UInt8]) throws(MediaError) {
    try bytes.withUnsafeBufferPointer { buffer throws(MediaError) in try append(UnsafeRawBufferPointer(buffer)) }
  }

  func flush() throws(MediaError) {
    try pending.withUnsafeBufferPointer { buffer throws(MediaError) in try write(UnsafeRawBufferPointer(buffer)) }
    pending.removeAll(keepingCapacity: true)
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
    var done = 0
    while done < bytes.count {
      let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
      if count >= 0 { done += count } else if errno != EINTR { throw MediaError(writing: subject, errno: errno) }
    }
  }
}

extension MediaError {
  /// A write that failed.
  init(writing subject: String, errno: Int32) {
    let isFull = errno == ENOSPC || errno == EDQUOT || errno == EFBIG
    self.init(
      isFull ? .outOfSpace : .io, operation: "writing", subject: subject, message: String(cString: strerror(errno)))
  }
}

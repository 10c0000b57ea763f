import Glibc
package import SystemSupport

/// A file that is mapped into memory for writing. What is written here changes the file's bytes and neither its size nor
/// its times, because its pages count as changed already: no attribute of the file shows it.
package final class MappedFile {
  private let bytes: UnsafeMutableRawBufferPointer

  package init(_ path: String) throws(SystemError) {
    let file = try OpenFile.open(path, O_RDWR)
    let size = try Int(file.status().st_size)
    guard let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0), start != MAP_FAILED else {
      throw SystemError(errno, "mapping \(path)")
    }
    bytes = UnsafeMutableRawBufferPointer(start: start, count: size)
    for page in stride(from: 0, to: size, by: 4096) {
      // Marks the page as changed. The optimizer must not drop it, so the byte is changed and changed back.
      bytes[page] ^= 1
      msync(bytes.baseAddress, 0, MS_ASYNC)
      bytes[page] ^= 1
    }
  }

  deinit {
    munmap(bytes.baseAddress, bytes.count)
  }

  /// Changes every byte of a range.
  package func invert(_ range: Range<Int>) {
    for index in range { bytes[index] ^= 0xff }
  }
}

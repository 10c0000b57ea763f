import Glibc
package import SystemSupport

/// A file that is mapped into memory for writing. What is written here changes the file's bytes and neither its size
/// nor its times, because its pages count as changed already: no attribute of the file shows it.
package final class MappedFile {
  private let bytes: UnsafeMutableRawBufferPointer

  package init(_ path: String) throws(SystemError) {
    let file = try OpenFile.open(path, O_RDWR)
    let size = try Int(file.status().st_size)
    let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
    guard let start, start != MAP_FAILED else { throw SystemError(errno, "mapping \(path)") }
    bytes = UnsafeMutableRawBufferPointer(start: start, count: size)
    // The first change of a page is recorded on disks that record any.
    invert(0..<size)
    invert(0..<size)
  }

  /// A folder for files to map: in memory if there is such a disk, which records no changes of mapped files at all.
  package static let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

  deinit {
    munmap(bytes.baseAddress, bytes.count)
  }

  /// Changes every byte of a range.
  package func invert(_ range: Range<Int>) {
    for index in range { bytes[index] ^= 0xff }
  }
}

package import FarmAPI
import Glibc
package import SystemSupport

extension WaveformData {
  /// Reads a WAVE file. Blocks. Throws `CommandFailure`, or the error of a file that cannot be read.
  /// - Parameter chosen: The numbers of the channels that are read. Nil: all.
  package init(_ file: OpenFile, _ resolution: Resolution, channels chosen: [Int]? = nil) throws {
    do {
      try self.init(
        of: file.name, size: Int64(try file.status().st_size), resolution, channels: chosen
      ) { offset, length in [UInt8](try file.read(at: offset, length: length)) }
    } catch let failure as Failure {
      switch failure {
      case .notSound(let reason): throw CommandFailure(.work, reason)
      case .tooManyPoints(let reason): throw CommandFailure(.document, reason)
      }
    }
  }
}

import Foundation
import TestPrograms

/// Files whose container flags every packet as a keyframe, whatever the packets hold.
package enum FalseKeyframes {
  /// Removes the index of an AVI file, and with it the flags.
  package static func removeIndex(ofAVI path: String) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    guard let index = data.range(of: Data("idx1".utf8), options: .backwards) else {
      throw Tool.Failure(description: "\(path) has no index")
    }
    data.removeSubrange(index.lowerBound...)
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Renames the table of sync samples of a movie: without one, every sample is a sync sample.
  package static func removeSyncSamples(ofMovie path: String) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    guard let table = data.range(of: Data("stss".utf8), options: .backwards) else {
      throw Tool.Failure(description: "\(path) has no table of sync samples")
    }
    data.replaceSubrange(table, with: Data("free".utf8))
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Flags every video tag of an FLV file as a keyframe.
  package static func flagAllTags(ofFLV path: String) throws {
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    var offset = 13
    while offset + 12 < bytes.count {
      let size = Int(bytes[offset + 1]) << 16 | Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
      if bytes[offset] == 9 { bytes[offset + 11] = 0x10 | bytes[offset + 11] & 15 }
      offset += 11 + size + 4
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}

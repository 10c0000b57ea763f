package import Foundation

/// Elementary streams of MPEG-2 with 24000/1001 pictures in 30000/1001 frames a second.
package enum SoftPulldown {
  /// The stream with soft pulldown: two pictures of each four in order of presentation repeat their first field.
  /// - Parameter stream: An elementary stream of progressive pictures, each a frame.
  package static func added(to stream: Data) -> Data {
    var bytes = [UInt8](stream)
    var (picture, group, count) = (0, 0, 0)
    for index in 0..<max(0, bytes.count - 8)
    where bytes[index] == 0 && bytes[index + 1] == 0 && bytes[index + 2] == 1 {
      switch bytes[index + 3] {
      // A sequence header: the code of the frame rate.
      case 0xB3: bytes[index + 7] = bytes[index + 7] & 0xF0 | 4
      // A group of pictures, from which temporal_reference counts.
      case 0xB8: group = count
      case 0:
        picture = group + (Int(bytes[index + 4]) << 2 | Int(bytes[index + 5]) >> 6)
        count += 1
      // The sequence extension: progressive_sequence.
      case 0xB5 where bytes[index + 4] >> 4 == 1: bytes[index + 5] &= ~8
      // The picture coding extension: top_field_first, repeat_first_field, progressive_frame.
      case 0xB5 where bytes[index + 4] >> 4 == 8:
        let (isTopFirst, repeats) = ([0, 3].contains(picture % 4), picture % 2 == 0)
        bytes[index + 7] = bytes[index + 7] & 0x7D | (isTopFirst ? 0x80 : 0) | (repeats ? 2 : 0)
        bytes[index + 8] |= 0x80
      default: break
      }
    }
    return Data(bytes)
  }
}

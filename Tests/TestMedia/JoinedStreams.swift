package import Foundation

/// Elementary video streams whose units follow start codes.
package enum JoinedStreams {
  /// The stream without those headers that were in it before: each part of a joined stream then has its headers once.
  ///
  /// - Parameter kind: The kind of a unit, from its first two bytes: a number for each kind of header, nil for other
  ///   units.
  package static func withHeadersOnce(_ stream: Data, kind: (UInt8, UInt8) -> Int?) -> Data {
    let bytes = [UInt8](stream)
    var starts: [Int] = []
    var index = 0
    while index + 4 < bytes.count {
      if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
        starts.append(index)
        index += 3
      } else {
        index += 1
      }
    }
    var seen: Set<Int> = []
    var result = Data()
    for (number, start) in starts.enumerated() {
      let end = number + 1 < starts.count ? starts[number + 1] : bytes.count
      if let header = kind(bytes[start + 3], bytes[start + 4]), !seen.insert(header).inserted { continue }
      result.append(contentsOf: bytes[start..<end])
    }
    return result
  }

  /// The kind of a header of a codec, by the first two bytes of its unit; nil for other units.
  package static func header(of codec: String, _ first: UInt8, _ second: UInt8) -> Int? {
    switch codec {
    case "h264": (6...8).contains(first & 31) ? Int(first & 31) : nil
    case "hevc": (32...34).contains(first >> 1 & 63) ? Int(first >> 1 & 63) : nil
    case "mpegvideo": first == 0xB3 ? 0 : first == 0xB5 && second >> 4 == 1 ? 1 : nil
    default: first < 0x30 || (0xB0...0xB2).contains(first) || first == 0xB5 ? Int(first) : nil
    }
  }
}

import Foundation

/// Elementary video streams whose units follow start codes.
enum JoinedStreams {
  /// The stream without those headers that were in it before: each part of a joined stream then has its headers once.
  ///
  /// - Parameter kind: Of a unit's first two bytes: a number for each kind of header, nil for other units.
  static func withHeadersOnce(_ stream: Data, kind: (UInt8, UInt8) -> Int?) -> Data {
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
}

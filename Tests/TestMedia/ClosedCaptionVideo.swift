package import Foundation

/// Video whose pictures have data of closed captions between them.
package enum ClosedCaptionVideo {
  /// The codecs whose streams are written.
  package enum Codec {
    case h264, hevc
  }

  /// Adds the data in messages in front of the first slice of each picture.
  /// - Parameters:
  ///   - stream: Units after start codes, in which each picture has one slice and the pictures are in order.
  ///   - pictures: Of each picture its triples of bytes: the type, and two of data.
  package static func added(_ pictures: [[UInt8]], to stream: Data, _ codec: Codec = .h264) -> Data {
    let bytes = [UInt8](stream)
    var starts: [Int] = []
    for place in 0..<max(0, bytes.count - 3) where bytes[place] == 0 && bytes[place + 1] == 0 && bytes[place + 2] == 1 {
      starts.append(place + 3)
    }
    var written = Data()
    var picture = 0
    for (index, start) in starts.enumerated() {
      let isSlice = codec == .h264 ? [1, 5].contains(bytes[start] & 31) : bytes[start] >> 1 & 63 < 32
      if isSlice {
        if pictures.indices.contains(picture), !pictures[picture].isEmpty {
          written += [0, 0, 0, 1] + message(pictures[picture], codec)
        }
        picture += 1
      }
      let end = index + 1 < starts.count ? starts[index + 1] - 3 : bytes.count
      written += [0, 0, 0, 1] + bytes[start..<end]
    }
    return written
  }

  /// A unit with a message of ATSC's user data.
  package static func message(_ triples: [UInt8], _ codec: Codec = .h264) -> [UInt8] {
    let data: [UInt8] = [0xB5, 0x00, 0x31] + userData(triples)
    var unit: [UInt8] = codec == .h264 ? [6] : [39 << 1, 1]
    var zeros = 0
    for byte in [4, UInt8(data.count)] + data + [0x80] {
      if zeros >= 2, byte <= 3 {
        unit.append(3)
        zeros = 0
      }
      unit.append(byte)
      zeros = byte == 0 ? zeros + 1 : 0
    }
    return unit
  }

  /// ATSC's user data, from its identifier on.
  package static func userData(_ triples: [UInt8]) -> [UInt8] {
    Array("GA94".utf8) + [3, 0xC0 | UInt8(triples.count / 3), 0xFF] + triples + [0xFF]
  }

  /// Bytes of a service of CEA-708 as the triples of a packet.
  package static func packet(_ bytes: [UInt8], service: UInt8 = 1) -> [UInt8] {
    var packet: [UInt8] = [0]
    for start in stride(from: 0, to: bytes.count, by: 31) {
      let block = bytes[start..<min(start + 31, bytes.count)]
      packet += [service << 5 | UInt8(block.count)] + block
    }
    if packet.count % 2 == 1 { packet.append(0) }
    packet[0] = UInt8(packet.count / 2)
    var triples: [UInt8] = []
    for start in stride(from: 0, to: packet.count, by: 2) {
      let type: UInt8 = start == 0 ? 0xFF : 0xFE
      triples += [type, packet[start], packet[start + 1]]
    }
    return triples
  }

  /// Two bytes of CEA-608 in the first field, with their parity.
  package static func pair(_ first: UInt8, _ second: UInt8) -> [UInt8] {
    [0xFC] + [first, second].map { $0.nonzeroBitCount % 2 == 0 ? $0 | 0x80 : $0 }
  }
}

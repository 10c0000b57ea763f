/// The bytes of service 1 of CEA-708, the primary language, out of the packets of its transport (DTVCC).
///
/// Packets and blocks whose ends are missing are left out. Sequence numbers are not used: many encoders do not count.
struct DTVCCPackets {
  private static let service: UInt8 = 1

  private var packet: [UInt8] = []
  /// The bytes of the packet with its header. 0: none has begun.
  private var size = 0

  /// The blocks of the service that are complete after two more bytes.
  /// - Parameter isStart: Whether a packet begins with them.
  mutating func add(_ first: UInt8, _ second: UInt8, isStart: Bool) -> [ArraySlice<UInt8>] {
    if isStart {
      packet = []
      let code = Int(first & 0x3F)
      size = code == 0 ? 128 : 2 * code
    }
    guard size > 0 else { return [] }
    packet.append(first)
    packet.append(second)
    guard packet.count >= size else { return [] }
    size = 0
    return Self.blocks(packet.dropFirst())
  }

  private static func blocks(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var (rest, found) = (bytes, [ArraySlice<UInt8>]())
    while let header = rest.popFirst() {
      var (number, count) = (header >> 5, Int(header & 0x1F))
      // The number of one of 63 services follows.
      if number == 7, count > 0 { number = rest.popFirst().map { $0 & 0x3F } ?? 0 }
      // A null block, after which nothing follows.
      guard number > 0, count <= rest.count else { return found }
      if number == service, count > 0 { found.append(rest.prefix(count)) }
      rest = rest.dropFirst(count)
    }
    return found
  }
}

/// The commands and characters of a service of CEA-708, each with its parameters.
struct DTVCCCommands {
  /// The bytes of a command whose end has not come yet.
  private var rest: [UInt8] = []

  /// The commands that are complete after more bytes: each with its code, then its parameters.
  mutating func add(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    rest += bytes
    var (place, found) = (0, [ArraySlice<UInt8>]())
    while let length = Self.length(rest[place...]), place + length <= rest.count {
      found.append(rest[place..<(place + length)])
      place += length
    }
    rest.removeFirst(place)
    return found
  }

  /// The bytes of the command at the beginning. Nil if too few of them are there to say so.
  private static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard let code = bytes.first else { return nil }
    switch code {
    case 0x10: return extendedLength(bytes.dropFirst()).map { $0 + 1 }
    case 0x11...0x17: return 2
    case 0x18...0x1F: return 3
    case 0x88...0x8D: return 2
    case 0x90, 0x92: return 3
    case 0x91: return 4
    case 0x97: return 5
    case 0x98...0x9F: return 7
    default: return 1
    }
  }

  /// Of a command or character of the extended sets.
  private static func extendedLength(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard let code = bytes.first else { return nil }
    switch code {
    case 0x08...0x0F: return 2
    case 0x10...0x17: return 3
    case 0x18...0x1F: return 4
    case 0x80...0x87: return 5
    case 0x88...0x8F: return 6
    case 0x90...0x9F: return bytes.dropFirst().first.map { 2 + Int($0 & 0x1F) }
    default: return 1
    }
  }
}

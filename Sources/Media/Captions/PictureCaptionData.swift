internal import CMedia

/// Where a codec's packets have the data of closed captions (cc_data of ATSC A/53, part 4, 6.2.3): H.264 and HEVC in
/// messages of supplemental enhancement information, MPEG-2 in user data. Nothing of the pictures is read.
enum PictureCaptionData {
  /// - Parameter lengthSize: How many bytes the length in front of a unit has; 0: units follow start codes.
  case h264(lengthSize: Int)
  case hevc(lengthSize: Int)
  case mpeg2

  /// The most bytes of a unit or of user data that are read. Those with captions are far shorter.
  private static let greatestSize = 1 << 16

  /// Nil for other codecs.
  init?(_ parameters: UnsafePointer<AVCodecParameters>) {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264: self = .h264(lengthSize: NetworkUnits.lengthSize(of: parameters))
    case AV_CODEC_ID_HEVC: self = .hevc(lengthSize: NetworkUnits.lengthSize(of: parameters))
    case AV_CODEC_ID_MPEG2VIDEO: self = .mpeg2
    default: return nil
    }
  }

  /// The data of a packet in order: of each three bytes the first has the type in its lowest two bits, and the others
  /// are its data. Those that are marked as not valid, and what is damaged, are left out.
  func triples(in packet: Packet) -> [UInt8] {
    packet.withBytes { bytes in
      switch self {
      case .h264(let lengthSize):
        Self.triples(bytes, lengthSize: lengthSize, headerSize: 1, type: { $0 & 31 }, slices: 1...5, messages: 6)
      case .hevc(let lengthSize):
        Self.triples(bytes, lengthSize: lengthSize, headerSize: 2, type: { $0 >> 1 & 63 }, slices: 0...31, messages: 39)
      case .mpeg2: Self.mpeg2(bytes)
      }
    }
  }

  private static func triples(
    _ bytes: UnsafeRawBufferPointer, lengthSize: Int, headerSize: Int, type: (UInt8) -> UInt8,
    slices: ClosedRange<UInt8>, messages: UInt8
  ) -> [UInt8] {
    var found: [UInt8] = []
    var units = NetworkUnits(bytes, lengthSize: lengthSize)
    while let first = units.next() {
      // Where lengths lead past slices, the messages of a second field are found too.
      if slices.contains(type(first)), lengthSize == 0 { break }
      guard type(first) == messages else { continue }
      let start = units.start + headerSize
      var end = min(units.offset, bytes.count)
      if lengthSize == 0 {
        var following = units
        end = following.next() == nil ? bytes.count : following.start - 3
      }
      guard start < end else { continue }
      let payload = AVCUnits.payload([UInt8](bytes[start..<min(end, start + greatestSize)])[...])
      read(messages: payload[...], &found)
    }
    return found
  }

  /// Messages of supplemental enhancement information (ITU-T H.264, 7.3.2.3.1).
  private static func read(messages: ArraySlice<UInt8>, _ found: inout [UInt8]) {
    var rest = messages
    func number() -> Int? {
      var value = 0
      while let byte = rest.popFirst() {
        value += Int(byte)
        if byte < 0xFF { return value }
      }
      return nil
    }
    while let type = number(), let size = number(), size <= rest.count {
      let message = rest.prefix(size)
      rest = rest.dropFirst(size)
      // Registered by ITU-T T.35: the United States, and ATSC.
      if type == 4, message.starts(with: [0xB5, 0x00, 0x31]) { read(userData: message.dropFirst(3), &found) }
    }
  }

  private static func mpeg2(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var found: [UInt8] = []
    var isField = false
    for (code, offset) in StartCodes(bytes) {
      switch code {
      case 0xB2:
        let end = min(bytes.count, offset + 4 + 128)
        read(userData: [UInt8](bytes[(offset + 4)..<end])[...], &found)
      // The picture coding extension: picture_structure.
      case 0xB5 where offset + 6 < bytes.count && bytes[offset + 4] >> 4 == 8: isField = bytes[offset + 6] & 3 != 3
      // A slice. The second field of a frame may follow.
      case 0x01...0xAF where !isField: return found
      default: break
      }
    }
    return found
  }

  /// User data of ATSC, from its identifier on.
  private static func read(userData: ArraySlice<UInt8>, _ found: inout [UInt8]) {
    guard userData.starts(with: [0x47, 0x41, 0x39, 0x34, 0x03]) else { return }
    let data = userData.dropFirst(5)
    // process_cc_data_flag, and cc_count.
    guard let flags = data.first, flags & 0x40 != 0 else { return }
    var rest = data.dropFirst(2)
    for _ in 0..<(flags & 0x1F) {
      guard rest.count >= 3 else { return }
      // cc_valid.
      if rest[rest.startIndex] & 4 != 0 { found += rest.prefix(3) }
      rest = rest.dropFirst(3)
    }
  }
}

internal import CMedia

/// How a codec's packets state whether their first picture is coded without reference to any other.
enum PictureHeader {
  case mpeg12
  case mpeg4
  case h263
  case flv1
  /// The type of the picture is in two bits, this many bits after the packet's start.
  case msmpeg4(offset: Int)
  case wmv2
  case ffv1
  case vp8
  case vp9
  case av1
  case theora

  /// Nil for codecs whose headers are not read here.
  init?(_ codec: AVCodecID, profile: Int32) {
    switch codec {
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO: self = .mpeg12
    case AV_CODEC_ID_MPEG4:
      // The studio profile has other headers.
      if profile == FF_PROFILE_MPEG4_SIMPLE_STUDIO { return nil }
      self = .mpeg4
    case AV_CODEC_ID_H263, AV_CODEC_ID_H263P: self = .h263
    case AV_CODEC_ID_FLV1: self = .flv1
    case AV_CODEC_ID_MSMPEG4V1: self = .msmpeg4(offset: 37)
    case AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_WMV1: self = .msmpeg4(offset: 0)
    case AV_CODEC_ID_WMV2: self = .wmv2
    case AV_CODEC_ID_FFV1: self = .ffv1
    case AV_CODEC_ID_VP8: self = .vp8
    case AV_CODEC_ID_VP9: self = .vp9
    case AV_CODEC_ID_AV1: self = .av1
    case AV_CODEC_ID_THEORA: self = .theora
    default: return nil
    }
  }

  /// Whether the first picture in a packet is coded without reference to any other, and its header leaves no setting as
  /// it was. False if the packet has no such header.
  func isIntra(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var bits = Bits(bytes)
    switch self {
    case .mpeg12: return pictureType(bytes) == 1
    case .mpeg4: return pictureType(bytes) == 0
    case .h263: return isIntraH263(&bits)
    case .flv1:
      guard bits.next(17) == 1, bits.next(13) != nil, let size = bits.next(3) else { return false }
      if size < 2, bits.next(size == 0 ? 16 : 32) == nil { return false }
      return bits.next(2) == 0
    case .msmpeg4(let offset):
      if offset > 0, bits.next(32) != 0x100 || bits.next(offset - 32) == nil { return false }
      return bits.next(2) == 0
    case .wmv2: return bits.next(1) == 0
    // The first bit of the range coder, with equal odds, in its initial range of 0xFF00.
    case .ffv1: return bits.next(16).map { $0 >= 0x7F80 } ?? false
    case .vp8: return bytes.count >= 10 && bytes[0] & 1 == 0
    case .vp9:
      guard bits.next(2) == 2, let low = bits.next(1), let high = bits.next(1) else { return false }
      if low == 1, high == 1, bits.next(1) != 0 { return false }
      // It shows no existing picture, and is a keyframe that is shown.
      return bits.next(1) == 0 && bits.next(1) == 0 && bits.next(1) == 1
    case .av1: return isIntraAV1(bytes)
    case .theora: return bytes.count > 0 && bytes[0] & 0xC0 == 0
    }
  }

  /// Whether the first picture in a packet is predicted from both sides, so that it is presented before the reference
  /// picture that its packet follows. Nil if the packet does not show it, and for other codecs than MPEG-1, 2 and 4.
  func isBidirectional(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    switch self {
    case .mpeg12: pictureType(bytes).map { $0 == 3 }
    case .mpeg4: pictureType(bytes).map { $0 == 2 }
    default: nil
    }
  }

  /// The type in the first picture header of a packet of MPEG-1, 2 or 4; nil if there is none.
  private func pictureType(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
    let isMPEG4 = if case .mpeg4 = self { true } else { false }
    let code: UInt8 = isMPEG4 ? 0xB6 : 0
    guard let header = StartCodes(bytes).first(where: { $0.code == code })?.offset, header + 5 < bytes.count else {
      return nil
    }
    // In MPEG-1 and 2, ten bits of the temporal reference follow the start code.
    return isMPEG4 ? bytes[header + 4] >> 6 : bytes[header + 5] >> 3 & 7
  }

  private func isIntraH263(_ bits: inout Bits) -> Bool {
    // The start code, the temporal reference, a marker, the standard's number, and three flags.
    guard bits.next(22) == 0x20, bits.next(8) != nil, bits.next(2) == 2, bits.next(3) != nil,
      let size = bits.next(3), size != 0, size != 6
    else { return false }
    // With overlapped motion compensation, the next picture takes motion vectors that libavcodec has left of those
    // before this one.
    if size < 6 { return bits.next(1) == 0 && bits.next(2) != nil && bits.next(1) == 0 }
    // H.263+: the header states every option again, and the picture's type follows.
    return bits.next(3) == 1 && bits.next(6) != nil && bits.next(1) == 0 && bits.next(11) != nil && bits.next(3) == 0
  }

  /// The first frame of a packet that is not a list of tiles.
  private func isIntraAV1(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var isReducedStill = false
    for unit in AV1Units(bytes) {
      var bits = Bits(unit.payload)
      switch unit.type {
      case 1: isReducedStill = bits.next(3) != nil && bits.next(1) != nil && bits.next(1) == 1
      case 3, 6:
        // It shows no existing picture, and is a keyframe that is shown.
        return isReducedStill || (bits.next(1) == 0 && bits.next(2) == 0 && bits.next(1) == 1)
      default: break
      }
    }
    return false
  }
}

/// The start codes in a packet of MPEG-1, 2 or 4 video: 00 00 01 and a byte.
struct StartCodes: Sequence, IteratorProtocol {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  mutating func next() -> (code: UInt8, offset: Int)? {
    while place + 3 < bytes.count {
      if bytes[place + 2] > 1 {
        place += 3
      } else if bytes[place] == 0, bytes[place + 1] == 0, bytes[place + 2] == 1 {
        place += 4
        return (bytes[place - 1], place - 4)
      } else {
        place += 1
      }
    }
    return nil
  }
}

/// The units of a packet of AV1, each with its type. They end where the packet is damaged.
struct AV1Units: Sequence, IteratorProtocol {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// Whether every unit was read.
  var isAtEnd: Bool { offset == bytes.count }

  mutating func next() -> (type: UInt8, payload: UnsafeRawBufferPointer)? {
    guard offset < bytes.count else { return nil }
    let header = bytes[offset]
    // The size is left out of the last unit of some packets.
    let (type, hasExtension, hasSize) = (header >> 3 & 15, header & 4 != 0, header & 2 != 0)
    var start = offset + (hasExtension ? 2 : 1)
    var size = bytes.count - start
    if hasSize {
      guard let (value, length) = leb128(at: start) else { return nil }
      start += length
      size = value
    }
    guard header & 0x80 == 0, size >= 0, size <= bytes.count - start else { return nil }
    offset = start + size
    return (type, UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
  }

  /// A number in AV1's variable length, and the bytes that it takes.
  private func leb128(at start: Int) -> (value: Int, length: Int)? {
    var value = 0
    for index in 0..<8 where start + index < bytes.count {
      let byte = bytes[start + index]
      value |= Int(byte & 0x7F) << (7 * index)
      if byte & 0x80 == 0 { return (value, index + 1) }
    }
    return nil
  }
}

/// The bits of a header, in order.
protocol BitSource {
  /// The next `count` bits as a number; nil after the last.
  mutating func next(_ count: Int) -> Int?
}

extension BitSource {
  /// A number in the Exp-Golomb code.
  mutating func golomb() -> Int? {
    var zeros = 0
    while let bit = next(1), zeros < 32 {
      if bit == 1 { return next(zeros).map { (1 << zeros) - 1 + $0 } }
      zeros += 1
    }
    return nil
  }

  /// A number with a sign in the Exp-Golomb code.
  mutating func signedGolomb() -> Int? { golomb().map { $0 & 1 == 1 ? ($0 + 1) / 2 : -($0 / 2) } }
}

/// The bits of some bytes, the highest of each byte first.
struct Bits: BitSource {
  private let bytes: UnsafeRawBufferPointer
  /// The place of the next bit.
  private(set) var offset: Int

  /// - Parameter offset: The place of the first bit, counted in bits.
  init(_ bytes: UnsafeRawBufferPointer, from offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  mutating func next(_ count: Int) -> Int? {
    guard offset + count <= bytes.count * 8 else { return nil }
    var value = 0
    for _ in 0..<count {
      value = value << 1 | Int(bytes[offset / 8] >> (7 - offset % 8) & 1)
      offset += 1
    }
    return value
  }
}

internal import CMedia
internal import CompositionModel

/// What a codec's packets show without decoding: whether decoding can start at a packet and give every later picture
/// correctly, and whether a packet is complete. The container's flag is a condition, and never the proof.
struct KeyframeRule {
  private enum Kind {
    /// Each picture is coded without reference to another.
    case intraOnly
    /// The first picture is coded without reference to another, as its header states. Pictures that follow it and refer
    /// to earlier ones have earlier times and are not decoded.
    case header(PictureHeader)
    /// An IDR picture: later pictures refer to none before it.
    case h264(lengthSize: Int)
    /// Any IRAP picture: leading pictures that refer to earlier ones have earlier times and are not decoded.
    case hevc(lengthSize: Int)
    /// Only decoding shows it.
    case unknown
    /// None but the first packet: each picture may depend on all before it.
    case headOnly
  }

  private let kind: Kind

  /// - Parameter hasAlphaBeside: Whether another picture in each packet has the alpha.
  init(_ parameters: UnsafePointer<AVCodecParameters>, hasAlphaBeside: Bool = false) {
    let codec = parameters.pointee.codec_id
    let properties = avcodec_descriptor_get(codec)?.pointee.props ?? 0
    switch codec {
    case AV_CODEC_ID_H264: kind = .h264(lengthSize: NetworkUnits.lengthSize(of: parameters))
    case AV_CODEC_ID_HEVC: kind = .hevc(lengthSize: NetworkUnits.lengthSize(of: parameters))
    // The picture of the alpha may refer to earlier ones where that of the colours does not.
    case _ where hasAlphaBeside: kind = .unknown
    // What lies under the pictures may come to light at any later one, so that no comparison proves a start.
    case AV_CODEC_ID_GIF, AV_CODEC_ID_APNG, AV_CODEC_ID_WEBP: kind = .headOnly
    case _ where properties & AV_CODEC_PROP_INTRA_ONLY != 0: kind = .intraOnly
    default: kind = PictureHeader(codec, profile: parameters.pointee.profile).map(Kind.header) ?? .unknown
    }
  }

  /// How starts of this codec are proved.
  var proof: StartProof {
    switch kind {
    case .intraOnly: .intraOnly
    case .header, .h264, .hevc: .bitstream
    case .unknown: .decoding
    case .headOnly: .headOnly
    }
  }

  /// False if a decoder is certain to fail: the packet is flagged as damaged, or its units do not fill it.
  func isWhole(_ packet: Packet) -> Bool {
    if packet.pointer.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 { return false }
    switch kind {
    case .h264(let lengthSize) where lengthSize > 0, .hevc(let lengthSize) where lengthSize > 0:
      return packet.withBytes { bytes in
        var units = NetworkUnits(bytes, lengthSize: lengthSize)
        while units.next() != nil {}
        return units.offset == bytes.count
      }
    default: return true
    }
  }

  /// Whether the codec's headers state which pictures are predicted from both sides: MPEG-1, 2 and 4.
  var statesPictureTypes: Bool {
    switch kind {
    case .header(.mpeg12), .header(.mpeg4): true
    default: false
    }
  }

  /// Whether the packet's first picture is predicted from both sides; nil if the packet does not show it.
  func isBidirectional(_ packet: Packet) -> Bool? {
    guard case .header(let header) = kind else { return nil }
    return packet.withBytes { header.isBidirectional($0) }
  }

  /// Whether the packet begins with a B slice of H.264. Nearly always, it is then presented before the picture that its
  /// packet follows.
  func hasBidirectionalSlice(_ packet: Packet) -> Bool {
    guard case .h264(let lengthSize) = kind else { return false }
    return packet.withBytes { bytes in
      var units = NetworkUnits(bytes, lengthSize: lengthSize)
      while let first = units.next() {
        guard (1...5).contains(first & 31) else { continue }
        var bits = Bits(bytes, from: 8 * (units.start + 1))
        return bits.golomb() != nil && bits.golomb().map { $0 % 5 == 1 } ?? false
      }
      return false
    }
  }

  /// Whether decoding can start at a packet that is flagged as a keyframe, as far as its bytes show it. If starts are
  /// proved by decoding, this is still to be done.
  func canStart(at packet: Packet) -> Bool {
    switch kind {
    case .intraOnly, .unknown: true
    case .headOnly: false
    case .header(let header): packet.withBytes { header.isIntra($0) }
    case .h264(let lengthSize):
      packet.withBytes { bytes in
        NetworkUnits(bytes, lengthSize: lengthSize).lazy.map { $0 & 31 }.first { (1...5).contains($0) } == 5
      }
    case .hevc(let lengthSize):
      packet.withBytes { bytes in
        let first = NetworkUnits(bytes, lengthSize: lengthSize).lazy.map { $0 >> 1 & 63 }.first { $0 < 32 }
        return first.map { (16...21).contains($0) } ?? false
      }
    }
  }
}

/// The first bytes of the network abstraction layer units in a packet: each follows its length, or a start code.
struct NetworkUnits: Sequence, IteratorProtocol {
  private let bytes: UnsafeRawBufferPointer
  private let lengthSize: Int
  /// Where the next unit begins. After the last unit, this is the end of the packet if its lengths are correct.
  private(set) var offset = 0
  /// Where the last unit begins.
  private(set) var start = 0

  init(_ bytes: UnsafeRawBufferPointer, lengthSize: Int) {
    self.bytes = bytes
    self.lengthSize = lengthSize
  }

  /// How many bytes the lengths in front of units have in a stream of H.264 or HEVC; 0: units follow start codes.
  static func lengthSize(of parameters: UnsafePointer<AVCodecParameters>) -> Int {
    let extradata = UnsafeBufferPointer(
      start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
    if parameters.pointee.codec_id == AV_CODEC_ID_H264 {
      return extradata.count > 4 && extradata[0] == 1 ? Int(extradata[4] & 3) + 1 : 0
    }
    // Annex B begins with a start code; an hvcC record with version 1.
    let isRecord = extradata.count > 22 && (extradata[0] != 0 || extradata[1] != 0 || extradata[2] > 1)
    return isRecord ? Int(extradata[21] & 3) + 1 : 0
  }

  mutating func next() -> UInt8? {
    lengthSize > 0 ? nextWithLength() : nextWithStartCode()
  }

  private mutating func nextWithLength() -> UInt8? {
    guard offset + lengthSize < bytes.count else { return nil }
    let length = bytes[offset..<(offset + lengthSize)].reduce(0) { $0 << 8 | Int($1) }
    start = offset + lengthSize
    let first = bytes[start]
    offset += lengthSize + length
    return first
  }

  private mutating func nextWithStartCode() -> UInt8? {
    while offset + 3 < bytes.count {
      if bytes[offset] == 0, bytes[offset + 1] == 0, bytes[offset + 2] == 1 {
        offset += 3
        start = offset
        return bytes[offset]
      }
      offset += 1
    }
    return nil
  }
}

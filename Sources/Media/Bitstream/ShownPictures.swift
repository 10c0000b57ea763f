internal import CMedia

/// How many pictures a packet shows when it is decoded, as the headers of its frames state it. VP8, VP9 and AV1 have
/// frames that are only for reference: a packet may hold some beside the one that it shows, or nothing else.
struct ShownPictures {
  private enum Kind {
    /// One picture a packet.
    case one
    case vp8
    case vp9
    /// Whether the sequence's frames have the short header of a still picture. Nil until a sequence header was read.
    case av1(isReducedStill: Bool?)
    /// Only decoding shows it.
    case unknown
  }

  private var kind: Kind

  init(_ parameters: UnsafePointer<AVCodecParameters>) {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_VP8: kind = .vp8
    case AV_CODEC_ID_VP9: kind = .vp9
    case AV_CODEC_ID_AV1:
      kind = .av1(isReducedStill: nil)
      // An av1C record is followed by the sequence header.
      let extradata = UnsafeRawBufferPointer(
        start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
      if extradata.count > 4, extradata[0] == 0x81 { _ = countAV1(UnsafeRawBufferPointer(rebasing: extradata[4...])) }
    // Several pictures may be in one packet, with empty packets after it.
    case AV_CODEC_ID_MPEG4: kind = .unknown
    default: kind = .one
    }
  }

  /// The number of pictures; nil if only decoding shows it.
  mutating func count(in packet: Packet) -> Int? {
    switch kind {
    case .one: 1
    case .unknown: nil
    case .vp8: packet.withBytes { $0.count < 3 ? nil : Int($0[0] >> 4 & 1) }
    case .vp9: packet.withBytes { Self.countVP9($0) }
    case .av1: packet.withBytes { countAV1($0) }
    }
  }

  // MARK: VP9

  /// A packet is a frame, or several followed by an index with the size of each.
  private static func countVP9(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let marker = bytes.last else { return nil }
    let (frames, width) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
    let indexSize = 2 + frames * width
    guard marker & 0xE0 == 0xC0, bytes.count > indexSize, bytes[bytes.count - indexSize] == marker else {
      return isShownVP9(bytes).map { $0 ? 1 : 0 }
    }
    var (offset, shown) = (0, 0)
    for frame in 0..<frames {
      let place = bytes.count - indexSize + 1 + frame * width
      let size = (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
      guard size > 0, offset + size <= bytes.count - indexSize,
        let isShown = isShownVP9(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)]))
      else { return nil }
      if isShown { shown += 1 }
      offset += size
    }
    return shown
  }

  private static func isShownVP9(_ frame: UnsafeRawBufferPointer) -> Bool? {
    var bits = Bits(frame)
    // The marker of a frame, and a profile with its reserved bit.
    guard bits.next(2) == 2, let profile = bits.next(2), profile != 3 || bits.next(1) == 0,
      let showsExisting = bits.next(1)
    else { return nil }
    if showsExisting == 1 { return true }
    guard bits.next(1) != nil, let isShown = bits.next(1) else { return nil }
    return isShown == 1
  }

  // MARK: AV1

  private mutating func countAV1(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var units = AV1Units(bytes)
    var shown = 0
    while let unit = units.next() {
      switch unit.type {
      case 1: readSequenceHeader(unit.payload)
      case 3, 6:
        guard let isShown = isShownAV1(unit.payload) else { return nil }
        if isShown { shown += 1 }
      default: break
      }
    }
    return units.isAtEnd ? shown : nil
  }

  private mutating func readSequenceHeader(_ unit: UnsafeRawBufferPointer) {
    var bits = Bits(unit)
    guard bits.next(4) != nil, let isReduced = bits.next(1) else { return }
    kind = .av1(isReducedStill: isReduced == 1)
  }

  private func isShownAV1(_ frame: UnsafeRawBufferPointer) -> Bool? {
    guard case .av1(let isReducedStill?) = kind else { return nil }
    if isReducedStill { return true }
    var bits = Bits(frame)
    guard let showsExisting = bits.next(1) else { return nil }
    if showsExisting == 1 { return true }
    guard bits.next(2) != nil, let isShown = bits.next(1) else { return nil }
    return isShown == 1
  }
}

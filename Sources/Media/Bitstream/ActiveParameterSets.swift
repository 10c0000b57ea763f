internal import CMedia
internal import CompositionModel

/// The headers of a track that hold until others take their place: parameter sets, sequence headers, palettes. A file
/// may have them in its first packets only, or once in each part of a joined stream.
///
/// The headers in force are followed from packet to packet. A decoder that starts at a packet has been opened with the
/// file's own headers; where others are in force, it is given all of them.
struct ActiveParameterSets {
  private enum Syntax {
    case h264, hevc, mpeg12, mpeg4, vc1, av1
    /// Tables of quantisation and of Huffman codes.
    case jpeg
    /// Palettes only.
    case other
  }

  /// In the order in which a decoder needs them.
  private struct Key: Hashable, Comparable {
    var kind: Int
    var id = 0

    static func < (a: Key, b: Key) -> Bool { (a.kind, a.id) < (b.kind, b.id) }
  }

  private struct Header: Equatable {
    var bytes: [UInt8]
    /// Where another header takes the place of this one, the decoder drops this header as well.
    var parent: Key?
  }

  /// Longer headers are cut off or left out. Of such a size are user data, which no decoder needs whole.
  private static let greatestSize = 4096

  private let syntax: Syntax
  /// The bytes of the length in front of each unit; 0 if units follow start codes.
  private var lengthSize = 0
  private var own: [Key: Header] = [:]
  private var current: [Key: Header] = [:]
  private var record: [UInt8]?
  private var palette: [UInt8]?

  init(_ parameters: UnsafePointer<AVCodecParameters>) {
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264: syntax = .h264
    case AV_CODEC_ID_HEVC: syntax = .hevc
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO: syntax = .mpeg12
    case AV_CODEC_ID_MPEG4: syntax = .mpeg4
    case AV_CODEC_ID_VC1: syntax = .vc1
    case AV_CODEC_ID_AV1: syntax = .av1
    case AV_CODEC_ID_MJPEG, AV_CODEC_ID_LJPEG: syntax = .jpeg
    default: syntax = .other
    }
    read(
      record: UnsafeRawBufferPointer(
        start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size)))
    own = current
  }

  /// Adds a packet of the track, in the file's order. Returns what a decoder that starts at it lacks: nil if nothing,
  /// or if it is not flagged as a keyframe, so that none does.
  mutating func read(_ packet: Packet) -> DecoderState? {
    if let bytes = packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) {
      record = bytes
      bytes.withUnsafeBytes { read(record: $0) }
      own = current
    }
    let before = current
    if let bytes = packet.sideData(AV_PKT_DATA_PALETTE) { palette = bytes }
    let found = packet.withBytes { read($0) }
    guard packet.isKeyframe else { return nil }
    // What came beside this packet is included: demuxers leave it out after a seek.
    var state = DecoderState(record: record, palette: palette)
    let lacksHeaders = before != own && !before.keys.allSatisfy { found.contains($0) }
    if lacksHeaders {
      for (_, header) in before.sorted(by: { $0.key < $1.key }) { state.headers += framed(header.bytes) }
    }
    return state == DecoderState() ? nil : state
  }

  /// Reads a file's own headers, or those that take their place.
  private mutating func read(record bytes: UnsafeRawBufferPointer) {
    switch syntax {
    case .h264 where bytes.count > 6 && bytes[0] == 1:
      lengthSize = Int(bytes[4] & 3) + 1
      var offset = 5
      for mask in [31, 255] as [UInt8] where offset < bytes.count {
        let count = Int(bytes[offset] & mask)
        offset += 1
        for _ in 0..<count { readSized(bytes, &offset) }
      }
    case .hevc where bytes.count > 22 && (bytes[0] != 0 || bytes[1] != 0 || bytes[2] > 1):
      lengthSize = Int(bytes[21] & 3) + 1
      var offset = 23
      for _ in 0..<Int(bytes[22]) where offset + 3 <= bytes.count {
        let count = Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2])
        offset += 3
        for _ in 0..<count { readSized(bytes, &offset) }
      }
    case .h264, .hevc:
      lengthSize = 0
      _ = read(bytes)
    // An av1C record is followed by the sequence header.
    case .av1 where bytes.count > 4 && bytes[0] == 0x81: _ = read(UnsafeRawBufferPointer(rebasing: bytes[4...]))
    default: _ = read(bytes)
    }
  }

  /// Reads a unit that follows its size in two bytes.
  private mutating func readSized(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) {
    guard offset + 2 <= bytes.count else { return }
    let size = Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    offset += 2
    guard size > 0, offset + size <= bytes.count else {
      offset = bytes.count
      return
    }
    var found: Set<Key> = []
    take(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)]), &found)
    offset += size
  }

  /// Reads the headers before a packet's first picture. Returns the places of those that it sets.
  private mutating func read(_ bytes: UnsafeRawBufferPointer) -> Set<Key> {
    var found: Set<Key> = []
    switch syntax {
    case .other: break
    case .jpeg: readTables(bytes, &found)
    case .av1:
      for unit in AV1Units(bytes) where unit.type == 1 {
        // The unit again, with its size.
        var size = unit.payload.count
        var header: [UInt8] = [0x0A]
        repeat {
          header.append(UInt8(size & 0x7F) | (size > 0x7F ? 0x80 : 0))
          size >>= 7
        } while size > 0
        set(Key(kind: 0), Header(bytes: header + unit.payload), &found)
      }
    case .h264, .hevc, .mpeg12, .mpeg4, .vc1:
      if lengthSize > 0 {
        var offset = 0
        while offset + lengthSize < bytes.count {
          let size = bytes[offset..<(offset + lengthSize)].reduce(0) { $0 << 8 | Int($1) }
          offset += lengthSize
          guard size > 0, size <= bytes.count - offset, !isPicture(bytes[offset]) else { break }
          take(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)]), &found)
          offset += size
        }
        return found
      }
      var codes = StartCodes(bytes)
      var code = codes.next()
      while let unit = code, !isPicture(unit.code) {
        code = codes.next()
        // A start code may have a zero more in front of it.
        var end = code?.offset ?? bytes.count
        while end > unit.offset + 4, bytes[end - 1] == 0 { end -= 1 }
        take(UnsafeRawBufferPointer(rebasing: bytes[(unit.offset + 3)..<end]), &found)
      }
    }
    return found
  }

  /// Whether a unit with this first byte begins a picture, after which no headers follow.
  private func isPicture(_ first: UInt8) -> Bool {
    switch syntax {
    case .h264: (1...5).contains(first & 31)
    case .hevc: first >> 1 & 63 < 32
    // Slices. Matrices may follow the picture's header.
    case .mpeg12: (0x01...0xAF).contains(first)
    case .mpeg4: first == 0xB6
    case .vc1: (0x0B...0x0D).contains(first)
    case .av1, .jpeg, .other: false
    }
  }

  /// Keeps a unit if it is a header. `unit` begins with the byte that states its type.
  private mutating func take(_ unit: UnsafeRawBufferPointer, _ found: inout Set<Key>) {
    guard let first = unit.first else { return }
    let bytes = [UInt8](unit.prefix(Self.greatestSize))
    switch (syntax, first) {
    case (.h264, _) where first & 31 == 7:
      var bits = PayloadBits(bytes.dropFirst(4))
      if let id = bits.golomb() { set(Key(kind: 0, id: id), Header(bytes: bytes), &found) }
    case (.h264, _) where first & 31 == 8:
      var bits = PayloadBits(bytes.dropFirst(1))
      guard let id = bits.golomb(), let parent = bits.golomb() else { return }
      set(Key(kind: 1, id: id), Header(bytes: bytes, parent: Key(kind: 0, id: parent)), &found)
    case (.h264, _) where first & 31 == 6:
      guard let build = Self.x264Build(bytes) else { return }
      // Later builds make what the standard describes, as decoders assume of unknown encoders.
      set(Key(kind: 2), build < 151 ? Header(bytes: Self.versionMessage(build)) : nil, &found)
    case (.hevc, _) where first >> 1 & 63 == 32:
      var bits = PayloadBits(bytes.dropFirst(2))
      if let id = bits.next(4) { set(Key(kind: 0, id: id), Header(bytes: bytes), &found) }
    case (.hevc, _) where first >> 1 & 63 == 33:
      guard let (id, parent) = Self.hevcSequence(bytes) else { return }
      set(Key(kind: 1, id: id), Header(bytes: bytes, parent: Key(kind: 0, id: parent)), &found)
    case (.hevc, _) where first >> 1 & 63 == 34:
      var bits = PayloadBits(bytes.dropFirst(2))
      guard let id = bits.golomb(), let parent = bits.golomb() else { return }
      set(Key(kind: 2, id: id), Header(bytes: bytes, parent: Key(kind: 1, id: parent)), &found)
    case (.mpeg12, 0xB3):
      // It resets what the extensions set.
      for kind in 1...3 { set(Key(kind: kind), nil, &found) }
      set(Key(kind: 0), Header(bytes: bytes), &found)
    case (.mpeg12, 0xB5) where bytes.count > 1 && (1...3).contains(bytes[1] >> 4):
      set(Key(kind: Int(bytes[1] >> 4)), Header(bytes: bytes), &found)
    case (.mpeg4, 0xB0): set(Key(kind: 0), Header(bytes: bytes), &found)
    case (.mpeg4, 0xB5): set(Key(kind: 1), Header(bytes: bytes), &found)
    case (.mpeg4, 0x20...0x2F): set(Key(kind: 2), Header(bytes: bytes), &found)
    // The encoder's name and version, which decoders take its faults from.
    case (.mpeg4, 0xB2) where bytes.count > 4:
      let name = bytes[1...4].reduce(0) { $0 << 8 | Int($1) }
      set(Key(kind: 3, id: name), Header(bytes: [UInt8](bytes.prefix(256))), &found)
    case (.vc1, 0x0F): set(Key(kind: 0), Header(bytes: bytes), &found)
    case (.vc1, 0x0E): set(Key(kind: 1), Header(bytes: bytes), &found)
    default: break
    }
  }

  /// Reads the tables in front of a JPEG picture's first scan. Each is kept as a segment of its own.
  private mutating func readTables(_ bytes: UnsafeRawBufferPointer, _ found: inout Set<Key>) {
    var offset = 2
    while offset + 4 <= bytes.count, bytes[offset] == 0xFF {
      let marker = bytes[offset + 1]
      // A marker may have more bytes of ones in front of it.
      if marker == 0xFF {
        offset += 1
        continue
      }
      let end = offset + 2 + (Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3]))
      guard marker != 0xDA, end > offset + 4, end <= bytes.count else { return }
      var table = offset + 4
      while marker == 0xDB || marker == 0xC4, table < end {
        let isHuffman = marker == 0xC4
        var size = 1 + (isHuffman ? 16 : bytes[table] >> 4 == 0 ? 64 : 128)
        guard table + size <= end else { break }
        if isHuffman { size += bytes[(table + 1)..<(table + 17)].reduce(0) { $0 + Int($1) } }
        guard table + size <= end else { break }
        let segment = [0xFF, marker, UInt8((size + 2) >> 8), UInt8((size + 2) & 0xFF)] + bytes[table..<(table + size)]
        let id = isHuffman ? Int(bytes[table]) : Int(bytes[table] & 15)
        set(Key(kind: isHuffman ? 1 : 0, id: id), Header(bytes: segment), &found)
        table += size
      }
      offset = end
    }
  }

  private mutating func set(_ key: Key, _ header: Header?, _ found: inout Set<Key>) {
    found.insert(key)
    guard current[key] != header else { return }
    remove(childrenOf: key)
    current[key] = header
  }

  private mutating func remove(childrenOf key: Key) {
    for (child, header) in current where header.parent == key {
      remove(childrenOf: child)
      current[child] = nil
    }
  }

  /// A header as the track's packets hold it.
  private func framed(_ header: [UInt8]) -> [UInt8] {
    if syntax == .av1 || syntax == .jpeg { return header }
    if lengthSize == 0 { return [0, 0, 0, 1] + header }
    return (0..<lengthSize).reversed().map { UInt8(truncatingIfNeeded: header.count >> (8 * $0)) } + header
  }

  // MARK: Single headers

  /// The identifiers of a sequence parameter set and of its video parameter set.
  private static func hevcSequence(_ bytes: [UInt8]) -> (id: Int, parent: Int)? {
    var bits = PayloadBits(bytes.dropFirst(2))
    guard let parent = bits.next(4), let layers = bits.next(3), bits.next(1) != nil, bits.skip(96) else { return nil }
    if layers > 0 {
      let flags = (0..<8).map { _ in bits.next(2) ?? 0 }
      for flag in flags.prefix(layers) {
        guard bits.skip((flag & 2 != 0 ? 88 : 0) + (flag & 1 != 0 ? 8 : 0)) else { return nil }
      }
    }
    return bits.golomb().map { ($0, parent) }
  }

  /// The build of x264 that a message of the encoder states.
  private static func x264Build(_ bytes: [UInt8]) -> Int? {
    var bits = PayloadBits(bytes.dropFirst(1), limit: 128)
    guard bits.next(8) == 5, var size = bits.next(8) else { return nil }
    while size > 0, size % 255 == 0, let more = bits.next(8) {
      size += more
      if more < 255 { break }
    }
    guard bits.skip(128) else { return nil }
    for character in "x264 - core ".utf8 where bits.next(8) != Int(character) { return nil }
    var build: Int?
    while let digit = bits.next(8), (48...57).contains(digit), (build ?? 0) < 100_000 {
      build = (build ?? 0) * 10 + digit - 48
    }
    return build
  }

  /// The shortest message that states a build of x264.
  private static func versionMessage(_ build: Int) -> [UInt8] {
    let text = [UInt8]("x264 - core \(build)".utf8)
    let id: [UInt8] = [
      0xDC, 0x45, 0xE9, 0xBD, 0xE6, 0xD9, 0x48, 0xB7, 0x96, 0x2C, 0xD8, 0x20, 0xD9, 0x23, 0xEE, 0xEF,
    ]
    return [6, 5, UInt8(id.count + text.count)] + id + text + [0x80]
  }
}

/// The first bits of a unit's payload, without the bytes that keep start codes out of it.
struct PayloadBits: BitSource {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ unit: ArraySlice<UInt8>, limit: Int = 96) {
    var payload: [UInt8] = []
    var zeros = 0
    for byte in unit {
      if payload.count == limit { break }
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      payload.append(byte)
    }
    bytes = payload
  }

  mutating func next(_ count: Int) -> Int? {
    bytes.withUnsafeBytes { buffer in
      var bits = Bits(buffer, from: offset)
      let value = bits.next(count)
      offset += count
      return value
    }
  }

  mutating func skip(_ count: Int) -> Bool {
    offset += count
    return offset <= bytes.count * 8
  }
}

extension Packet {
  /// A copy of the packet's side data of a type; nil if it has none.
  func sideData(_ type: AVPacketSideDataType) -> [UInt8]? {
    var size = 0
    guard let data = av_packet_get_side_data(pointer, type, &size), size > 0 else { return nil }
    return [UInt8](UnsafeBufferPointer(start: data, count: size))
  }
}

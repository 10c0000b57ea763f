/// How movies state the parameters of an encoded track, and how playlists name its codec (RFC 6381).
package struct DecoderConfiguration: Sendable, Hashable {
  /// The type of the sample entry.
  let sampleEntry: String
  /// The box in it that a decoder is set up with.
  let box: [UInt8]
  /// As CODECS of a playlist states it.
  package let codec: String

  /// Nil if it is not H.264, HEVC or AAC, or its parameters cannot be read.
  /// - Parameter header: With parameter sets as the encoder gives them, after start codes.
  package init?(_ header: PieceHeader) {
    switch header.codec {
    case "h264":
      guard let record = Self.avc(header.extradata), let name = CodecString.avc(record) else { return nil }
      (sampleEntry, codec, box) = ("avc1", "avc1.\(name)", Box.box("avcC", record))
    case "hevc":
      guard let record = Self.hevc(header.extradata), let name = CodecString.hevc(record) else { return nil }
      (sampleEntry, codec, box) = ("hvc1", "hvc1.\(name)", Box.box("hvcC", record))
    case "aac":
      guard let first = header.extradata.first, header.extradata.count < 1 << 20 else { return nil }
      let rate = Box.big(UInt32(clamping: header.bitRate))
      let configuration = Box.descriptor(
        4, [0x40, 0x15, 0, 0, 0], rate, rate, Box.descriptor(5, header.extradata))
      (sampleEntry, codec) = ("mp4a", "mp4a.40.\(first >> 3)")
      box = Box.full("esds", Box.descriptor(3, [0, 0, 0], configuration, Box.descriptor(6, [2])))
    default: return nil
    }
  }

  /// The record of ISO/IEC 14496-15, 5.3.3.1.
  private static func avc(_ extradata: [UInt8]) -> [UInt8]? {
    let units = NetworkUnitStream.units(in: extradata).map { extradata[$0] }
    let sequences = units.filter { $0.first.map { $0 & 31 } == 7 }
    let pictures = units.filter { $0.first.map { $0 & 31 } == 8 }
    guard let sequence = sequences.first, sequence.count >= 4, sequences.count < 32, pictures.count < 256,
      !pictures.isEmpty, units.allSatisfy({ $0.count <= Int(UInt16.max) })
    else { return nil }
    let profile = sequence[sequence.startIndex + 1]
    var record: [UInt8] = [1] + sequence.dropFirst().prefix(3) + [0xFF, 0xE0 | UInt8(sequences.count)]
    for unit in sequences { record += Box.big(UInt16(unit.count)) + unit }
    record.append(UInt8(pictures.count))
    for unit in pictures { record += Box.big(UInt16(unit.count)) + unit }
    guard [100, 110, 122, 244].contains(profile) else { return record }
    var bits = UnitBits(sequence.dropFirst(4))
    guard bits.golomb() != nil, let chroma = bits.golomb(), chroma < 4, chroma != 3 || bits.skip(1),
      let luma = bits.golomb(), luma < 8, let depth = bits.golomb(), depth < 8
    else { return nil }
    return record + [0xFC | UInt8(chroma), 0xF8 | UInt8(luma), 0xF8 | UInt8(depth), 0]
  }

  /// The record of ISO/IEC 14496-15, 8.3.3.1.
  private static func hevc(_ extradata: [UInt8]) -> [UInt8]? {
    let units = NetworkUnitStream.units(in: extradata).map { extradata[$0] }
    // Video, sequence and picture parameter sets.
    let arrays = [32, 33, 34].map { (type: UInt8) -> (type: UInt8, units: [ArraySlice<UInt8>]) in
      (type: type, units: units.filter { $0.first.map { $0 >> 1 & 63 } == type })
    }
    guard arrays.allSatisfy({ !$0.units.isEmpty && $0.units.count < 256 }), let sequence = arrays[1].units.first,
      units.allSatisfy({ $0.count <= Int(UInt16.max) })
    else { return nil }
    // After the header of the unit, of two bytes.
    var bits = UnitBits(sequence.dropFirst(2))
    guard bits.skip(4), let layers = bits.next(3), let isNested = bits.next(1) else { return nil }
    // Profile, compatibility, constraints and level, as they are.
    var general: [UInt8] = []
    for _ in 0..<12 {
      guard let byte = bits.next(8) else { return nil }
      general.append(UInt8(byte))
    }
    var present: [(profile: Bool, level: Bool)] = []
    for _ in 0..<layers {
      guard let profile = bits.next(1), let level = bits.next(1) else { return nil }
      present.append((profile == 1, level == 1))
    }
    if layers > 0, !bits.skip(2 * Int(8 - layers)) { return nil }
    for layer in present { if !bits.skip((layer.profile ? 88 : 0) + (layer.level ? 8 : 0)) { return nil } }
    guard bits.golomb() != nil, let chroma = bits.golomb(), chroma < 4, chroma != 3 || bits.skip(1),
      bits.golomb() != nil, bits.golomb() != nil, let isCropped = bits.next(1)
    else { return nil }
    for _ in 0..<(isCropped * 4) where bits.golomb() == nil { return nil }
    guard let luma = bits.golomb(), luma < 8, let depth = bits.golomb(), depth < 8 else { return nil }
    var record: [UInt8] = [1] + general
    record += [0xF0, 0, 0xFC, 0xFC | UInt8(chroma), 0xF8 | UInt8(luma), 0xF8 | UInt8(depth), 0, 0]
    record.append(UInt8(layers + 1) << 3 | UInt8(isNested) << 2 | 3)
    record.append(UInt8(arrays.count))
    for (type, units) in arrays {
      record += [0x80 | type] + Box.big(UInt16(units.count))
      for unit in units { record += Box.big(UInt16(unit.count)) + unit }
    }
    return record
  }
}

/// What follows the type of the sample entry in the name of a codec (RFC 6381, and ISO/IEC 14496-15, annex E).
package enum CodecString {
  /// - Parameter record: What is in `avcC`. Nil if it is too short.
  package static func avc(_ record: [UInt8]) -> String? {
    record.count < 4 ? nil : record[1...3].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// - Parameter record: What is in `hvcC`. Nil if it is too short.
  package static func hevc(_ record: [UInt8]) -> String? {
    guard record.count >= 13 else { return nil }
    let space = ["", "A", "B", "C"][Int(record[1] >> 6)]
    let compatible = record[2...5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let reversed = (0..<32).reduce(UInt32(0)) { $0 | (compatible >> $1 & 1) << (31 - $1) }
    var constraints = Array(record[6...11])
    while constraints.last == 0 { constraints.removeLast() }
    let parts =
      [
        "\(space)\(record[1] & 31)", String(reversed, radix: 16), (record[1] & 32 == 0 ? "L" : "H") + "\(record[12])",
      ] + constraints.map { String($0, radix: 16, uppercase: true) }
    return parts.joined(separator: ".")
  }
}

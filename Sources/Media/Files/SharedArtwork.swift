import CompositionModel

extension Artwork.Format {
  /// A picture without what is said about it, such as the place where a photograph was taken: only what decoding and
  /// its colours need stays, and which way up it is; nothing after its end or after what is no part of such a picture.
  func withoutDescriptions(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .png: png(bytes)
    case .jpeg: jpeg(bytes)
    }
  }

  /// PNG (third edition), section 5: chunks of a length, a type, data and a checksum.
  private func png(_ bytes: [UInt8]) -> [UInt8] {
    let colours = ["tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "mDCV", "cLLI", "sBIT", "bKGD", "hIST", "pHYs"]
    var kept = Array(bytes.prefix(8))
    var place = 8
    while place + 12 <= bytes.count {
      let length = bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
      let type = bytes[(place + 4)..<(place + 8)]
      let end = place + 12 + length
      guard end <= bytes.count else { break }
      // The type of a chunk that decoding needs begins with a capital letter.
      let isNeeded = type.first.map { $0 & 0x20 == 0 } ?? false
      if isNeeded || colours.contains(where: { type.elementsEqual($0.utf8) }) { kept += bytes[place..<end] }
      if type.elementsEqual("eXIf".utf8) {
        kept += ExifOrientation(bytes[(place + 8)..<(end - 4)])?.chunk ?? []
      }
      if type.elementsEqual("IEND".utf8) { return kept }
      place = end
    }
    return kept
  }

  /// ITU-T T.81, annex B: markers, of which some have a segment with its length, and scans.
  private func jpeg(_ bytes: [UInt8]) -> [UInt8] {
    var kept = Array(bytes.prefix(2))
    var place = 2
    while place + 1 < bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      if marker == 0xFF {
        place += 1
        continue
      }
      if marker == 0xD9 { return kept + [0xFF, 0xD9] }
      guard place + 4 <= bytes.count else { break }
      let end = place + 2 + (Int(bytes[place + 2]) << 8 | Int(bytes[place + 3]))
      guard end >= place + 4, end <= bytes.count else { break }
      let segment = bytes[(place + 4)..<end]
      if Self.isKept(marker, segment) { kept += bytes[place..<end] }
      if marker == 0xE1, segment.starts(with: ExifOrientation.signature) {
        kept += ExifOrientation(segment.dropFirst(ExifOrientation.signature.count))?.segment ?? []
      }
      place = end
      guard marker == 0xDA else { continue }
      // A scan goes on to the next marker that is neither a stuffed byte nor one that decoding starts again at.
      while place + 1 < bytes.count,
        bytes[place] != 0xFF || bytes[place + 1] == 0 || (0xD0...0xD7).contains(bytes[place + 1])
      {
        place += 1
      }
      kept += bytes[end..<place]
    }
    return kept
  }

  /// Whether a segment is kept. The segments for applications are left out but for those of JFIF, of ICC profiles and
  /// of Adobe, which say what the colours are; so are comments.
  private static func isKept(_ marker: UInt8, _ segment: ArraySlice<UInt8>) -> Bool {
    switch marker {
    case 0xE0: segment.starts(with: "JFIF\0".utf8)
    case 0xE2: segment.starts(with: "ICC_PROFILE\0".utf8)
    case 0xEE: segment.starts(with: "Adobe".utf8)
    case 0xE1...0xEF, 0xFE: false
    default: true
    }
  }
}

import PieceFiles

/// The name of a codec with its profile and level, as playlists and manifests state it (RFC 6381, and the codecs' own
/// specifications of storage in ISO/IEC 14496-12).
struct CodecName {
  let text: String

  /// Bytes of the fields that stand before the boxes of a sample entry.
  private static let fieldsOfPictures: Int64 = 78
  private static let fieldsOfSound: Int64 = 28

  /// Nil for a codec that is not known here.
  /// - Parameters:
  ///   - type: Of the sample entry.
  ///   - contents: What is in it.
  init?(_ reader: BoxReader, type: String, _ contents: Range<Int64>) throws(MediaError) {
    func configuration(_ box: String, after fields: Int64) throws(MediaError) -> [UInt8] {
      let start = min(contents.lowerBound + fields, contents.upperBound)
      return try reader.bytes(of: [box], in: start..<contents.upperBound)
    }
    switch type {
    case "avc1", "avc3":
      let box = try configuration("avcC", after: Self.fieldsOfPictures)
      guard let name = CodecString.avc(box) else { throw reader.damage("its description of AVC is too short") }
      text = "\(type).\(name)"
    case "hvc1", "hev1":
      let box = try configuration("hvcC", after: Self.fieldsOfPictures)
      guard let name = CodecString.hevc(box) else { throw reader.damage("its description of HEVC is too short") }
      text = "\(type).\(name)"
    case "av01": text = "av01." + (try Self.av1(configuration("av1C", after: Self.fieldsOfPictures), reader))
    case "mp4a": text = "mp4a." + (try Self.mpeg4(configuration("esds", after: Self.fieldsOfSound), reader))
    case "fLaC", "alac": text = type
    default: return nil
    }
  }

  /// AV1 Codec ISO Media File Format Binding, 5.
  private static func av1(_ box: [UInt8], _ reader: BoxReader) throws(MediaError) -> String {
    guard box.count >= 3 else { throw reader.damage("its description of AV1 is too short") }
    let (profile, level) = (box[1] >> 5, box[1] & 31)
    let depth = box[2] & 0x40 == 0 ? 8 : profile == 2 && box[2] & 0x20 != 0 ? 12 : 10
    return "\(profile).\(digits(Int(level)))\(box[2] & 0x80 == 0 ? "M" : "H").\(digits(depth))"
  }

  /// ISO/IEC 14496-1, 7.2.6: the type of the stream, and of MPEG-4 sound the type of its objects.
  private static func mpeg4(_ box: [UInt8], _ reader: BoxReader) throws(MediaError) -> String {
    // The box's version and flags.
    var place = 4
    func next() throws(MediaError) -> UInt8 {
      guard place < box.count else { throw reader.damage("its description of sound is too short") }
      place += 1
      return box[place - 1]
    }
    func open(_ tag: UInt8) throws(MediaError) {
      guard try next() == tag else { throw reader.damage("its description of sound is not MPEG-4's") }
      while try next() & 0x80 != 0 {}
    }
    try open(3)
    place += 2
    let flags = try next()
    place += (flags & 0x80 != 0 ? 2 : 0) + (flags & 0x20 != 0 ? 2 : 0)
    try open(4)
    let type = try next()
    guard type == 0x40 else { return hex(type) }
    place += 12
    try open(5)
    let object = try next() >> 3
    return "40.\(object)"
  }

  private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
  private static func digits(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
}

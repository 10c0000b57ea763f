internal import CMedia
internal import CZlib
import CompositionModel

/// What is stored of the packets of GIF's and PNG's encoders, and how it becomes a part of a file: pieces have pictures
/// without anything that depends on the place in the film.
enum StoredPictures {
  /// What a piece keeps of an encoder's packet.
  static func stored(_ packet: Packet, as form: EncoderPackets, isFirst: Bool, name: String) throws(MediaError)
    -> Packet
  {
    switch form {
    case .whole: return packet
    case .gif:
      // The first packet begins with the file's head.
      if isFirst { try GIFHead.remove(from: packet, name: name) }
      return packet
    case .png: return try PNGChunks.data(of: packet, name: name)
    }
  }
}

/// The head of a GIF file without a palette for all pictures.
enum GIFHead {
  private static let signature = Array("GIF89a".utf8)
  private static let byteCount = 13

  static func bytes(_ size: PixelSize) -> [UInt8] {
    let sides = [size.width, size.height].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8 & 0xFF)] }
    // 8 bits a component, no palette, the background's number, and square pixels.
    return signature + sides + [0x70, 0, 0]
  }

  static func remove(from packet: Packet, name: String) throws(MediaError) {
    let isHead = packet.withBytes { bytes in
      bytes.count > byteCount && bytes.starts(with: signature) && bytes[10] & 0x80 == 0
    }
    guard isHead else {
      throw MediaError(
        .unsupported, operation: "encoding with", subject: name, message: "its first packet has another head")
    }
    packet.removeBytes(atStart: byteCount, atEnd: 0)
  }
}

/// The chunks of PNG files, and those of animated ones.
enum PNGChunks {
  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The head of a file with 8 bits of red, green and blue.
  static func head(_ size: PixelSize) -> [UInt8] {
    chunk("IHDR", bigEndian(UInt32(size.width)) + bigEndian(UInt32(size.height)) + [8, 2, 0, 0, 0])
  }

  /// A packet of the compressed data alone, of one with a whole file.
  static func data(of packet: Packet, name: String) throws(MediaError) -> Packet {
    let found = packet.withBytes { compressedData(Array($0)) }
    guard let data = found, !data.isEmpty else {
      throw MediaError(.unsupported, operation: "encoding with", subject: name, message: "its packet is no PNG file")
    }
    return try Packet(copying: data, timesOf: packet)
  }

  /// Nil: the bytes are no PNG file.
  static func compressedData(_ file: [UInt8]) -> [UInt8]? {
    guard file.starts(with: signature) else { return nil }
    var data: [UInt8] = []
    var place = signature.count
    while place + 12 <= file.count {
      let length = file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
      guard length <= file.count - place - 12 else { return nil }
      let type = file[place + 4..<place + 8]
      if type.elementsEqual("IDAT".utf8) { data += file[place + 8..<place + 8 + length] }
      if type.elementsEqual("IEND".utf8) { return data }
      place += 12 + length
    }
    return nil
  }

  /// The chunks of a picture of an animated file.
  /// - Parameters:
  ///   - index: Its number in the film.
  ///   - delay: Seconds for which it is shown.
  static func animated(_ data: UnsafeRawBufferPointer, index: Int64, size: PixelSize, delay: MediaTime) -> [UInt8] {
    // The control chunks and the data of all pictures but the first are numbered together.
    let number = UInt32(clamping: index == 0 ? 0 : 2 * index - 1)
    let control = chunk(
      "fcTL",
      bigEndian(number) + bigEndian(UInt32(size.width)) + bigEndian(UInt32(size.height)) + bigEndian(UInt32(0))
        + bigEndian(UInt32(0)) + bigEndian(UInt16(clamping: delay.value)) + bigEndian(UInt16(clamping: delay.timescale))
        // It takes the place of the whole picture before.
        + [0, 0])
    return control + (index == 0 ? chunk("IDAT", Array(data)) : chunk("fdAT", bigEndian(number + 1) + Array(data)))
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    let sum = body.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
    return bigEndian(UInt32(data.count)) + body + bigEndian(UInt32(truncatingIfNeeded: sum))
  }

  private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}

extension Packet {
  /// A packet of other bytes, with the times of another one.
  convenience init(copying bytes: [UInt8], timesOf other: Packet) throws(MediaError) {
    try self.init(byteCount: bytes.count)
    try withMutableBytes { buffer in buffer.copyBytes(from: bytes) }
    (pts, dts, duration, isKeyframe) = (other.pts, other.dts, other.duration, other.isKeyframe)
  }
}

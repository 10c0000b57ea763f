internal import CMedia
internal import CZlib

/// What libavcodec reads wrongly in the headers of pictures, put right before it reads them.
///
/// - PNG: `pHYs` has the pixels a unit along each axis, so the aspect of a pixel is that of its numbers upside down.
///   The colour that `tRNS` makes transparent in grey of 1, 2 and 4 bits is a sample as it is stored. Such a picture is
///   given to libavcodec with the palette that it amounts to.
/// - JPEG: with a unit, the densities of JFIF are those of `pHYs`. Without one they are the aspect itself.
enum PictureHeaderCorrection {
  /// The bytes of a packet of a codec. Nil: as they are.
  static func corrected(_ bytes: UnsafeRawBufferPointer, _ codec: AVCodecID) -> [UInt8]? {
    switch codec {
    case AV_CODEC_ID_PNG, AV_CODEC_ID_APNG: png(bytes)
    case AV_CODEC_ID_MJPEG: jpeg(bytes)
    default: nil
    }
  }

  // MARK: PNG (third edition, https://www.w3.org/TR/png-3/)

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// A chunk's type and the place of its data.
  private struct Chunk {
    var type: String
    var data: Range<Int>

    /// With its length, its type and its checksum.
    var whole: Range<Int> { (data.lowerBound - 8)..<(data.upperBound + 4) }
  }

  /// The chunks before the image's data. What is given may be all of a file, or its head, as APNG's demuxer stores it.
  private static func head(_ bytes: UnsafeRawBufferPointer) -> [Chunk] {
    var place = bytes.starts(with: signature) ? signature.count : 0
    var chunks: [Chunk] = []
    while place + 12 <= bytes.count {
      let length = number(bytes, place, 4)
      let type = String(decoding: bytes[(place + 4)..<(place + 8)], as: UTF8.self)
      guard length <= bytes.count - place - 12, !["IDAT", "fcTL", "fdAT", "IEND"].contains(type) else { break }
      chunks.append(Chunk(type: type, data: (place + 8)..<(place + 8 + length)))
      place += 12 + length
    }
    return chunks
  }

  private static func png(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    let chunks = head(bytes)
    guard let header = chunks.first, header.type == "IHDR", header.data.count == 13 else { return nil }
    func chunk(_ type: String, _ length: Int) -> Chunk? { chunks.first { $0.type == type && $0.data.count == length } }
    var changes: [(place: Range<Int>, bytes: [UInt8])] = []
    if let density = chunk("pHYs", 9) {
      let data = [UInt8](bytes[density.data])
      if data[..<4] != data[4..<8] {
        changes.append((density.whole, made("pHYs", [UInt8](data[4..<8] + data[..<4] + data[8...]))))
      }
    }
    let (depth, colourType) = (Int(bytes[header.data.lowerBound + 8]), bytes[header.data.lowerBound + 9])
    if colourType == 0, [1, 2, 4].contains(depth), let key = chunk("tRNS", 2) {
      let greatest = 1 << depth - 1
      let transparent = number(bytes, key.data.lowerBound, 2) & greatest
      var data = [UInt8](bytes[header.data])
      data[9] = 3
      changes.append((header.whole, made("IHDR", data)))
      let palette = (0...greatest).flatMap { [UInt8](repeating: UInt8($0 * 255 / greatest), count: 3) }
      let alphas = [UInt8](repeating: 255, count: transparent) + [0]
      changes.append((key.whole, made("PLTE", palette) + made("tRNS", alphas)))
    }
    guard !changes.isEmpty else { return nil }
    var corrected: [UInt8] = []
    var place = 0
    for change in changes.sorted(by: { $0.place.lowerBound < $1.place.lowerBound }) {
      corrected += bytes[place..<change.place.lowerBound] + change.bytes
      place = change.place.upperBound
    }
    return corrected + bytes[place...]
  }

  /// A chunk with its length and its checksum.
  private static func made(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let content = Array(type.utf8) + data
    let checksum = content.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
    return bigEndian(UInt64(data.count), 4) + content + bigEndian(UInt64(checksum), 4)
  }

  // MARK: JFIF 1.02

  /// The head of a picture up to the densities.
  private static let jfif: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8)

  private static func jpeg(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    let unit = jfif.count + 2
    guard bytes.count > unit + 5, bytes.starts(with: jfif), (1...2).contains(bytes[unit]) else { return nil }
    let (across, down) = ([UInt8](bytes[(unit + 1)..<(unit + 3)]), [UInt8](bytes[(unit + 3)..<(unit + 5)]))
    if across == down { return nil }
    var corrected = [UInt8](bytes)
    corrected.replaceSubrange((unit + 1)..<(unit + 5), with: down + across)
    return corrected
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ place: Int, _ count: Int) -> Int {
    Int(bigEndian(bytes[place..<(place + count)]))
  }
}

extension Packet {
  /// The packet as a decoder of a codec is given it.
  func corrected(for codec: AVCodecID) throws(MediaError) -> Packet {
    guard let bytes = withBytes({ PictureHeaderCorrection.corrected($0, codec) }) else { return self }
    let packet = try Packet(byteCount: bytes.count)
    try packet.withMutableBytes { $0.copyBytes(from: bytes) }
    try check(av_packet_copy_props(packet.pointer, pointer), "copying", "a packet")
    return packet
  }
}

extension UnsafeMutablePointer<AVCodecContext> {
  /// Corrects the head of an animated PNG, which its demuxer passes beside the packets.
  func correctHead() throws(MediaError) {
    guard let head = pointee.extradata,
      let bytes = PictureHeaderCorrection.corrected(
        UnsafeRawBufferPointer(start: head, count: Int(pointee.extradata_size)), pointee.codec_id)
    else { return }
    let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
    let copy = try allocated(av_mallocz(bytes.count + padding), "correcting a head")
    UnsafeMutableRawBufferPointer(start: copy, count: bytes.count).copyBytes(from: bytes)
    av_free(head)
    pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
    pointee.extradata_size = Int32(bytes.count)
  }
}

import CMedia
import Testing

@testable import CompositionModel
@testable import Media

/// Headers that are in an early packet only are given to a decoder that starts later. ffmpeg encodes no VC-1, and AV1's
/// encoders repeat their headers, so these packets are made here.
@Suite struct ActiveParameterSetTests {
  /// What a decoder lacks at each of some keyframes.
  private func states(_ codec: AVCodecID, record: [UInt8], _ packets: [[UInt8]]) throws -> [[UInt8]?] {
    var parameters: UnsafeMutablePointer<AVCodecParameters>? = avcodec_parameters_alloc()
    defer { avcodec_parameters_free(&parameters) }
    let padded = try #require(av_mallocz(record.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)))
    padded.copyMemory(from: record, byteCount: record.count)
    parameters?.pointee.codec_id = codec
    parameters?.pointee.extradata = padded.assumingMemoryBound(to: UInt8.self)
    parameters?.pointee.extradata_size = Int32(record.count)
    var headers = ActiveParameterSets(try #require(parameters))
    return try packets.map { bytes in
      let packet = try Packet(byteCount: bytes.count)
      try packet.withMutableBytes { $0.copyBytes(from: bytes) }
      packet.isKeyframe = true
      return headers.read(packet)?.headers
    }
  }

  @Test func `VC-1's sequence header and entry point stand until others come`() throws {
    func unit(_ code: UInt8, _ bytes: UInt8...) -> [UInt8] { [0, 0, 1, code] + bytes }
    let (own, entry) = (unit(0x0F, 0xC1, 2, 3), unit(0x0E, 0x40))
    let (other, otherEntry) = (unit(0x0F, 0xC5, 6, 7), unit(0x0E, 0x60))
    let picture = unit(0x0D, 0x11, 0x22)
    let found = try states(
      AV_CODEC_ID_VC1, record: own + entry,
      [
        own + entry + picture, picture, other + otherEntry + picture, picture, entry + picture, picture,
        other + entry + picture, own + entry + picture, picture,
      ])
    let framed = [0] + other + [0] + otherEntry
    let mixed = [0] + other + [0] + entry
    #expect(found == [nil, nil, nil, framed, framed, mixed, nil, nil, nil])
  }

  @Test func `AV1's sequence header stands until another comes`() throws {
    let (own, other): ([UInt8], [UInt8]) = ([0x0A, 3, 0, 1, 2], [0x0A, 4, 8, 7, 6, 5])
    let (delimiter, frame): ([UInt8], [UInt8]) = ([0x12, 0], [0x32, 3, 0x10, 0, 9])
    // The last unit of a packet may have no size.
    let unsized: [UInt8] = [0x30, 0x10, 0, 9]
    let found = try states(
      AV_CODEC_ID_AV1, record: [0x81, 0, 0, 0] + own,
      [
        delimiter + own + frame, frame, delimiter + other + frame, frame, unsized, own + frame, delimiter + frame,
      ])
    #expect(found == [nil, nil, nil, other, other, nil, nil])
  }
}

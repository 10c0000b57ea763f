import FoundationEssentials
import NIOCore
import SwiftProtobuf
import Testing

@testable import Wire

struct FramingTests {
  /// The frames that are complete when these bytes have arrived too.
  private func frames(_ decoder: inout FrameDecoder, _ bytes: ByteBuffer) throws -> [Sheaf_Frame] {
    decoder.append(bytes)
    var frames: [Sheaf_Frame] = []
    while case .frame(let body) = try decoder.next() { frames.append(try Sheaf_Frame(message: body.withoutChecksum())) }
    return frames
  }

  private func frame(_ job: String) -> Sheaf_Frame {
    .with { $0.message = .cancelJob(.with { $0.job = job }) }
  }

  /// The checksum is that of Python's `zlib.crc32`.
  @Test func `a frame is its length and its message and its checksum`() throws {
    let bytes = try frame("j").framed()
    #expect(
      [UInt8](bytes.readableBytesView) == [0, 0, 0, 11, 0x92, 0x02, 3, 0x0A, 1, 0x6A, 0x75] + [0xB4, 0xD6, 0xF2, 0x30])
  }

  @Test func `a changed byte anywhere in a frame is found`() throws {
    let whole = try frame("the name of a job").framed()
    for place in 4..<whole.readableBytes {
      for bit in 0..<8 {
        var bytes = whole
        let byte = try #require(bytes.getInteger(at: place, as: UInt8.self))
        bytes.setInteger(byte ^ 1 << bit, at: place)
        var decoder = FrameDecoder(limit: 1000)
        let error = #expect(throws: WireError.self) { try frames(&decoder, bytes) }
        #expect(error?.code == .damaged, "bit \(bit) of byte \(place)")
      }
    }
  }

  @Test func `peers one version of the protocol apart work together`() {
    let version = WireProtocol.version
    for other in [version, version + 1] { #expect(WireProtocol.accepts(other)) }
    #expect(WireProtocol.accepts(version - 1) == (version > 1))
    for other in [0, version + 2, .max] { #expect(!WireProtocol.accepts(other)) }
  }

  @Test func `frames come out however the stream is cut`() throws {
    var stream = ByteBuffer()
    for job in ["a", "bb", ""] {
      var bytes = try frame(job).framed()
      stream.writeBuffer(&bytes)
    }
    for step in 1...stream.readableBytes {
      var decoder = FrameDecoder(limit: 1000)
      var frames: [Sheaf_Frame] = []
      var rest = stream
      while let part = rest.readSlice(length: min(step, max(1, rest.readableBytes))), part.readableBytes > 0 {
        frames += try self.frames(&decoder, part)
      }
      #expect(frames == [frame("a"), frame("bb"), frame("")], "in steps of \(step)")
    }
  }

  @Test func `a frame that is too long is refused by its length alone`() throws {
    var decoder = FrameDecoder(limit: 1000)
    var header = ByteBuffer()
    header.writeInteger(UInt32(1001))
    #expect(throws: WireError(.violation, "a frame of 1001 bytes is longer than the 1000 that are allowed here")) {
      try frames(&decoder, header)
    }
    decoder = FrameDecoder(limit: 1000)
    decoder.peerIsKnown = true
    let error = #expect(throws: WireError.self) { try frames(&decoder, header) }
    #expect(error?.code == .damaged)
    decoder = FrameDecoder(limit: 1000)
    var longest = ByteBuffer()
    longest.writeInteger(UInt32(1000))
    #expect(try frames(&decoder, longest) == [])
    #expect(decoder.isWithinFrame)
  }

  @Test func `a long frame asks for room before its bytes are taken`() throws {
    let long = frame(String(repeating: "x", count: FrameDecoder.smallFrame))
    var decoder = FrameDecoder(limit: 1 << 20)
    var bytes = try long.framed()
    let length = bytes.readableBytes - 4
    let start = bytes.readSlice(length: 10)
    let head = try #require(start)
    decoder.append(head)
    guard case .needsRoom(let wanted, growing: false) = try decoder.next(), wanted == length else {
      Issue.record("it did not ask for room")
      return
    }
    decoder.grantRoom(wanted)
    var following = try frame("short").framed()
    bytes.writeBuffer(&following)
    #expect(try frames(&decoder, bytes) == [long, frame("short")])
    #expect(!decoder.isWithinFrame)
    // Each long frame asks anew.
    decoder.append(try long.framed())
    guard case .needsRoom = try decoder.next() else {
      Issue.record("it did not ask for room")
      return
    }
  }

  @Test func `a frame that is longer than a step asks for room as its bytes arrive`() throws {
    let long = frame(String(repeating: "x", count: 2 * FrameDecoder.step + 1000))
    var decoder = FrameDecoder(limit: 8 << 20)
    var bytes = try long.framed()
    let length = bytes.readableBytes
    var room = 0
    var steps = 0
    var found: Sheaf_Frame?
    while found == nil {
      switch try decoder.next() {
      case .frame(let body): found = try Sheaf_Frame(message: body.withoutChecksum())
      case .needsBytes:
        let part = bytes.readSlice(length: min(60_000, bytes.readableBytes))
        decoder.append(try #require(part))
      case .needsRoom(let wanted, let isGrowing):
        // What was granted is there.
        #expect(isGrowing && length - bytes.readableBytes >= room)
        decoder.grantRoom(wanted)
        room += wanted
        steps += 1
      }
    }
    #expect(found == long)
    #expect(steps == 3)
    #expect(room == length - 4)
  }

  @Test(arguments: [[0xFF, 0xFF, 0xFF], [], [0x0A, 0x7F, 0x00], [0xC2, 0x3E, 0x00]] as [[UInt8]])
  func `bytes that are not a message are refused`(body: [UInt8]) throws {
    var bytes = ByteBuffer()
    bytes.writeInteger(UInt32(body.count))
    bytes.writeBytes(body)
    bytes.appendChecksum()
    var decoder = FrameDecoder(limit: 1000)
    let error = #expect(throws: WireError.self) { try frames(&decoder, bytes) }
    #expect(error?.code == .violation)
  }

  @Test func `a chunk goes through whole`() throws {
    let data = Data((0..<WireProtocol.maximumChunk).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let message = Sheaf_Frame.with { $0.message = .uploadChunk(.with { $0.data = data }) }
    let bytes = try message.framed()
    #expect(bytes.readableBytes <= FrameLimits.fromWorker.later)
    var decoder = FrameDecoder(limit: FrameLimits.fromWorker.later)
    decoder.grantRoom(bytes.readableBytes)
    #expect(try frames(&decoder, bytes) == [message])
  }
}

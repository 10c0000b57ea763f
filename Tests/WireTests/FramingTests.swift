import FoundationEssentials
import NIOCore
import SwiftProtobuf
import Testing

@testable import Wire

struct FramingTests {
  private func decoder(first: Int = 1000, later: Int = 1000) -> NIOSingleStepByteToMessageProcessor<FrameDecoder> {
    NIOSingleStepByteToMessageProcessor(FrameDecoder(first: first) { _ in later })
  }

  private func frame(_ job: String) -> Sheaf_Frame {
    .with { $0.message = .cancelJob(.with { $0.job = job }) }
  }

  @Test func aFrameIsItsLengthAndItsMessage() throws {
    var bytes = try frame("j").framed()
    #expect(bytes.readInteger(as: UInt32.self) == UInt32(bytes.readableBytes))
    #expect(try Sheaf_Frame(serializedBytes: [UInt8](bytes.readableBytesView)) == frame("j"))
  }

  @Test func framesComeOutHoweverTheStreamIsCut() throws {
    var stream = ByteBuffer()
    for job in ["a", "bb", ""] {
      var bytes = try frame(job).framed()
      stream.writeBuffer(&bytes)
    }
    for step in 1...stream.readableBytes {
      let processor = decoder()
      var frames: [Sheaf_Frame] = []
      var rest = stream
      while let part = rest.readSlice(length: min(step, max(1, rest.readableBytes))), part.readableBytes > 0 {
        try processor.process(buffer: part) { frames.append($0) }
      }
      #expect(frames == [frame("a"), frame("bb"), frame("")], "in steps of \(step)")
    }
  }

  @Test func aFrameThatIsTooLongIsRefusedByItsLengthAlone() throws {
    let processor = decoder(first: 1000)
    var header = ByteBuffer()
    header.writeInteger(UInt32(1001))
    #expect(throws: WireError(.violation, "a frame of 1001 bytes is longer than the 1000 that are allowed here")) {
      try processor.process(buffer: header) { _ in }
    }
    var longest = ByteBuffer()
    longest.writeInteger(UInt32(1000))
    try decoder(first: 1000).process(buffer: longest) { _ in }
  }

  @Test func theFirstFrameHasALimitOfItsOwn() throws {
    let long = frame(String(repeating: "x", count: 500))
    #expect(throws: WireError.self) { try decoder(first: 100).process(buffer: long.framed()) { _ in } }
    let processor = decoder(first: 100)
    var count = 0
    try processor.process(buffer: frame("short").framed()) { _ in count += 1 }
    try processor.process(buffer: long.framed()) { _ in count += 1 }
    #expect(count == 2)
  }

  @Test(arguments: [[0xFF, 0xFF, 0xFF], [], [0x0A, 0x7F, 0x00], [0xC2, 0x3E, 0x00]] as [[UInt8]])
  func bytesThatAreNotAMessageAreRefused(body: [UInt8]) throws {
    var bytes = ByteBuffer()
    bytes.writeInteger(UInt32(body.count))
    bytes.writeBytes(body)
    let error = #expect(throws: WireError.self) { try decoder().process(buffer: bytes) { _ in } }
    #expect(error?.code == .violation)
  }

  @Test func aStreamThatEndsWithinAFrameIsAnError() throws {
    let processor = decoder()
    var bytes = ByteBuffer()
    bytes.writeInteger(UInt32(10))
    try processor.process(buffer: bytes) { _ in }
    let error = #expect(throws: WireError.self) { try processor.finishProcessing(seenEOF: true) { _ in } }
    #expect(error?.code == .closed)
  }

  @Test func aChunkGoesThroughWhole() throws {
    let data = Data((0..<WireProtocol.maximumChunk).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let message = Sheaf_Frame.with { $0.message = .uploadChunk(.with { $0.data = data }) }
    let bytes = try message.framed()
    #expect(bytes.readableBytes <= FrameLimits.fromWorker.later)
    var received: Sheaf_Frame?
    try NIOSingleStepByteToMessageProcessor(FrameDecoder(first: 2 << 20) { _ in 0 }).process(buffer: bytes) {
      received = $0
    }
    #expect(received == message)
  }
}

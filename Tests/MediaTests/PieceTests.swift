import CompositionModel
import Foundation
import Media
import PieceFiles
import TestMedia
import TestPrograms
import Testing

@Suite struct PieceTests {
  private let scratch: TemporaryFolder
  private let size = PixelSize(width: 64, height: 48)

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func piece() throws -> [UInt8] {
    let file = try scratch.create("piece")
    try Encoding.pictures(
      Encoding.h264(), size: size, frameDuration: MediaTime(value: 1001, timescale: 30000), seeds: 0..<12, to: file)
    return try Array(Data(contentsOf: URL(fileURLWithPath: scratch.path("piece"))))
  }

  private func read(_ bytes: [UInt8]) throws(MediaError) -> (header: PieceHeader, packets: Int) {
    let reader = try PieceReader(source: MemorySource(bytes), name: "piece")
    var count = 0
    while try reader.next() != nil { count += 1 }
    return (reader.header, count)
  }

  @Test func `a written piece is read back`() throws {
    let (header, packets) = try read(try piece())
    #expect(packets == 12)
    #expect(header.codec == "h264")
    #expect(header.timebase == MediaTime(value: 1001, timescale: 30000))
    #expect(!header.extradata.isEmpty)
  }

  @Test func `a piece has the damage of its media, before its end`() throws {
    let end = try piece().suffix(9)
    let record: [UInt8] = [3, 4, 0, 0, 0] + Array("{  }".utf8)
    let damaged = try piece().dropLast(9) + record + end
    let reader = try PieceReader(source: MemorySource(Array(damaged)), name: "piece")
    while try reader.next() != nil {}
    #expect(reader.damage == Array("{  }".utf8))
    let twice = try piece().dropLast(9) + record + record + end
    #expect(throws: MediaError.self) { try read(Array(twice)) }
    for length in 1..<record.count {
      #expect(throws: MediaError.self) { try read(Array(try piece().dropLast(9) + record.prefix(length))) }
    }
  }

  @Test func `a piece truncated anywhere is refused`() throws {
    let bytes = try piece()
    for length in stride(from: 0, to: bytes.count, by: 7) {
      let error = #expect(throws: MediaError.self) { try read(Array(bytes.prefix(length))) }
      #expect(error?.code == .invalidPiece)
    }
    #expect(throws: MediaError.self) { try read(Array(bytes.dropLast())) }
  }

  @Test func `bytes after the end are refused`() throws {
    let error = try #require(throws: MediaError.self) { try read(try piece() + [0]) }
    #expect(error.message.contains("follow"))
  }

  @Test func `damage gives an error or another packet, never a crash`() throws {
    let bytes = try piece()
    var random = SystemRandomNumberGenerator()
    for _ in 0..<400 {
      var damaged = bytes
      damaged[Int.random(in: 0..<min(bytes.count, 4000), using: &random)] = UInt8.random(in: 0...255, using: &random)
      do throws(MediaError) {
        let found = try read(damaged)
        #expect(found.packets == 12)
      } catch {
        #expect(error.code == .invalidPiece || error.code == .outOfMemory)
      }
    }
  }

  @Test func `a full disk is reported`() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    let encoder = try VideoEncoder(Encoding.ffv1(), size: size, frameDuration: MediaTime(value: 1, timescale: 25))
    let error = #expect(throws: MediaError.self) {
      try PieceWriter(descriptor: full, header: encoder.header).finish()
    }
    #expect(error?.code == .outOfSpace)
  }
}

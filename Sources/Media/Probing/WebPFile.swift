import CompositionModel

/// The structure of a WebP file with one picture or several, as its container specification has it: the chunks of a
/// RIFF file.
struct WebPFile {
  private(set) var pictureCount = 0
  /// For how long its pictures are shown together, in milliseconds. Nil: it is a still picture.
  private(set) var milliseconds: Int64?

  /// A file may have as many chunks as pictures, and some more.
  private static let headBytes = 8

  /// Reads the heads of the chunks. Throws `.damaged` if the file is not whole.
  init(_ source: any ByteSource, name: String, liveness: Liveness?) throws(MediaError) {
    func damaged(_ message: String) -> MediaError {
      MediaError(.damaged, operation: "reading", subject: name, message: message)
    }
    func read(_ count: Int, at offset: Int64) throws(MediaError) -> [UInt8] {
      let bytes = try source.bytes(at: offset, count: count)
      guard bytes.count == count else { throw damaged("it ends within a chunk") }
      return bytes
    }
    let size = source.byteCount
    let head = try read(12, at: 0)
    guard head[0..<4].elementsEqual("RIFF".utf8), head[8..<12].elementsEqual("WEBP".utf8),
      Self.littleEndian(head[4..<8]) == size - 8
    else { throw damaged("it is no WebP file of \(size) bytes") }
    var place: Int64 = 12
    while place < size {
      let chunk = try read(Self.headBytes, at: place)
      let length = Self.littleEndian(chunk[4..<8])
      let next = place + 8 + length + length % 2
      guard next <= size else { throw damaged("a chunk ends behind the file's end") }
      switch String(decoding: chunk[0..<4], as: UTF8.self) {
      case "ANMF":
        guard length >= 16 else { throw damaged("a picture is cut off") }
        let times = try read(3, at: place + 8 + 12)
        pictureCount += 1
        milliseconds = (milliseconds ?? 0) + Self.littleEndian(times[...])
      case "VP8 ", "VP8L": pictureCount += 1
      default: break
      }
      liveness?.advance()
      place = next
    }
  }

  private static func littleEndian(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
  }

  /// As other files are described.
  var track: WrittenFile.Track {
    WrittenFile.Track(
      type: .video, codec: "webp", packetCount: pictureCount, start: 0, end: milliseconds.map { Double($0) / 1000 },
      picture: pictureCount == 0 ? .missing : .untried)
  }
}

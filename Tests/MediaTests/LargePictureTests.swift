import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Pictures that would take gigabytes are refused before they are decoded. The files are small: their headers alone say
/// that there are so many pixels.
@Suite struct LargePictureTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// A PNG whose header has another size than its pixels.
  private func picture(_ format: String, _ width: Int, _ height: Int) throws -> String {
    let path = scratch.path("\(format)-\(width)x\(height).png")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=64x64", "-frames:v", "1", "-pix_fmt", format, "-pred", "none", path)
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    func put(_ value: UInt32, at offset: Int) {
      withUnsafeBytes(of: value.bigEndian) { data.replaceSubrange(offset..<offset + 4, with: $0) }
    }
    put(UInt32(width), at: 16)
    put(UInt32(height), at: 20)
    put(crc(data[12..<29]), at: 29)
    try data.write(to: URL(fileURLWithPath: path))
    return path
  }

  /// The checksum of a PNG's chunk.
  private func crc(_ bytes: Data) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 {
        let isOdd = sum & 1 == 1
        sum >>= 1
        if isOdd { sum ^= 0xedb8_8320 }
      }
    }
    return ~sum
  }

  private func refusal(_ path: String) throws -> MediaError? {
    do {
      _ = try AssetProbe.probe(openSource(path), name: "a.png")
      return nil
    } catch let error as MediaError {
      return error
    }
  }

  @Test func `a picture with too many pixels is refused`() throws {
    let error = try #require(try refusal(picture("rgba", 16384, 8200)))
    #expect(error.code == .tooLarge)
    #expect(error.description.contains("Picture size 16384x8200: a picture has at most 134217728 pixels"))
  }

  @Test func `a picture of 16 bits may have half as many pixels`() throws {
    let error = try #require(try refusal(picture("rgba64be", 8300, 8300)))
    #expect(error.code == .tooLarge)
    #expect(error.description.contains("8300x8300 pixels of more than 8 bits; at most 67108864 in all are allowed"))
    #expect(try refusal(picture("rgba", 8300, 8300))?.code != .tooLarge)
  }
}

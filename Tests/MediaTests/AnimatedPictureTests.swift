import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Animated pictures: the delays of their frames, from the bytes of the files.
@Suite struct AnimatedPictureTests {
  /// Eight frames that differ.
  private static func picture(_ name: String, in folder: TemporaryFolder) throws -> [UInt8] {
    try Tool.ffmpeg("-f", "lavfi", "-i", "testsrc=s=32x24:r=8:d=1", folder.path(name))
    return [UInt8](try Data(contentsOf: folder.url.appendingPathComponent(name)))
  }

  private static func probe(_ bytes: [UInt8], _ name: String, in folder: TemporaryFolder) throws -> AssetDescription {
    let path = folder.path("changed-\(name)")
    try Data(bytes).write(to: URL(filePath: path))
    return try AssetProbe.probe(openSource(path), name: name)
  }

  /// The times of the frames and the end, in seconds, for delays by the rule: below 1/50 s is 1/10 s.
  private static func times(_ delays: [MediaTime]) throws -> [MediaTime] {
    try delays.reduce(into: [MediaTime.zero]) { times, delay in
      let shown = delay < MediaTime(value: 1, timescale: 50) ? MediaTime(value: 1, timescale: 10) : delay
      times.append(try times[times.count - 1] + shown)
    }
  }

  private static func found(_ asset: AssetDescription) throws -> [MediaTime] {
    let track = try #require(asset.tracks.first)
    let times = try #require(track.video).frames.times
    return try times.map { try track.timebase * Rational($0 - track.origin) } + [asset.duration]
  }

  @Test func `the frames of a GIF have the delays that it stores`() throws {
    let folder = try TemporaryFolder()
    var bytes = try Self.picture("a.gif", in: folder)
    let delays: [UInt16] = [0, 1, 2, 3, 300, 10, 0, 7]
    // A graphic control extension is 21 F9 04, flags, the delay in hundredths, a colour, 00.
    let places = bytes.indices.dropLast(8).filter {
      Array(bytes[$0..<($0 + 3)]) == [0x21, 0xF9, 4] && bytes[$0 + 7] == 0
    }
    try #require(places.count == delays.count)
    for (place, delay) in zip(places, delays) {
      bytes[place + 4] = UInt8(delay & 255)
      bytes[place + 5] = UInt8(delay >> 8)
    }
    let expected = try Self.times(delays.map { MediaTime(value: Int64($0), timescale: 100) })
    let asset = try Self.probe(bytes, "a.gif", in: folder)
    #expect(try Self.found(asset) == expected && asset.container == "gif")
  }

  @Test func `the frames of an animated PNG have the delays that it stores`() throws {
    let folder = try TemporaryFolder()
    var bytes = try Self.picture("a.apng", in: folder)
    let delays: [(UInt16, UInt16)] = [(0, 100), (1, 100), (1, 50), (1, 40), (3, 1), (1, 10), (7, 0), (1, 64)]
    var index = 0
    for place in bytes.indices.dropLast(38) where Array(bytes[place..<(place + 4)]) == Array("fcTL".utf8) {
      try #require(index < delays.count)
      // After the name: 20 bytes of sequence number, size and place, then the delay's numerator and denominator.
      let (numerator, denominator) = delays[index]
      for (offset, value) in [(24, numerator), (26, denominator)] {
        bytes[place + offset] = UInt8(value >> 8)
        bytes[place + offset + 1] = UInt8(value & 255)
      }
      let sum = Self.crc32(bytes[place..<(place + 30)])
      for byte in 0..<4 { bytes[place + 30 + byte] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * byte)) }
      index += 1
    }
    #expect(index == delays.count)
    // A denominator of 0 means 100.
    let expected = try Self.times(
      delays.map { MediaTime(value: Int64($0.0), timescale: $0.1 == 0 ? 100 : Int32($0.1)) })
    let asset = try Self.probe(bytes, "a.apng", in: folder)
    #expect(try Self.found(asset) == expected && asset.container == "apng")
  }

  private static func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
  }

  @Test func `an animated WebP is refused by name`() throws {
    let folder = try TemporaryFolder()
    let bytes = try Self.picture("a.webp", in: folder)
    #expect { try Self.probe(bytes, "a.webp", in: folder) } throws: { error in
      (error as? MediaError)?.code == .unsupported && "\(error)".contains("animated WebP")
    }
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc=s=32x24", "-frames:v", "1", "-c:v", "libwebp", folder.path("still.webp"))
    let still = try AssetProbe.probe(openSource(folder.path("still.webp")), name: "still.webp")
    #expect(still.tracks.first?.video?.isStill == true)
  }

  /// A start is one only if the alpha can be decoded from there as well.
  @Test func `VP9 with alpha is decoded with it, and its starts are proved by decoding`() throws {
    let folder = try TemporaryFolder()
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2,format=yuva420p,geq=lum='lum(X,Y)':a='mod(X*4+N*5,256)'", "-c:v",
      "libvpx-vp9", "-g", "20", "-cpu-used", "8", "-b:v", "300k", folder.path("a.webm"))
    let asset = try AssetProbe.probe(openSource(folder.path("a.webm")), name: "a.webm")
    let video = try #require(asset.tracks.first?.video)
    #expect(video.hasAlpha && video.pixelFormat == "yuva420p" && video.frames.count == 50)
    #expect(video.startsProvedBy == .decoding && video.keyframes.count >= 2)
  }
}

import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Files whose headers claim more than the files have. Each is refused at once, with its name.
@Suite struct MovieClaimTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func movie(_ flags: String = "faststart") throws -> [UInt8] {
    let path = scratch.path("a.mp4")
    try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc=s=64x48:d=1", "-f", "lavfi", "-i", "sine=d=1", "-c:v", "mpeg4", "-bf", "2", "-c:a",
      "aac", "-movflags", flags, path,
    ])
    return try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
  }

  private func place(of type: String, in bytes: [UInt8]) throws -> Int {
    try #require(bytes.firstRange(of: Array(type.utf8))?.lowerBound)
  }

  private func refusal(_ bytes: [UInt8], _ name: String = "claims.mp4") throws -> MediaError? {
    let path = scratch.path(name)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let source = try openSource(path)
    do throws(MediaError) {
      _ = try AssetProbe.probe(source, name: name)
      return nil
    } catch { return error }
  }

  @Test func `a sample is not larger than the file`() throws {
    var bytes = try movie()
    bytes[try place(of: "stsz", in: bytes) + 20] = 0x35
    let error = try #require(try refusal(bytes))
    #expect(error.code == .damaged && error.description.hasPrefix("opening claims.mp4: the index is damaged: "))
    #expect(error.message.contains("sample 2 has 889"))
  }

  @Test(arguments: ["moov", "udta", "trak"])
  func `boxes are not within one another without end`(type: String) throws {
    let count = 100_000
    var bytes = [0, 0, 0, 20] + Array("ftypisom".utf8) + [0, 0, 0, 0] + Array("isom".utf8)
    for level in 0..<count {
      let size = UInt32(8 * (count - level))
      bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + Array(type.utf8)
    }
    let error = try #require(try refusal(bytes))
    #expect(error.code == .damaged && error.message.contains("more than 16 levels deep"))
  }

  /// The samples of a table of equal sizes take no room in the index, so it says nothing of the file.
  @Test func `a movie with samples of equal size that was cut off has those that are there`() throws {
    let path = scratch.path("whole.mov")
    try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=2", "-c:v", "v210", "-movflags", "+faststart", path,
    ])
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    let start = try place(of: "mdat", in: bytes) + 4
    let cut = scratch.path("cut.mov")
    let pictureSize = (bytes.count - start) / 50
    try Data(bytes.prefix(start + 20 * pictureSize + 100)).write(to: URL(fileURLWithPath: cut))
    let video = try #require(try AssetProbe.probe(openSource(cut), name: cut).defaultTrack(.video)?.video)
    #expect((19...21).contains(video.frames.count))
  }

  @Test func `the keys of metadata end within the file, in MP4 and in QuickTime`() throws {
    for flags in ["", "use_metadata_tags"] {
      var bytes = try movie(flags.isEmpty ? "faststart" : flags)
      guard let keys = bytes.firstRange(of: Array("keys".utf8))?.lowerBound else {
        #expect(flags.isEmpty)
        continue
      }
      bytes.replaceSubrange((keys + 8)..<(keys + 12), with: [0x35, 0, 0, 0])
      let error = try #require(try refusal(bytes))
      #expect(error.code == .damaged && error.message.contains("'keys' states 889192448 entries"))
    }
  }

  /// By the place of the count after the type, which is set to 889,192,448.
  @Test(arguments: [("stsz", 12), ("stco", 8), ("stts", 8), ("ctts", 8), ("stsc", 8), ("stss", 8), ("elst", 8)])
  func `a table ends within the file`(type: String, count: Int) throws {
    var bytes = try movie()
    let place = try place(of: type, in: bytes) + count
    bytes.replaceSubrange(place..<(place + 4), with: [0x35, 0, 0, 0])
    let error = try #require(try refusal(bytes))
    #expect(error.code == .damaged && error.message.contains("'\(type)' states 889192448 entries"))
  }

  @Test func `a run of a fragment has no more samples than the file has bytes`() throws {
    var bytes = try movie("frag_keyframe+empty_moov")
    let place = try place(of: "trun", in: bytes)
    bytes.replaceSubrange((place + 5)..<(place + 12), with: [0, 0, 1, 5, 0, 0, 0])
    let error = try #require(try refusal(bytes))
    #expect(error.code == .damaged && error.message.contains("'trun' states 83886080 samples"))
  }

  @Test func `sound has no more samples than its bytes can hold`() throws {
    let path = scratch.path("a.mov")
    try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=d=1", "-c:a", "pcm_s16le", path])
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    let place = try place(of: "stsc", in: bytes) + 16
    bytes.replaceSubrange(place..<(place + 4), with: [0x35, 0, 0, 0])
    let error = try #require(try refusal(bytes, "claims.mov"))
    #expect(error.code == .damaged && error.message.contains("'stsc' states"))
  }

  /// libavformat returns ENOMEM for them, as if the machine had no memory.
  @Test func `sizes that no memory can hold are damage of the file`() throws {
    let sound = scratch.path("a.wav")
    try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=d=1", sound])
    let wave = try [UInt8](Data(contentsOf: URL(fileURLWithPath: sound)))
    let text = wave[..<12] + Array("bext".utf8) + [0, 0, 0, 0xF0] + wave[12...]
    let broadcast = try #require(try refusal(Array(text), "claims.wav"))
    #expect(broadcast.code == .damaged && broadcast.subject == "claims.wav")

    let lossless = scratch.path("a.flac")
    try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=d=1", lossless])
    var blocks = try [UInt8](Data(contentsOf: URL(fileURLWithPath: lossless)))
    // The length of the block after the stream's description.
    blocks.replaceSubrange(43..<46, with: [0xFF, 0xFF, 0xFF])
    let block = try #require(try refusal(blocks, "claims.flac"))
    #expect(block.code == .damaged && block.message.hasPrefix("it ends before what it states"))
  }

  @Test func `files that claim nothing wrong are opened`() throws {
    for flags in ["faststart", "frag_keyframe+empty_moov", "frag_keyframe+separate_moof+omit_tfhd_offset"] {
      #expect(try refusal(try movie(flags)) == nil)
    }
  }
}

import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Movies whose edit list has entries that libavformat does not play as they are stated.
@Suite struct EditListTests {
  /// An entry in units of the movie's timescale, which is 1000, and of the track's media.
  private struct Entry {
    var duration: Int
    var media: Int
    var rate: Int
  }

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private static func bigEndian(_ value: Int, _ width: Int) -> Data {
    Data((0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
  }

  private static func box(_ type: String, _ contents: Data) -> Data {
    bigEndian(8 + contents.count, 4) + Data(type.utf8) + contents
  }

  /// Three seconds of a tone, whose edit list is replaced by the entries, in fields of 4 or of 8 bytes.
  private func movie(_ name: String, _ entries: [Entry], width: Int) throws -> AssetDescription {
    let path = scratch.path(name)
    try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=d=3:r=44100", "-c:a", "pcm_s16le", "-f", "mov", path])
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let list = entries.reduce(Data([width == 8 ? 1 : 0, 0, 0, 0]) + Self.bigEndian(entries.count, 4)) {
      $0 + Self.bigEndian($1.duration, width) + Self.bigEndian($1.media, width) + Self.bigEndian($1.rate, 4)
    }
    let edits = Self.box("edts", Self.box("elst", list))
    // The index is the last box, so no place of a sample moves.
    let old = try #require(data.range(of: Data("edts".utf8), options: .backwards)).lowerBound - 4
    let size = data[old..<(old + 4)].reduce(0) { $0 << 8 | Int($1) }
    data.replaceSubrange(old..<(old + size), with: edits)
    for type in ["moov", "trak"] {
      let place = try #require(data.range(of: Data(type.utf8), options: .backwards)).lowerBound - 4
      let length = data[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
      data.replaceSubrange(place..<(place + 4), with: Self.bigEndian(length + edits.count - size, 4))
    }
    try data.write(to: URL(fileURLWithPath: path))
    return try AssetProbe.probe(openSource(path), name: name)
  }

  private static let normal = 1 << 16

  @Test(arguments: [4, 8]) func `edits that are played as stated are not reported`(width: Int) throws {
    let asset = try movie(
      "plain.mov",
      [
        Entry(duration: 500, media: -1, rate: Self.normal), Entry(duration: 1000, media: 44100, rate: Self.normal),
        Entry(duration: 1000, media: 0, rate: Self.normal),
      ], width: width)
    #expect(asset.duration == MediaTime(value: 5, timescale: 2))
    #expect(asset.tracks[0].misplayedEdits == nil)
    #expect(asset.warnings == [])
  }

  @Test(arguments: [4, 8]) func `an empty edit after media, and a rate, are reported with their places`(
    width: Int
  ) throws {
    let asset = try movie(
      "empty.mov",
      [
        Entry(duration: 250, media: -1, rate: Self.normal), Entry(duration: 1000, media: 0, rate: Self.normal),
        Entry(duration: 500, media: -1, rate: Self.normal), Entry(duration: 750, media: 44100, rate: 0),
        Entry(duration: 500, media: 0, rate: 3 << 15),
      ], width: width)
    let expected = [
      MisplayedEdit(range: try Self.range(1250, 1750), rate: nil),
      MisplayedEdit(range: try Self.range(1750, 2500), rate: 0),
      MisplayedEdit(range: try Self.range(2500, 3000), rate: 1.5),
    ]
    #expect(asset.tracks[0].misplayedEdits == expected)
    #expect(
      asset.warnings == [
        "the edit list of track 0 has nothing at 5/4 s for 1/2 s; the beginning of the track is played there instead",
        "the edit list of track 0 has the rate 0.0 at 7/4 s for 3/4 s; it is played at rate 1",
        "the edit list of track 0 has the rate 1.5 at 5/2 s for 1/2 s; it is played at rate 1",
      ])
  }

  private static func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
    try MediaTimeRange(start: MediaTime(value: start, timescale: 1000), end: MediaTime(value: end, timescale: 1000))
  }
}

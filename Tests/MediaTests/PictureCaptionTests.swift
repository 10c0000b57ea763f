import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Media

/// Closed captions that lie between the pictures of a video track.
@Suite struct PictureCaptionTests {
  private func events(_ asset: AssetDescription) -> [String] {
    (asset.defaultTrack(.subtitle)?.captions?.events ?? []).map {
      "\($0.start)-\($0.end) \($0.fields.commaFields().last ?? "")"
    }
  }

  private static let count = 300

  /// Pictures with commands and texts of CEA-608, one pair to a picture as the standard has it, from some pictures on.
  private static var fields: [[UInt8]] {
    var pictures = [[UInt8]](repeating: [], count: count)
    func put(_ picture: Int, _ parts: [[UInt8]]) {
      var pairs: [[UInt8]] = []
      for part in parts {
        if part[0] < 0x20 {
          pairs += [part, part]
        } else {
          for start in stride(from: 0, to: part.count, by: 2) { pairs.append(Array((part + [0])[start..<(start + 2)])) }
        }
      }
      for (index, pair) in pairs.enumerated() {
        pictures[picture + index] += ClosedCaptionVideo.pair(pair[0], pair[1])
      }
    }
    let (popOn, clear, show, remove): ([UInt8], [UInt8], [UInt8], [UInt8]) = (
      [0x14, 0x20], [0x14, 0x2E], [0x14, 0x2F], [0x14, 0x2C]
    )
    put(5, [popOn, clear, [0x14, 0x70], Array("HELLO".utf8)])
    put(30, [show])
    put(40, [popOn, clear, [0x14, 0x50], Array("Second, of".utf8), [0x14, 0x6E], Array("two lines".utf8)])
    put(90, [show])
    put(130, [remove])
    put(140, [popOn, clear, [0x11, 0x40], Array("At the top".utf8)])
    put(170, [show])
    put(200, [remove])
    for index in pictures.indices {
      if pictures[index].isEmpty { pictures[index] = ClosedCaptionVideo.pair(0, 0) }
      pictures[index] += [0xFD, 0x80, 0x80]
    }
    return pictures
  }

  private static func window(
    _ number: UInt8, isVisible: Bool = false, rows: UInt8 = 2, row: UInt8 = 70, anchor: UInt8 = 6, style: UInt8 = 1,
    columns: UInt8 = 32, isRelative: Bool = false
  ) -> [UInt8] {
    [
      0x98 + number, isVisible ? 0x38 : 0x18, (isRelative ? 0x80 : 0) | row, 0, anchor << 4 | (rows - 1), columns - 1,
      style << 3 | 1,
    ]
  }

  /// Pictures with commands and texts of CEA-708, and the second field's padding of CEA-608.
  private static var windows: [[UInt8]] {
    var pictures = [[UInt8]](repeating: ClosedCaptionVideo.pair(0, 0) + [0xFD, 0x80, 0x80], count: count)
    func put(_ picture: Int, _ bytes: [UInt8], service: UInt8 = 1) {
      let triples = ClosedCaptionVideo.packet(bytes, service: service)
      for (index, start) in stride(from: 0, to: triples.count, by: 18).enumerated() {
        pictures[picture + index] += triples[start..<min(start + 18, triples.count)]
      }
    }
    put(5, window(0) + Array("Hello".utf8) + [0x0D] + Array("{second}".utf8))
    put(30, [0x89, 0x01])
    put(40, window(1) + [0x90, 0x05, 0x80] + Array("slanted".utf8) + [0x90, 0x05, 0x40] + Array(" under".utf8))
    put(50, [0x90, 0x05, 0x00, 0x10, 0x39, 0x7F, 0xE9, 0x18, 0x20, 0xAC])
    put(60, Array("another service".utf8), service: 2)
    put(90, [0x8B, 0x03])
    put(130, [0x8C, 0xFF])
    put(140, window(2, rows: 1, row: 5, anchor: 0) + Array("At the top".utf8) + [0x89, 0x04])
    put(170, [0x8A, 0x04])
    put(200, [0x8F] + window(0, isVisible: true) + [0x92, 0x01, 0x00] + Array("roll one".utf8))
    put(230, [0x0D] + Array("roll two".utf8))
    put(260, [0x0D] + Array("roll three".utf8))
    return pictures
  }

  /// When a picture is shown, in milliseconds.
  private static func time(_ picture: Int) -> Int { Int((Double(picture) * 1001 / 30).rounded()) }

  private static let fieldEvents = [
    // The second of two like commands is left out.
    "\(time(30))-\(time(90)) HELLO", "\(time(90))-\(time(130)) Second, of\\N{\\i1}two lines",
    "\(time(170))-\(time(200)) {\\an8}At the top",
  ]
  /// A packet that needs two pictures is complete at the second one.
  private static let windowEvents = [
    "\(time(30))-\(time(90)) Hello\\N\\{second\\}",
    "\(time(90))-\(time(130)) {\\i1}slanted {\\i0}{\\u1}under{\\u0}™♪é€",
    "\(time(141))-\(time(170)) {\\an8}At the top", "\(time(201))-\(time(230)) roll one",
    "\(time(230))-\(time(261)) roll one\\Nroll two", "\(time(261))-\(time(261) + 3000) roll two\\Nroll three",
  ]

  /// A stream of H.264 or HEVC whose pictures are in order, with data between them.
  private func stream(
    _ pictures: [[UInt8]], in folder: TemporaryFolder, _ codec: ClosedCaptionVideo.Codec = .h264
  ) throws -> String {
    let (name, encoder) = codec == .h264 ? ("a.h264", "libx264") : ("a.hevc", "libx265")
    let plain = folder.path("plain-\(name)")
    _ = try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=s=64x64:r=30000/1001", "-frames:v", "\(Self.count)", "-c:v", encoder, "-bf", "0",
        "-preset", "ultrafast", "-threads", "1",
      ] + (codec == .hevc ? ["-x265-params", "log-level=error:bframes=0:frame-threads=1"] : []) + [plain])
    let path = folder.path(name)
    try ClosedCaptionVideo.added(pictures, to: Data(contentsOf: URL(fileURLWithPath: plain)), codec)
      .write(to: URL(fileURLWithPath: path))
    return path
  }

  /// The decoder of ffmpeg passes the data on with its pictures, and its encoders write it.
  private static let outputs = [
    ("a.ts", ["libx264", "-bf", "3", "-b_strategy", "0"]), ("a.mp4", ["libx264", "-bf", "3", "-b_strategy", "0"]),
    ("a.mkv", ["libx264", "-bf", "3", "-b_strategy", "0"]), ("b.ts", ["mpeg2video", "-bf", "2"]),
    ("b.vob", ["mpeg2video", "-bf", "2"]), ("b.mkv", ["mpeg2video", "-bf", "2"]),
  ]

  @Test(arguments: outputs.spread(3))
  func `captions that ffmpeg writes between reordered pictures are read in their order`(
    name: String, encoder: [String]
  ) throws {
    for (pictures, codec, expected) in [
      (Self.fields, "eia_608", Self.fieldEvents), (Self.windows, "eia_708", Self.windowEvents),
      (zip(Self.fields, Self.windows).map { $0 + $1.dropFirst(6) }, "eia_608", Self.fieldEvents),
    ] {
      let folder = try TemporaryFolder()
      let path = folder.path(name)
      _ = try Tool.ffmpeg(
        ["-framerate", "30000/1001", "-i", try stream(pictures, in: folder), "-c:v"] + encoder + ["-a53cc", "1", path])
      let asset = try AssetProbe.probe(openSource(path), name: name)
      #expect(asset.tracks.map(\.type) == [.video, .subtitle] && asset.failures == nil)
      let track = try #require(asset.defaultTrack(.subtitle))
      #expect(track.codec == codec && track.index == 1000 && track.pictureTrack == 0 && track.packetCount == nil)
      // Matroska's times are whole milliseconds, and those of other files are of a clock of 90 kHz at least.
      let found = events(asset)
      #expect(found.map(text) == expected.map(text))
      for (found, expected) in zip(found.flatMap(times), expected.flatMap(times)) {
        #expect(abs(found - expected) <= 1)
      }
    }
  }

  private func text(_ event: String) -> String { String(event.drop { $0 != " " }) }

  private func times(_ event: String) -> [Int] {
    event.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0) }
  }

  @Test func `captions of CEA-608 have the times that ffmpeg decodes`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.ts")
    _ = try Tool.ffmpeg([
      "-framerate", "30000/1001", "-i", try stream(Self.fields, in: folder), "-c:v", "libx264", "-bf", "3", "-a53cc",
      "1", path,
    ])
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "movie=\(path)[out0+subcc]", "-map", "s", folder.path("a.srt")])
    let decoded = try AssetProbe.probe(openSource(folder.path("a.srt")), name: "a.srt")
    let asset = try AssetProbe.probe(openSource(path), name: "a.ts")
    let (own, other) = (try #require(asset.defaultTrack(.subtitle)?.captions), try #require(decoded.tracks[0].captions))
    // Both count from the first picture.
    #expect(own.events.count == 3 && other.events.count == 3)
    for (own, other) in zip(own.events, other.events) {
      #expect(abs(own.start - other.start) <= 1 && abs(own.end - other.end) <= 1)
    }
  }

  @Test func `captions of HEVC are read, after start codes and after lengths`() throws {
    let folder = try TemporaryFolder()
    let stream = try stream(Self.fields, in: folder, .hevc)
    for name in ["a.mp4", "a.ts"] {
      _ = try Tool.ffmpeg([
        "-framerate", "30000/1001", "-i", stream, "-c", "copy", "-bsf:v", "setts=ts=N*1001/30000/TB", folder.path(name),
      ])
      let asset = try AssetProbe.probe(openSource(folder.path(name)), name: name)
      #expect(events(asset).map(text) == Self.fieldEvents.map(text), "\(name)")
    }
  }

  @Test func `a text track of the file is used before captions between pictures`() throws {
    let folder = try TemporaryFolder()
    try Data("1\n00:00:01,000 --> 00:00:02,500\nOwn\n".utf8).write(to: URL(fileURLWithPath: folder.path("a.srt")))
    _ = try Tool.ffmpeg([
      "-framerate", "30000/1001", "-i", try stream(Self.fields, in: folder), "-i", folder.path("a.srt"), "-c:v",
      "libx264", "-a53cc", "1", "-c:s", "srt", "-disposition:s:0", "0", folder.path("a.mkv"),
    ])
    let asset = try AssetProbe.probe(openSource(folder.path("a.mkv")), name: "a.mkv")
    #expect(asset.tracks.map(\.index) == [0, 1, 1000])
    #expect(events(asset) == ["1000-2500 Own"])
    #expect(asset.duration == asset.tracks[0].range.end)
  }

  @Test func `damaged data is skipped`() throws {
    func triples(_ unit: [UInt8], _ data: PictureCaptionData = .h264(lengthSize: 0)) throws -> [UInt8] {
      let packet = try Packet(byteCount: unit.count)
      try packet.withMutableBytes { $0.copyBytes(from: unit) }
      return data.triples(in: packet)
    }
    let data: [UInt8] = [0xFC, 0x94, 0x20, 0xFD, 0x80, 0x80]
    let unit = ClosedCaptionVideo.message(data)
    let slice: [UInt8] = [0, 0, 1, 0x65, 0x88]
    #expect(try triples([0, 0, 1] + unit + slice) == data)
    #expect(
      try triples([0, 0, 0, UInt8(unit.count)] + unit + [0, 0, 0, 2] + [0x65, 0x88], .h264(lengthSize: 4)) == data)
    // What follows a slice is of no picture of the packet.
    #expect(try triples(slice + [0, 0, 1] + unit).isEmpty)
    for count in 0..<unit.count {
      #expect(try triples([0, 0, 1] + unit.prefix(count)).count <= data.count)
      #expect(try triples([0, 0, 0, 0xFF] + unit.prefix(count), .h264(lengthSize: 4)).count <= data.count)
      #expect(try triples([0, 0, 1, 0xB2] + ClosedCaptionVideo.userData(data).prefix(count), .mpeg2).count <= 6)
    }
    // A message that is longer than its unit, another country, data that is not to be processed, and not valid data.
    for (place, value) in [(2, 0xFF), (3, 0xB6), (11, 0x02), (13, 0xF8)] as [(Int, UInt8)] {
      var unit = unit
      unit[place] = value
      #expect(try triples([0, 0, 1] + unit).count < data.count, "\(place)")
    }
    #expect(try triples([0, 0, 1, 0xB2] + ClosedCaptionVideo.userData(data), .mpeg2) == data)
    // Of both fields of a frame.
    let field: [UInt8] = [0, 0, 1, 0, 0, 0x08, 0, 0, 0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF1, 0, 0, 0, 0, 1, 0xB2]
    let user = ClosedCaptionVideo.userData(data)
    #expect(try triples(field + user + [0, 0, 1, 1, 9, 9] + field + user + [0, 0, 1, 1, 9], .mpeg2) == data + data)
  }
}

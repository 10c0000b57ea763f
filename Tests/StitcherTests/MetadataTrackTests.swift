import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// Timed metadata that are added to a finished film: what exiftool and ffprobe find of it.
@Suite struct MetadataTrackTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A movie of 3 s.
  private func movie(_ name: String, indexFirst: Bool) throws -> String {
    let path = folder.path(name)
    _ = try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=3", "-f", "lavfi", "-i", "sine=d=3", "-c:v",
        "libx264", "-c:a", "aac",
      ] + (indexFirst ? ["-movflags", "+faststart"] : []) + [path])
    return path
  }

  private func packets(_ path: String, _ stream: String) throws -> String {
    String(
      decoding: try Tool.ffmpeg("-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-"), as: UTF8.self)
  }

  private func add(_ tracks: [MetadataTracks.Track], to path: String, _ container: Container) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try MetadataTracks.add(tracks, to: file.fileDescriptor, container: container, describesFirstTrack: true)
    try file.close()
  }

  private func groups(_ path: String, track: Int) throws -> [TimedMetadataReader.Group] {
    let reader = try TimedMetadataReader(openSource(path), name: path, track: track)
    var groups: [TimedMetadataReader.Group] = []
    while let group = try reader.next() { groups.append(group) }
    return groups
  }

  private func exiftool(_ path: String) throws -> [String: String] {
    let found = try Tool.run("exiftool", ["-ee", "-j", "-G3", "-n", "-api", "LargeFileSupport=1", path]).output
    let objects = try JSONSerialization.jsonObject(with: found) as? [[String: Any]]
    return try #require(objects?.first).mapValues { "\($0)" }
  }

  // MARK: Boxed metadata

  private static let items: [MetadataItem] = [
    MetadataItem("mdta/com.apple.quicktime.location.ISO6709", text: "+45.0642+006.4094+2360/"),
    MetadataItem("mdta/com.example.heart-rate", number: 121.25),
    MetadataItem("mdta/com.example.altitude", .number(2360.5), as: .float32),
    MetadataItem("mdta/com.example.gear", .integer(-3), as: .int8),
    MetadataItem("mdta/com.example.steps", .integer(-40_000), as: .int32),
    MetadataItem("mdta/com.example.time", .integer(.min), as: .int64),
    MetadataItem("mdta/com.example.count", .unsigned(200), as: .uint8),
    MetadataItem("mdta/com.example.total", .unsigned(.max), as: .uint64),
    MetadataItem("mdta/com.example.focus", .numbers([0.25, -0.5]), as: .point),
    MetadataItem("mdta/com.example.face", .numbers([1, 2, 3.5, 4]), as: .rect),
    MetadataItem("mdta/com.example.turn", .numbers([1, 0, 0, 0, 1, 0, 0.1, 0.2, 1]), as: .affineTransform),
    MetadataItem("mdta/com.example.name", .text("Col d'Izoard \u{1F6B4}"), as: .utf16),
    MetadataItem("mdta/com.example.signed", .integer(-5), as: .wellKnown(21)),
    MetadataItem("mdta/com.example.unsigned", .unsigned(.max), as: .wellKnown(22)),
    MetadataItem("mdta/com.example.own", .data([1, 0, 255]), as: .named("com.example.bytes")),
  ]

  @Test func `values of every type are read as they were written`() throws {
    let keys = Self.items.map { BoxedMetadata.Key($0.identifier, $0.dataType) }
    let numbers = Dictionary(uniqueKeysWithValues: zip(keys, 0...))
    let entry = try BoxedMetadata.entry(keys)
    let sample = try BoxedMetadata.sample(Self.items, numbers)
    for (name, container, indexFirst) in [
      ("film.mov", Container.mov, true), ("last.mov", .mov, false), ("film.mp4", .mp4, true),
    ] {
      let path = try movie(name, indexFirst: indexFirst)
      let before = try (packets(path, "v"), packets(path, "a"))
      // With a second in which there is nothing.
      let samples = [(sample, UInt32(600)), (try BoxedMetadata.sample([], numbers), 600), (sample, 601), (sample, 7)]
      let track = MetadataTracks.Track(
        entry: entry, timescale: 600, samples: samples.map { (bytes: $0.0, duration: $0.1) })
      try add([track, track], to: path, container)
      let after = try (packets(path, "v"), packets(path, "a"))
      #expect(after == before)
      for stream in [2, 3] {
        let groups = try groups(path, track: stream)
        #expect(groups.map(\.start) == [0, 1200, 1801].map { Rational($0) })
        #expect(groups.map(\.duration) == [600, 601, 7].map { Rational($0) })
        #expect(groups.allSatisfy { $0.items == Self.items })
      }
      let found = try Tool.ffprobe(
        "-select_streams", "d", "-show_entries", "stream=codec_type,codec_tag_string,nb_frames", path)
      #expect(found == [["data", "mebx", "4"], ["data", "mebx", "4"]])
      let tags = try exiftool(path)
      // exiftool shows each key of each sample that has values.
      for (name, value) in [
        ("GPSCoordinates", "45.0642 6.4094 2360"), ("HeartRate", "121.25"), ("Altitude", "2360.5"), ("Gear", "-3"),
        ("Steps", "-40000"), ("Time", "-9223372036854775808"), ("Count", "200"), ("Total", "18446744073709551615"),
        ("Focus", "0.25 -0.5"), ("Face", "1 2 3.5 4"),
      ] {
        let found = tags.filter { $0.key.hasPrefix("Doc") && $0.key.hasSuffix(name) && !$0.key.contains("Sample") }
        #expect(found.count == 6 && found.allSatisfy { $0.value == value }, "\(name): \(found)")
      }
    }
  }

  @Test func `what a type does not hold is refused`() {
    let wrong: [MetadataItem] = [
      MetadataItem("mdta/a.b", .integer(128), as: .int8), MetadataItem("mdta/a.b", .integer(-32_769), as: .int16),
      MetadataItem("mdta/a.b", .unsigned(256), as: .uint8), MetadataItem("mdta/a.b", .integer(1), as: .uint8),
      MetadataItem("mdta/a.b", .text("1"), as: .float64), MetadataItem("mdta/a.b", .numbers([1]), as: .point),
    ]
    for (item, type) in zip(wrong, ["int8", "int16", "uint8", "uint8", "float64", "point"]) {
      let key = BoxedMetadata.Key(item.identifier, item.dataType)
      let failure = #expect(throws: BoxedMetadata.Failure.self, "\(item)") {
        try BoxedMetadata.sample([item], [key: 0])
      }
      #expect(failure?.description.hasSuffix("is no value of the type \(type)") == true)
    }
    for identifier in ["", "mdta", "mdta/", "mdt/a", "md\u{E9}a/b"] {
      #expect(throws: BoxedMetadata.Failure.self, "\(identifier)") {
        try BoxedMetadata.entry([.init(identifier, .utf8)])
      }
    }
  }

  @Test func `boxes that contradict their sizes are errors and not read`() throws {
    let path = try movie("film.mov", indexFirst: false)
    let key = BoxedMetadata.Key("mdta/com.example.name", .utf8)
    let item = MetadataItem(key.identifier, text: "a name")
    let sample = try BoxedMetadata.sample([item], [key: 0])
    for damaged in [Array(sample.dropLast()), [0, 0, 0, 7, 0, 0, 0, 1], sample + [1, 2, 3]] {
      let copy = folder.path("copy\(damaged.count).mov")
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      let track = MetadataTracks.Track(
        entry: try BoxedMetadata.entry([key]), timescale: 25, samples: [(bytes: damaged, duration: 75)])
      try add([track], to: copy, .mov)
      #expect(throws: MediaError.self) { try groups(copy, track: 2) }
    }
  }

  // MARK: Telemetry

  private func entry(_ key: String, _ type: Character, size: Int, count: Int, _ contents: [UInt8]) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - contents.count % 4) % 4)
    let code = type == "0" ? 0 : type.asciiValue ?? 0
    return Array(key.utf8) + [code, UInt8(size), UInt8(count >> 8), UInt8(count & 255)] + contents + padding
  }

  private func nested(_ key: String, _ entries: [[UInt8]]) -> [UInt8] {
    let contents = entries.flatMap { $0 }
    return entry(key, "0", size: 1, count: contents.count, contents)
  }

  private func big(_ numbers: [Int32]) -> [UInt8] {
    numbers.flatMap { number -> [UInt8] in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
  }

  private func text(_ key: String, _ text: String) -> [UInt8] {
    entry(key, "c", size: 1, count: text.utf8.count, Array(text.utf8))
  }

  private func telemetry(speeds: [Int32]) -> [UInt8] {
    var readings: [Int32] = []
    for (index, speed) in speeds.enumerated() {
      readings += [450_642_000 + Int32(index), 64_094_000, 2_360_500, speed, speed + 1]
    }
    let places: [[UInt8]] = [
      text("STNM", "GPS (La)"),
      entry("GPSF", "L", size: 4, count: 1, big([3])),
      entry("GPSU", "c", size: 16, count: 1, Array("260712101530.250".utf8)),
      entry("SCAL", "l", size: 4, count: 5, big([10_000_000, 10_000_000, 1000, 1000, 100])),
      entry("GPS5", "l", size: 20, count: speeds.count, big(readings)),
    ]
    let structures: [[UInt8]] = [
      text("TYPE", "llS"),
      entry("SCAL", "l", size: 4, count: 3, big([10_000_000, 10_000_000, 100])),
      entry("GPS9", "?", size: 10, count: 1, big([450_642_000, -64_094_000]) + [0, 200]),
    ]
    let others: [[UInt8]] = [entry("TEST", "s", size: 2, count: 3, [255, 255, 0, 1, 0, 2])]
    return nested(
      "DEVC",
      [text("DVNM", "Camera"), nested("STRM", places), nested("STRM", structures), nested("STRM", others)])
  }

  @Test func `telemetry of a camera has its readings spread over each sample`() throws {
    let path = try movie("ride.mp4", indexFirst: true)
    let description: [UInt8] = big([16]) + Array("gpmd".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
    let samples: [[Int32]] = [[7_000, 7_500, 8_250, 9_000], [9_500, 10_000]]
    let track = MetadataTracks.Track(
      entry: description, timescale: 1000,
      samples: samples.map { (bytes: telemetry(speeds: $0), duration: UInt32(1001)) })
    try add([track], to: path, .mp4)
    let groups = try groups(path, track: 2)
    let places = groups.filter { $0.items[0].identifier == "gpmd/GPS5" }
    #expect(
      places.map(\.start)
        == [Rational(0), Rational(1001, over: 4), Rational(1001, over: 2), Rational(3003, over: 4)]
        + [Rational(1001), Rational(3003, over: 2)])
    #expect(places[0].items[0].numbers == [45.0642, 6.4094, 2360.5, 7, 70.01])
    #expect(places.map { $0.items[0].numbers?[3] } == [7, 7.5, 8.25, 9, 9.5, 10])
    #expect(places[1].items.map(\.identifier) == ["gpmd/GPS5", "gpmd/GPSF", "gpmd/GPSU"])
    #expect(places[1].items[1].numbers == [3])
    #expect(places[1].items[2].stringValue == "260712101530.250")
    let structures = groups.filter { $0.items[0].identifier == "gpmd/GPS9" }
    #expect(structures.map { $0.items[0].numbers } == [[45.0642, -6.4094, 2], [45.0642, -6.4094, 2]])
    let others = groups.filter { $0.items[0].identifier == "gpmd/TEST" }
    #expect(others.map { $0.items[0].numbers } == [[-1], [1], [2], [-1], [1], [2]])
    #expect(zip(groups, groups.dropFirst()).allSatisfy { $0.start <= $1.start })
    let tags = try exiftool(path)
    #expect(tags.contains { $0.key.hasSuffix("GPSLatitude") && $0.value.hasPrefix("45.0642") }, "\(tags)")
    #expect(tags.contains { $0.key.hasSuffix("GPSSpeed") }, "\(tags)")
  }

  @Test func `a sensor without readings, an identifier and a wrong scale do not hide the others`() throws {
    let path = try movie("ride.mp4", indexFirst: true)
    let description: [UInt8] = big([16]) + Array("gpmd".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
    let identifier = [UInt8](0..<16)
    let sample = nested(
      "DEVC",
      [
        nested("STRM", [entry("NONE", "s", size: 0, count: 3, [])]),
        nested(
          "STRM", [entry("SCAL", "s", size: 2, count: 1, [0, 0]), entry("ZERO", "s", size: 2, count: 1, [0, 7])]),
        nested("STRM", [entry("UUID", "G", size: 16, count: 1, identifier)]),
        nested("STRM", [text("TYPE", "l[99"), entry("BADT", "?", size: 4, count: 1, big([1]))]),
      ])
    let track = MetadataTracks.Track(entry: description, timescale: 1000, samples: [(bytes: sample, duration: 1000)])
    try add([track], to: path, .mp4)
    let items = try groups(path, track: 2).map { $0.items[0] }
    #expect(items.map(\.identifier) == ["gpmd/ZERO", "gpmd/UUID", "gpmd/BADT"])
    #expect(items.prefix(2).map(\.value) == [.number(7), .data(identifier)])
  }

  @Test func `descriptions that disagree and keys that are too many are refused`() throws {
    let first = try BoxedMetadata.entry([.init("mdta/com.example.a", .utf8)])
    let second = try BoxedMetadata.entry([.init("mdta/com.example.b", .utf8)])
    let large = try BoxedMetadata.entry((0..<100_000).map { .init("mdta/com.example.\($0)", .utf8) })
    for (name, entries, code) in [("two", first + second, MediaError.Code.unsupported), ("large", large, .tooLarge)] {
      let path = try movie("\(name).mov", indexFirst: false)
      let track = MetadataTracks.Track(
        entry: entries, timescale: 25, samples: [(bytes: [0, 0, 0, 8, 0, 0, 0, 0], duration: 75)])
      try add([track], to: path, .mov)
      let error = #expect(throws: MediaError.self) { try groups(path, track: 2) }
      #expect(error?.code == code, "\(name): \(error?.description ?? "")")
    }
  }

  @Test func `telemetry that contradicts its sizes is an error`() throws {
    let whole = telemetry(speeds: [1, 2, 3])
    let path = try movie("ride.mp4", indexFirst: true)
    let description: [UInt8] = big([16]) + Array("gpmd".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
    let cut = MetadataTracks.Track(
      entry: description, timescale: 1000, samples: [(bytes: Array(whole.dropLast(8)), duration: 1000)])
    try add([cut], to: path, .mp4)
    #expect(throws: MediaError.self) { try groups(path, track: 2) }
  }
}

import Foundation
import Sheaf
import TestPrograms
import Testing

/// Films with several tracks of a type, with captions and with timed metadata: ffmpeg and ffprobe are the oracles.
@Suite(.ownThreads, .serialized) struct TrackWritingTests {
  private let folder: TemporaryFolder
  private let renderer: LocalRenderer
  private let size = PixelSize(width: 64, height: 48)

  init() throws {
    folder = try TemporaryFolder()
    renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
  }

  private func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }
  private func time(_ value: Int64, _ scale: Int32 = 25) -> MediaTime { MediaTime(value: value, timescale: scale) }

  private func range(_ start: Int64, _ end: Int64, _ scale: Int32 = 25) throws -> MediaTimeRange {
    try MediaTimeRange(start: time(start, scale), end: time(end, scale))
  }

  private func append(_ levels: [UInt8], to pictures: AssetWriter.VideoInput) async throws {
    for (index, level) in levels.enumerated() {
      let buffer = pictures.pool.makeBuffer { picture in
        for plane in PixelPlane.allCases where plane != .alpha {
          picture.withMutableSamples(of: plane, as: UInt8.self) { samples, _ in
            for index in samples.indices { samples[index] = plane == .luma ? level : 128 }
          }
        }
      }
      try await pictures.append(buffer, at: time(Int64(index)))
    }
  }

  private func sound(_ index: Int, seconds: Int) -> AudioSample {
    let samples = (0..<48000 * seconds).map { Float(($0 * (37 + index)) % 20001 - 10000) / 32768 }
    return AudioSample(position: 0, sampleRate: 48000, channels: [samples])
  }

  private func decoded(_ url: URL, _ stream: String) throws -> [Int16] {
    try Tool.ffmpeg("-i", url.path, "-map", "0:\(stream)", "-f", "s16le", "-").withUnsafeBytes {
      Array($0.bindMemory(to: Int16.self))
    }
  }

  private func subtitles(_ url: URL) throws -> String {
    String(decoding: try Tool.ffmpeg("-i", url.path, "-f", "srt", "-"), as: UTF8.self)
      .replacingOccurrences(of: "\r", with: "")
  }

  private func levels(_ url: URL, _ stream: String) throws -> [UInt8] {
    let decoded = try Tool.ffmpeg(
      "-i", url.path, "-map", "0:\(stream)", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    return stride(from: 0, to: decoded.count, by: 64 * 48 * 3 / 2).map { decoded[$0] }
  }

  @Test func `a film has two tracks of pictures, three languages and captions`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let captions = try await writer.addCaptions(.init(language: "eng", title: "English", isDefault: true))
    var sounds: [AssetWriter.AudioInput] = []
    for language in ["deu", "fra", "ita"] {
      sounds.append(try await writer.addAudio(.init(codec: .flac, language: language), sampleRate: 48000, channels: 1))
    }
    var pictures: [AssetWriter.VideoInput] = []
    for title in ["Front", "Back"] {
      pictures.append(
        try await writer.addVideo(.init(codec: .ffv1, title: title), size: size, frameDuration: time(1)))
    }
    let shades = (0..<50).map { UInt8(4 * $0) }
    try await append(shades, to: pictures[0])
    try await append(shades.reversed(), to: pictures[1])
    for (index, input) in sounds.enumerated() { try await input.append(sound(index, seconds: 2)) }
    try await captions.append(.init("A first line\nand a second", timeRange: try range(5, 20)))
    try await captions.append(.init("{not a style}", timeRange: try range(30, 500)))
    let film = try await writer.finish()
    #expect(film.frames == 50 && film.samples == 96_000)
    #expect(
      try Tool.ffprobe(
        "-show_entries", "stream=codec_name:stream_disposition=default:stream_tags=language,title", film.url.path)
        == [
          ["ffv1", "1", "Front"], ["ffv1", "0", "Back"], ["flac", "1", "deu"], ["flac", "0", "fra"],
          ["flac", "0", "ita"], ["subrip", "1", "eng", "English"],
        ])
    #expect(try levels(film.url, "v:0") == shades)
    #expect(try levels(film.url, "v:1") == shades.reversed())
    for index in 0..<3 {
      #expect(try decoded(film.url, "a:\(index)") == sound(index, seconds: 2).channels[0].map { Int16($0 * 32768) })
    }
    let shown = try subtitles(film.url)
    #expect(
      shown == """
        1
        00:00:00,200 --> 00:00:00,800
        A first line
        and a second

        2
        00:00:01,200 --> 00:00:02,000
        {not a style}


        """)
  }

  @Test(arguments: ["film.mp4", "film.mov"])
  func `encoded and stored tracks are beside each other in a movie`(name: String) async throws {
    let source = url("source.mp4")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=2", "-f", "lavfi", "-i",
      "aevalsrc=sin(1000*t*t):s=48000:d=2", "-c:v", "libx264", "-bf", "2", "-c:a", "aac", source.path)
    let reader = try await AssetReader(Asset(source, renderer: renderer))
    let writer = try AssetWriter(to: url(name))
    let stored = try await writer.addStored(
      try await reader.storedFormat(of: try #require(reader.contents.defaultTrack(.video))))
    let first = try await writer.addStored(
      try await reader.storedFormat(of: try #require(reader.contents.defaultTrack(.audio))), language: "eng")
    let second = try await writer.addAudio(.init(codec: .alac, language: "fra"), sampleRate: 48000, channels: 1)
    let captions = try await writer.addCaptions(.init(language: "eng"))
    for input in [stored, first] {
      let track = try #require(reader.contents.defaultTrack(input.format.type))
      for try await sample in try reader.storedSamples(of: track) { try await input.append(sample) }
    }
    try await second.append(sound(4, seconds: 2))
    try await captions.append(.init("Hello", timeRange: try range(10, 20)))
    let film = try await writer.finish()
    let found = try Tool.ffprobe(
      "-show_entries", "stream=codec_name:stream_disposition=default:stream_tags=language", film.url.path)
    #expect(
      found.map { $0.filter { $0 != "und" } } == [
        ["h264", "1"], ["aac", "1", "eng"], ["alac", "0", "fra"], ["mov_text", "1", "eng"],
      ])
    func packets(_ url: URL, _ stream: String) throws -> Data {
      try Tool.ffmpeg("-i", url.path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-")
    }
    #expect(try packets(film.url, "v:0") == packets(source, "v:0"))
    #expect(try packets(film.url, "a:0") == packets(source, "a:0"))
    #expect(try decoded(film.url, "a:1") == sound(4, seconds: 2).channels[0].map { Int16($0 * 32768) })
    let shown = try subtitles(film.url)
    #expect(shown == "1\n00:00:00,400 --> 00:00:00,800\nHello\n\n")
  }

  private static let movies: [(String, Bool)] = TestExtent.of(
    [("film.mov", true), ("film.mp4", false)],
    whole: [("film.mov", true), ("film.mov", false), ("film.mp4", true), ("film.mp4", false)])

  @Test(arguments: movies)
  func `timed metadata are read as they were written`(name: String, indexFirst: Bool) async throws {
    let writer = try AssetWriter(to: url(name), optimizeForNetworkUse: indexFirst)
    let pictures = try await writer.addVideo(size: size, frameDuration: time(1))
    let metadata = try await writer.addTimedMetadata()
    let rates = try await writer.addTimedMetadata()
    try await append((0..<75).map { UInt8(3 * $0) }, to: pictures)
    let place = "mdta/com.apple.quicktime.location.ISO6709"
    let groups = [
      TimedMetadataGroup(timeRange: try range(1, 2, 3), items: [MetadataItem(place, text: "+45.06+006.40/")]),
      TimedMetadataGroup(
        timeRange: try range(2, 4, 3),
        items: [
          MetadataItem(place, text: "+45.07+006.41/"), MetadataItem("mdta/com.example.gear", .integer(-2), as: .int8),
        ]),
      TimedMetadataGroup(timeRange: try range(5, 100, 3), items: [MetadataItem(place, text: "+45.08+006.42/")]),
    ]
    for group in groups { try await metadata.append(group) }
    for number in 0..<30 {
      let item = MetadataItem("mdta/com.example.heart-rate", number: 90.5 + Double(number))
      try await rates.append(
        TimedMetadataGroup(timeRange: try range(Int64(number) * 100, Int64(number) * 100 + 100, 1000), items: [item]))
    }
    let film = try await writer.finish()
    #expect(film.bytes == (try Data(contentsOf: film.url)).count)
    let reader = try await AssetReader(Asset(film.url, renderer: renderer))
    let tracks = reader.contents.tracks(.metadata)
    #expect(tracks.map(\.formatTag) == ["mebx", "mebx"])
    func read(_ track: TrackDescription, in range: MediaTimeRange? = nil) async throws -> [TimedMetadataGroup] {
      var read: [TimedMetadataGroup] = []
      for try await group in try reader.timedMetadata(of: track, in: range) { read.append(group) }
      return read
    }
    // The last one ends with the film.
    var expected = groups
    expected[2].timeRange = try range(5, 9, 3)
    #expect(try await read(tracks[0]) == expected)
    let numbers = try await read(tracks[1])
    #expect(numbers.map { $0.items[0].numbers } == (0..<30).map { [90.5 + Double($0)] })
    #expect(
      try await read(tracks[1], in: range(1, 2, 2)).map { $0.items[0].numbers } == (5..<10).map { [90.5 + Double($0)] })
    // The film is as long as its pictures, and has the same ones.
    let durations = try Tool.ffprobe("-show_entries", "format=duration", film.url.path)
    #expect(durations == [["3.000000"]])
    let plain = try AssetWriter(to: url("plain-\(name)"), optimizeForNetworkUse: indexFirst)
    let others = try await plain.addVideo(size: size, frameDuration: time(1))
    try await append((0..<75).map { UInt8(3 * $0) }, to: others)
    let other = try await plain.finish()
    #expect(try levels(film.url, "v") == levels(other.url, "v"))
  }

  @Test func `each of two tracks keeps its clean aperture`() async throws {
    let writer = try AssetWriter(to: url("film.mov"))
    let apertures = [
      PixelRect(x: 4, y: 2, size: PixelSize(width: 56, height: 44)),
      PixelRect(x: 0, y: 8, size: PixelSize(width: 60, height: 32)),
    ]
    for aperture in apertures {
      let pictures = try await writer.addVideo(.init(cleanAperture: aperture), size: size, frameDuration: time(1))
      try await append([20, 90, 160], to: pictures)
    }
    let contents = try await Asset(try await writer.finish().url, renderer: renderer).contents
    #expect(contents.tracks(.video).map(\.video?.cleanAperture) == apertures)
  }

  @Test func `a session cuts captions and metadata too`() async throws {
    let writer = try AssetWriter(to: url("film.mov"))
    let pictures = try await writer.addVideo(size: size, frameDuration: time(1))
    let captions = try await writer.addCaptions()
    let metadata = try await writer.addTimedMetadata()
    try await writer.startSession(at: time(10))
    try await captions.append(.init("Early", timeRange: try range(0, 15)))
    try await captions.append(.init("Late", timeRange: try range(40, 90)))
    let item = MetadataItem("mdta/com.example.name", text: "all of it")
    try await metadata.append(TimedMetadataGroup(timeRange: try range(0, 90), items: [item]))
    try await append((0..<60).map { UInt8(4 * $0) }, to: pictures)
    let film = try await writer.finish()
    #expect(film.frames == 50)
    let shown = try subtitles(film.url)
    #expect(
      shown.contains("00:00:00,000 --> 00:00:00,200\nEarly") && shown.contains("00:00:01,200 --> 00:00:02,000\nLate"))
    let reader = try await AssetReader(Asset(film.url, renderer: renderer))
    var read: [TimedMetadataGroup] = []
    for try await group in try reader.timedMetadata(of: try #require(reader.contents.tracks(.metadata).first)) {
      read.append(group)
    }
    #expect(read == [TimedMetadataGroup(timeRange: try range(0, 50), items: [item])])
  }

  @Test func `a film that cannot be finished yet can be finished later`() async throws {
    let writer = try AssetWriter(to: url("film.mkv"))
    let front = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let back = try await writer.addVideo(.init(codec: .ffv1), size: size, frameDuration: time(1))
    let shades = (0..<25).map { UInt8(8 * $0) }
    try await append(shades, to: front)
    await #expect(throws: SheafError(.misuse, "no picture was appended to the video track")) {
      try await writer.finish()
    }
    try await append(shades.reversed(), to: back)
    let film = try await writer.finish()
    #expect(try levels(film.url, "v:0") == shades && levels(film.url, "v:1") == shades.reversed())
  }

  @Test func `metadata in nanoseconds of a long film have exact times`() async throws {
    let writer = try AssetWriter(to: url("long.mov"))
    // Half an hour, in pictures of a second.
    let pictures = try await writer.addVideo(.init(quality: 40), size: size, frameDuration: time(1, 1))
    let sounds = [
      try await writer.addAudio(.init(codec: .alac), sampleRate: 44100, channels: 1),
      try await writer.addAudio(.init(codec: .alac), sampleRate: 8000, channels: 1),
    ]
    let metadata = try await writer.addTimedMetadata()
    let black = pictures.pool.makeBuffer { _ in }
    for second in 0..<1800 { try await pictures.append(black, at: time(Int64(second), 1)) }
    for (input, rate) in zip(sounds, [44100, 8000]) {
      try await input.append(AudioSample(position: 0, sampleRate: rate, channels: [[Float](repeating: 0, count: rate)]))
    }
    for second in 0..<1799 {
      let start = Int64(second) * 1_000_000_000 + 1
      let item = MetadataItem("mdta/com.example.count", .integer(Int64(second)), as: .int16)
      try await metadata.append(
        TimedMetadataGroup(timeRange: try range(start, start + 1_000_000_000, 1_000_000_000), items: [item]))
    }
    let film = try await writer.finish()
    let reader = try await AssetReader(Asset(film.url, renderer: renderer))
    var count: Int64 = 0
    for try await group in try reader.timedMetadata(of: try #require(reader.contents.tracks(.metadata).first)) {
      #expect(group.timeRange.start == time(count * 1_000_000_000 + 1, 1_000_000_000))
      #expect(group.items.map(\.value) == [.integer(count)])
      count += 1
    }
    #expect(count == 1799)
    #expect(try Tool.ffprobe("-show_entries", "format=duration", film.url.path) == [["1800.000000"]])
  }

  @Test func `wrong calls say what would be right`() async throws {
    let sound = try AssetWriter(to: url("sound.wav"))
    _ = try await sound.addAudio(sampleRate: 48000, channels: 1)
    await #expect(throws: SheafError(.misuse, "wav has one audio track")) {
      try await sound.addAudio(sampleRate: 48000, channels: 1)
    }
    await #expect(throws: SheafError(.misuse, "wav has no text tracks")) { try await sound.addCaptions() }
    await #expect(throws: SheafError(.misuse, "wav has no timed metadata")) { try await sound.addTimedMetadata() }
    let writer = try AssetWriter(to: url("film.mov"))
    let metadata = try await writer.addTimedMetadata()
    let item = MetadataItem("mdta/com.example.name", text: "a name")
    try await metadata.append(TimedMetadataGroup(timeRange: try range(10, 20), items: [item]))
    for group in [
      TimedMetadataGroup(timeRange: try range(15, 30), items: [item]),
      TimedMetadataGroup(timeRange: try range(20, 20), items: [item]),
      TimedMetadataGroup(timeRange: try range(20, 30), items: [MetadataItem("name", text: "a name")]),
      TimedMetadataGroup(timeRange: try range(20, 30), items: [MetadataItem("mdta/a.b", .integer(300), as: .int8)]),
    ] {
      let error = await #expect(throws: SheafError.self) { try await metadata.append(group) }
      #expect(error?.code == .misuse, "\(group)")
    }
    let labelled = await #expect(throws: SheafError.self) { try await writer.addCaptions(.init(language: "english")) }
    #expect(labelled?.problems.first?.message.contains("is not a language") == true)
    let captions = try await writer.addCaptions(.init(language: "ENG"))
    for caption in [
      AssetWriter.Caption("empty", timeRange: try range(5, 5)), .init("a\0b", timeRange: try range(5, 6)),
    ] {
      let error = await #expect(throws: SheafError.self) { try await captions.append(caption) }
      #expect(error?.code == .misuse)
    }
    // The writer goes on.
    try await metadata.append(TimedMetadataGroup(timeRange: try range(20, 30), items: [item]))
  }

  @Test func `a speed that a movie states is shown over its pictures`() async throws {
    let writer = try AssetWriter(to: url("ride.mov"))
    let pictures = try await writer.addVideo(.init(quality: 10), size: size, frameDuration: time(1))
    let rates = try await writer.addTimedMetadata()
    for index in 0..<4 {
      let second = try MediaTimeRange(start: time(Int64(index), 2), end: time(Int64(index + 1), 2))
      let item = MetadataItem("mdta/com.example.speed", number: 4.5 * Double(index))
      try await rates.append(TimedMetadataGroup(timeRange: second, items: [item]))
    }
    try await append((0..<50).map { UInt8(4 * $0) }, to: pictures)
    let asset = Asset(try await writer.finish().url, renderer: renderer)

    let reader = try await AssetReader(asset)
    let track = try #require(reader.contents.tracks(.metadata).first)
    var groups: [TimedMetadataGroup] = []
    for try await group in try reader.timedMetadata(of: track) { groups.append(group) }

    var edit = Edit()
    let ride = edit.add(try await asset.load())
    let shown = try edit.composition.addTrack(.video, id: "A")
    try edit.composition.editTrack(shown) { try $0.insert(ride.range(from: time(1, 2), to: time(2, 1))) }
    edit.videoComposition.renderSize = PixelSize(width: 320, height: 180)
    edit.export.video = .settings(.init(preset: "ultrafast"))
    var stated = edit
    try edit.addMetadata(groups, of: ride.id, on: shown, as: "speed", isLinear: true) { group in
      group["mdta/com.example.speed"]?.numbers.map { .number($0[0] * 3.6) }
    }
    let style = StyledText(text: "", size: 24)
    edit.videoComposition.overlays = [.init(.metadata("speed", style, decimals: 1, suffix: " km/h"))]
    let film = try await ExportSession(edit, to: url("film.mp4"), on: .local(renderer)).export()

    // The same values, written by hand.
    func item(_ start: Int64, _ from: Double, _ to: Double) throws -> Edit.TimedMetadata {
      Edit.TimedMetadata(over: try range(start, start + 1, 2), .number(from: from, to: to))
    }
    stated.metadataTracks = [
      Edit.MetadataTrack(id: "speed", items: try [item(0, 16.2, 32.4), item(1, 32.4, 48.6), item(2, 48.6, 48.6)])
    ]
    stated.videoComposition.overlays = edit.videoComposition.overlays
    let expected = try await ExportSession(stated, to: url("expected.mp4"), on: .local(renderer)).export()
    #expect(film.digest == expected.digest)
    stated.videoComposition.overlays = []
    let plain = try await ExportSession(stated, to: url("plain.mp4"), on: .local(renderer)).export()
    #expect(film.digest != plain.digest)
  }

  @Test func `values of a file's metadata become those of a film that shows the file`() async throws {
    var edit = Edit()
    let ride = edit.add(
      LoadedAsset(path: "ride.mp4", contents: AssetDescription(container: "mp4", duration: time(10, 1), tracks: [])))
    let speeds = try (0..<10).map {
      TimedMetadataGroup(
        timeRange: try range($0, $0 + 1, 1),
        items: [MetadataItem("gpmd/GPS5", .numbers([0, 0, 0, Double($0)]), as: .float64)])
    }
    var track = CompositionTrack(id: "A", type: .video)
    // Two seconds at half speed, and later one second that begins within a value.
    track.clips = [
      Clip(asset: ride.id, sourceTrack: 0, source: try range(2, 4, 1), target: try range(0, 4, 1)),
      Clip(asset: ride.id, sourceTrack: 0, source: try range(13, 15, 2), target: try range(5, 6, 1)),
    ]
    edit.composition.tracks = [track]
    try edit.addMetadata(speeds, of: ride.id, on: "A", as: "speed", isLinear: true) {
      $0["gpmd/GPS5"]?.numbers.map { .number($0[3] * 3.6) }
    }
    try edit.addMetadata(speeds, of: ride.id, on: "A", as: "held") { .text("\($0["gpmd/GPS5"]?.numbers?[3] ?? 0)") }
    func number(_ start: Int64, _ end: Int64, _ from: Double, _ to: Double) throws -> Edit.TimedMetadata {
      Edit.TimedMetadata(over: try range(start, end, 2), .number(from: from * 3.6, to: to * 3.6))
    }
    #expect(
      edit.metadataTracks[0].items.map(\.over) == [
        try range(0, 2, 1), try range(2, 4, 1), try range(10, 11, 2), try range(11, 12, 2),
      ])
    let wanted = try [number(0, 4, 2, 3), number(4, 8, 3, 4), number(10, 11, 6.5, 7), number(11, 12, 7, 7.5)]
    for (item, expected) in zip(edit.metadataTracks[0].items, wanted) {
      guard case .number(let from, let to) = item.content, case .number(let first, let last) = expected.content else {
        Issue.record("no numbers")
        continue
      }
      #expect(abs(from - first) < 1e-9 && abs(to - last) < 1e-9)
    }
    #expect(edit.metadataTracks[1].items.map(\.content) == ["2.0", "3.0", "6.0", "7.0"].map { .text($0) })
    #expect(throws: SheafError.self) { try edit.addMetadata(speeds, of: ride.id, on: "B", as: "none") { _ in nil } }
  }
}

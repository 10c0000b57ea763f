import Foundation
import Sheaf
import TestPrograms
import Testing

/// A file is exported with a preset, and one of its tracks is chosen.
@Suite(.ownThreads, .serialized) struct AssetExportTests {
  @Test func `a file is exported with a preset in one line`() async throws {
    let media = try SmallMedia()
    let asset = media.asset("one.mp4")
    let film = try await ExportSession(asset, preset: .lowQuality, to: media.url("small.mp4")).export()
    #expect(film.frames == 75)
    let streams = try Tool.ffprobe("-show_entries", "stream=codec_name", film.url.path)
    #expect(streams.map { $0[0] } == ["h264", "aac"])
    #expect(try Tool.ffprobe("-show_entries", "format_tags=title", film.url.path) == [["one"]])

    // A part.
    let range = try MediaTimeRange(start: MediaTime(seconds: 1), duration: MediaTime(value: 1, timescale: 5))
    let part = try await ExportSession(
      asset, preset: .appleProRes422LPCM, to: media.url("part.mov"), timeRange: range
    ).export()
    #expect(part.frames == 5)

    // A copy has the packets of the file.
    let copy = try await ExportSession(asset, preset: .passthrough, to: media.url("copy.mov")).export()
    for type in ["v", "a"] {
      let packets = { try Tool.ffmpeg("-i", $0, "-map", "0:\(type)", "-c", "copy", "-f", "data", "-") }
      #expect(try packets(copy.url.path) == packets(media.folder.path("one.mp4")), "\(type)")
    }

    let presets: [ExportSettings.Preset] = [
      .lowQuality, .mediumQuality, .highestQuality, .size640x480, .size960x540, .size1280x720, .size1920x1080,
      .size3840x2160, .hevcHighestQuality, .hevc1920x1080, .hevc3840x2160, .hevc7680x4320, .appleProRes422LPCM,
      .appleProRes4444LPCM, .appleM4A, .passthrough,
    ]
    #expect(presets == ExportSettings.Preset.allCases)
    let still = await #expect(throws: SheafError.self) {
      try await ExportSession(media.asset("logo.png"), preset: .lowQuality, to: media.url("still.mp4"))
    }
    #expect(still?.code == .invalidEdit)
    let missing = await #expect(throws: SheafError.self) {
      try await ExportSession(media.asset("none.mp4"), preset: .lowQuality, to: media.url("none-out.mp4"))
    }
    #expect(missing?.code == .invalidMedia)
  }

  @Test func `a track is found by its language and its number, and inserted`() async throws {
    let folder = try TemporaryFolder()
    let renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
    let path = folder.path("dubbed.mov")
    var arguments: [String] = []
    for frequency in [200, 300, 400] {
      arguments += ["-f", "lavfi", "-i", "sine=f=\(frequency):r=48000:d=1"]
    }
    for number in 0..<3 { arguments += ["-map", "\(number)"] }
    for (number, language) in ["eng", "ger", "fra"].enumerated() {
      arguments += ["-metadata:s:a:\(number)", "language=\(language)"]
    }
    try Tool.ffmpeg(arguments + ["-c:a", "pcm_s16le", path])
    let asset = try await Asset(path: path, renderer: renderer).load()
    let sounds = asset.contents.tracks(.audio)
    #expect(sounds.map(\.index) == [0, 1, 2])
    // Both codes of the language mean it.
    let german = try #require(asset.contents.tracks(.audio, language: "deu").first)
    #expect(asset.contents.tracks(.audio, language: "GER") == [german] && german.index == 1)
    #expect(asset.contents.tracks(.audio, language: "ita") == [] && asset.contents.tracks(.video) == [])
    #expect(asset.contents.tracks(.audio, characteristic: "comment") == [])
    #expect(asset.contents.track(id: try #require(german.id)) == german)
    #expect(asset.contents.track(id: 99) == nil)

    var edit = Edit()
    let source = edit.add(asset)
    let half = MediaTime(value: 1, timescale: 2)
    let track = try edit.composition.addTrack(.audio)
    try edit.composition.editTrack(track) { track in
      try track.insert(source.range(from: half, to: MediaTime(seconds: 1)), of: sounds[2])
      try track.insert(source.range(from: .zero, to: half), of: german, at: .zero)
    }
    edit.export.audio = .settings(.init(codec: .pcm, sampleRate: 48000, channels: 1, bitDepth: 16))
    let film = try await ExportSession(edit, to: folder.url.appendingPathComponent("film.wav"), on: .local(renderer))
      .export()
    func samples(_ file: String, _ track: Int) throws -> [Int16] {
      try Tool.ffmpeg("-i", file, "-map", "0:a:\(track)", "-f", "s16le", "-").withUnsafeBytes {
        Array($0.bindMemory(to: Int16.self))
      }
    }
    let expected = try Array(samples(path, 1)[..<24000] + samples(path, 2)[24000...])
    // Printing two whole arrays takes minutes.
    #expect(try samples(film.url.path, 0).elementsEqual(expected))
    // An edit that is read from its document has the same clips.
    let read = try Edit(document: edit.document(), assets: [source.id: asset.contents])
    #expect(read.composition == edit.composition)

    var other = german
    other.index = 7
    #expect(throws: EditingError.unknownSourceTrack(7, of: source.id)) {
      try edit.composition.editTrack(track) { [other] in try $0.insert(source.whole(), of: other) }
    }
    let picture = try edit.composition.addTrack(.video)
    #expect(throws: EditingError.noTrack(.video, of: source.id)) {
      try edit.composition.editTrack(picture) { try $0.insert(source.whole(), of: german) }
    }
  }
}

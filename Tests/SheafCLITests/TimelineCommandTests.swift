import Foundation
import TestPrograms
import Testing

/// `sheaf import` and `sheaf export` as programs, and melt as the judge of what they make for it.
@Suite(.enabled(if: !QuickTests.areRun), .timeLimit(.minutes(10))) struct TimelineCommandTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func run(_ script: String) async throws -> ShellScript.Result {
    try await ShellScript(script, in: folder, ["LC_ALL": "C.UTF-8"]).end()
  }

  private func text(_ name: String) throws -> String { try folder.text(name) }

  private func write(_ text: String, _ name: String) throws { _ = try folder.write(Data(text.utf8), name) }

  /// Films of 100 frames, each of its own luma, one of which becomes brighter and the other darker; and a sound.
  private func makeMedia(in folder: String = "") throws {
    for (name, luma) in [("one", "16+N*2"), ("two", "235-N*2")] {
      try Tool.ffmpeg(
        "-f", "lavfi", "-i", "color=black:s=64x36:r=25:d=4,geq=lum='\(luma)':cb=128:cr=128", "-f", "lavfi", "-i",
        "sine=440:d=4:r=48000", "-ac", "2", "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-c:a", "pcm_s16le",
        self.folder.path("\(folder)\(name).mkv"))
    }
    try Tool.ffmpeg("-f", "lavfi", "-i", "sine=330:d=8:r=48000", "-ac", "2", self.folder.path("\(folder)song.wav"))
  }

  private static let clip = """
    {"OTIO_SCHEMA": "Clip.1", "name": "one", "source_range": {"OTIO_SCHEMA": "TimeRange.1",
     "start_time": {"OTIO_SCHEMA": "RationalTime.1", "value": 25, "rate": 25},
     "duration": {"OTIO_SCHEMA": "RationalTime.1", "value": 50, "rate": 25}},
     "media_reference": {"OTIO_SCHEMA": "ExternalReference.1", "target_url": "one.mkv"}, "effects": EFFECTS}
    """

  private func otio(effects: String = "[]", second: String? = nil) -> String {
    let clips = [Self.clip.replacing("EFFECTS", with: effects), second].compactMap(\.self).joined(separator: ",")
    return """
      {"OTIO_SCHEMA": "Timeline.1", "name": "edit", "tracks": {"OTIO_SCHEMA": "Stack.1", "children": [
       {"OTIO_SCHEMA": "Track.1", "name": "V", "kind": "Video", "children": [\(clips)]}]}}
      """
  }

  private static let document = """
    {"sheaf": 1, "assets": {"one": "one.mkv"}, "tracks": [{"id": "V", "sound": false, "clips": [
      {"asset": "one", "use": "1..3"}]}], "videoComposition": {"frameRate": 25}}
    """

  @Test func `an import ends with its code, and says on standard error what it does not take`() async throws {
    try makeMedia()
    try write(otio(), "edit.otio")
    let good = try await run("sheaf import edit.otio -o edit.json --strict")
    #expect(good.status == 0 && good.errors == "" && good.output == "edit.json: 1 track, 1 clip, 0:02.000\n", "\(good)")
    // The default is standard output.
    let printed = try await run("sheaf import edit.otio")
    #expect(printed.status == 0 && printed.errors == "")
    #expect(try printed.output == text("edit.json"))
    try write(
      otio(effects: #"[{"OTIO_SCHEMA": "Effect.1", "effect_name": "Blur"}]"#).replacing("one.mkv", with: "none.mkv"),
      "worse.otio")
    let listed = [
      "worse.otio: /tracks/children/0/children/0/effects/0: the effect 'Blur' of the clip 'one': not taken: OpenTimelineIO does not say what it does",
      "worse.otio: there is no file none.mkv: give its folder with --media, or change its path in the document",
    ]
    let worse = try await run("sheaf import worse.otio -o worse.json")
    #expect(worse.status == 0 && worse.errors.split(separator: "\n").map(String.init) == listed, "\(worse.errors)")
    let strict = try await run("sheaf import worse.otio -o strict.json --strict")
    #expect(try strict.status == 65 && text("strict.json") == text("worse.json"))
    let json = try await run("sheaf import worse.otio -o worse.json --json")
    let report = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(report["clips"] as? Int == 1 && report["missing"] as? [String] == ["none.mkv"])
    #expect((report["notes"] as? [[String: String]])?.map { $0["item"] } == ["the effect 'Blur' of the clip 'one'"])
    // What is no timeline, and what makes no document, is a failure.
    let failures: [(String, Int32, String)] = [
      ("sheaf import none.otio -o x.json", 65, "none.otio: the timeline cannot be read: opening none.otio failed"),
      ("sheaf import song.wav -o x.json", 65, "song.wav: it is no timeline that can be read"),
      ("sheaf import edit.otio --json", 64, "--json needs -o"),
      ("sheaf import edit.otio --rate 0", 64, "--rate must be a number from 1 to 1000"),
      ("sheaf import edit.otio --media none", 65, "there is no folder none"),
      ("sheaf import edit.otio -o none/x.json", 65, "none"),
    ]
    for (command, status, words) in failures.spread(3) {
      let result = try await run(command)
      #expect(result.status == status && result.errors.contains(words), "\(command): \(result)")
      #expect(!FileManager.default.fileExists(atPath: folder.path("x.json")))
    }
  }

  @Test func `what is printed is what the file has`() async throws {
    // A transition that goes on for 10 frames after the end.
    let transition = """
      {"OTIO_SCHEMA": "Transition.1", "name": "t", "transition_type": "SMPTE_Dissolve",
       "in_offset": {"OTIO_SCHEMA": "RationalTime.1", "value": 5, "rate": 25},
       "out_offset": {"OTIO_SCHEMA": "RationalTime.1", "value": 10, "rate": 25}}
      """
    try write(otio(second: transition), "edit.otio")
    let longer = try await run("sheaf import edit.otio -o edit.json")
    #expect(longer.output == "edit.json: 1 track, 1 clip, 0:02.400\n", "\(longer)")
    let second = #"{"id": "W", "clips": [{"asset": "one", "use": "0..1"}]}, {"id": "V""#
    try write(Self.document.replacing(#"{"id": "V""#, with: second), "two.json")
    let lowest = try await run("sheaf export two.json -o two.edl")
    #expect(lowest.output == "two.edl: 2 tracks, 2 clips, 0:02.000\n", "\(lowest)")
    #expect(lowest.errors.contains("two.json: the track 'W': not taken: of tracks an EDL has one of pictures"))
  }

  @Test func `a document that cannot be rendered is written, and its problems are said`() async throws {
    try makeMedia()
    try write(
      """
      <fcpxml version="1.10"><resources><format id="f" frameDuration="1/25s" width="64" height="36"/>
      <asset id="a" name="one" start="0s" duration="4s" hasVideo="1" src="one.mkv"/></resources>
      <project name="p"><sequence format="f"><spine><asset-clip ref="a" duration="1s"><adjust-transform scale="0 0"/>
      </asset-clip></spine></sequence></project></fcpxml>
      """, "small.fcpxml")
    let result = try await run("sheaf import small.fcpxml -o edit.json")
    #expect(
      result.status == 65 && result.errors.hasPrefix("sheaf: edit.json: /tracks/0/clips/0/transform/scale: 0 should"),
      "\(result)")
    let check = try await run("sheaf check edit.json")
    #expect(check.status == 65)
  }

  @Test func `an export ends with its code, and its extension decides the format`() async throws {
    try makeMedia()
    try write(Self.document, "edit.json")
    for name in ["edit.otio", "edit.edl", "edit.fcpxml", "edit.mlt"] {
      let result = try await run("sheaf export edit.json -o \(name) && sheaf import \(name) --rate 25")
      #expect(result.status == 0, "\(name): \(result.errors)")
      #expect(result.output.contains("\(name): 1 track, 1 clip, 0:02.000\n{"), "\(result.output)")
      #expect(result.output.contains(#""use": "1..3""#), "\(result.output)")
    }
    try write(Self.document.replacing(#""use": "1..3""#, with: #""use": "1..3", "opacity": 0.5"#), "worse.json")
    let strict = try await run("sheaf export worse.json -o worse.edl --strict")
    #expect(
      strict.status == 65
        && strict.errors
          == "worse.json: /tracks/0/clips/0/opacity: 'opacity' of the clip 'one': not taken: an EDL has no such property\n",
      "\(strict)")
    let json = try await run("sheaf export worse.json -o worse.edl --json")
    let report = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(report["output"] as? String == "worse.edl" && (report["notes"] as? [Any])?.count == 1)
    try write(Self.document.replacing(#","videoComposition": {"frameRate": 25}"#, with: ""), "rateless.json")
    let failures: [(String, Int32, String)] = [
      ("sheaf export edit.json", 64, "give -o a file"),
      ("sheaf export edit.json -o x.aaf", 64, "the extension of x.aaf is that of no timeline"),
      ("sheaf export none.json -o x.edl", 65, "none.json"),
      ("sheaf export edit.json -o none/x.edl", 65, "none"),
    ]
    for (command, status, words) in failures.spread(2) {
      let result = try await run(command)
      #expect(result.status == status && result.errors.contains(words), "\(command): \(result)")
      #expect(!FileManager.default.fileExists(atPath: folder.path("x.edl")))
    }
  }

  // MARK: The page

  /// The commands of `docs/timelines.md`, on timelines of each format.
  @Test func `the commands of the page work as they are printed`() async throws {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: repository.appending(path: "docs/timelines.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```sh\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    try #require(blocks.count == 1)
    try makeMedia()
    try FileManager.default.createDirectory(atPath: folder.path("footage"), withIntermediateDirectories: true)
    try makeMedia(in: "footage/")
    try write(otio(), "edit.otio")
    try write(Self.document, "made.json")
    let made = try await run(
      "sheaf export made.json -o edit.edl && sheaf export made.json -o edit.mlt && mv edit.mlt edit.kdenlive && sed 's/one.mkv/lost\\/one.mkv/' made.json > lost.json && sheaf export lost.json -o edit.fcpxml"
    )
    #expect(made.status == 0, "\(made.errors)")
    let result = try await run("set -euo pipefail\n" + blocks[0])
    let listed = result.errors.split(separator: "\n").filter { $0.hasPrefix("edit.") }
    #expect(
      result.status == 0 && listed == ["edit.json: the name of the track 'V': not taken: storylines have none"],
      "\(result)")
    for line in [
      "edit.json: 1 track", "edit.otio: 1 track", "edit.edl: 1 track", "edit.fcpxml: 1 track", "edit.mlt: 1 track",
    ] {
      #expect(result.output.contains(line), "\(result.output)")
    }
    #expect(try frames(of: "film.mp4").count == 50)
  }

  // MARK: melt

  /// The mean luma of each frame.
  private func frames(of film: String) throws -> [UInt8] {
    try [UInt8](
      Tool.ffmpeg(
        "-i", folder.path(film), "-vf", "scale=1:1:flags=area,format=gray", "-f", "rawvideo", "-"))
  }

  /// The sound's level in each tenth of a second, in decibels.
  private func levels(of film: String) throws -> [Double] {
    let samples = try Tool.ffmpeg("-i", folder.path(film), "-ac", "1", "-ar", "8000", "-f", "s16le", "-")
    return samples.withUnsafeBytes { bytes in
      let values = bytes.bindMemory(to: Int16.self)
      return stride(from: 0, to: values.count - 799, by: 800).map { start in
        let power = values[start..<start + 800].reduce(0.0) { $0 + Double($1) * Double($1) } / 800
        return 10 * log10(max(power, 1))
      }
    }
  }

  @Test func `melt plays an exported timeline as Sheaf renders the document`() async throws {
    try makeMedia()
    try write(
      """
      {"sheaf": 1, "assets": {"one": "one.mkv", "two": "two.mkv", "song": "song.wav", "grey": {"color": "#808080"},
        "in": {"transparent": true, "document": {"sheaf": 1, "assets": {"two": "two.mkv"},
          "tracks": [{"clips": [{"asset": "two", "use": "0..3"}]}], "videoComposition": {"frameRate": 25}}}},
       "tracks": [
        {"id": "V2", "clips": [{"asset": "two", "use": "0..0.4", "at": 1.6, "sound": "drop"},
          {"asset": "grey", "duration": 0.4, "at": 6, "fadeIn": 0.2, "fadeOut": 0.2}]},
        {"id": "V1", "clips": [{"asset": "one", "use": "1..3", "volume": 0.25, "fadeIn": 0.4},
          {"asset": "two", "use": "1..3", "transition": 1}, {"asset": "one", "freeze": 2, "duration": 1},
          {"asset": "one", "use": "0..2", "reverse": true, "duration": 1},
          {"asset": "one", "use": "0.4..1", "transition": 0.4}, {"asset": "two", "use": "0..1", "sound": "drop", "at": 6},
          {"asset": "two", "use": "1..2", "duration": 2}, {"asset": "in", "use": "1..2"}]},
        {"id": "music", "type": "audio", "clips": [{"asset": "song", "use": "0..1", "at": 8}]}],
       "videoComposition": {"frameRate": 25, "renderSize": [64, 36]},
       "export": {"video": {"codec": "ffv1"}, "audio": {"codec": "pcm", "sampleRate": 48000, "channels": 2}}}
      """, "edit.json")
    let made = try await run(
      "sheaf render edit.json -o sheaf.mkv && sheaf export edit.json -o edit.mlt")
    #expect(made.status == 0, "\(made)")
    try Melt.render(folder.path("edit.mlt"), to: folder.path("melt.mkv"), "acodec=pcm_s16le")
    let (film, other) = (try frames(of: "sheaf.mkv"), try frames(of: "melt.mkv"))
    #expect(film.count == 250 && other.count == film.count)
    // A frame of the media differs from the next one by more than two codes. Where the speed is another, melt may show
    // the one beside it.
    let retimed = [100..<125, 175..<225]
    let apart = zip(film, other).enumerated().filter { frame, codes in
      abs(Int(codes.0) - Int(codes.1)) > (retimed.contains { $0.contains(frame) } ? 5 : 2)
    }
    #expect(apart.isEmpty, "\(apart.map { "\($0.offset): \($0.element.0) and \($0.element.1)" })")
    let (sound, heard) = (try levels(of: "sheaf.mkv"), try levels(of: "melt.mkv"))
    #expect(sound.count == 100 && heard.count == 100)
    // A lower volume, a mix, the second clip, backwards, at another speed, with music, and the document's.
    for tenth in [6, 15, 25, 43, 76, 84, 95] {
      #expect(abs(sound[tenth] - heard[tenth]) < 1, "\(tenth): \(sound[tenth]) and \(heard[tenth])")
    }
    // A picture that stands still, and a clip whose sound is dropped.
    for tenth in [35, 65] { #expect(sound[tenth] < 20 && heard[tenth] < 20, "\(sound[tenth]) and \(heard[tenth])") }
  }
}

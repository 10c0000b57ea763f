import Foundation
import TestPrograms
import Testing

/// `sheaf presets` with an input.
@Suite(.ownThreads) struct PresetsTests {
  private struct Preset: Decodable {
    struct Problem: Decodable {
      var pointer: String
    }

    var name: String
    var containers: [String]
    var problems: [Problem]
  }

  private struct Settings: Decodable {
    struct Video: Decodable {
      var codec: String
    }

    struct Audio: Decodable {
      var codec: String
    }

    var preset: String
    var container: String
    var width: Int?
    var height: Int?
    var frameDuration: String?
    var video: Video?
    var audio: Audio?
  }

  private let files: Workspace

  init() throws {
    files = try Workspace()
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=1", "-c:v", "libx264", files.path("silent.mp4"))
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "sine=d=1", files.path("sound.wav"))
  }

  private func presets(_ arguments: String...) async throws -> Command.Result {
    try await Command(
      executable: Command.sheaf().executable, arguments: ["presets", "--store", files.path("store")] + arguments
    ).run()
  }

  private func decode<Value: Decodable>(_ result: Command.Result) throws -> Value {
    try #require(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode(Value.self, from: Data(result.output.utf8))
  }

  @Test func `a file can be exported with the presets of what it has`() async throws {
    defer { files.remove() }
    let silent: [Preset] = try decode(await presets("--json", files.path("silent.mp4")))
    #expect(silent.first { $0.name == "1280x720" }?.problems.isEmpty == true)
    #expect(silent.first { $0.name == "appleM4A" }?.problems.isEmpty == false)
    let sound: [Preset] = try decode(await presets("--json", files.path("sound.wav")))
    #expect(sound.filter { $0.problems.isEmpty }.map(\.name).contains("appleM4A"))
    let text = try await presets(files.path("sound.wav"))
    #expect(text.status == 0 && text.output.contains("INPUT"))
  }

  @Test func `a preset gives settings for a file, and for a document whatever its name`() async throws {
    defer { files.remove() }
    let file: Settings = try decode(await presets("--json", "--preset", "640x480", files.path("silent.mp4")))
    #expect(file.container == "mp4" && file.width == 320 && file.height == 180 && file.frameDuration == "1/25")
    #expect(file.video?.codec == "h264" && file.audio == nil)
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "silent.mp4", "b": "sound.wav" },
        "tracks": [ { "sound": false, "clips": [ { "asset": "a" } ] },
          { "type": "audio", "clips": [ { "asset": "b" } ] } ] }
      """, to: "edit")
    let document: Settings = try decode(await presets("--json", "--preset", "hevc1920x1080", edit))
    #expect(document.video?.codec == "hevc" && document.audio?.codec == "aac" && document.width == 320)
    let text = try await presets("--preset", "hevc1920x1080", edit)
    #expect(text.status == 0 && text.output.contains("video: hevc, 320x180"), "\(text.output)")
  }

  @Test func `what can be copied is asked by the preset passthrough`() async throws {
    defer { files.remove() }
    func passthrough(_ input: String) async throws -> Preset {
      let presets: [Preset] = try decode(await presets("--json", input))
      return try #require(presets.last)
    }
    let silent = try await passthrough(files.path("silent.mp4"))
    #expect(silent.name == "passthrough" && silent.problems.isEmpty)
    #expect(silent.containers == ["mp4", "mov", "m4v", "mkv"])
    // Little-endian integers are stored in these alone.
    let sound = try await passthrough(files.path("sound.wav"))
    #expect(sound.containers == ["wav", "mov", "mkv"])
    let settings: Settings = try decode(await presets("--json", "--preset", "passthrough", files.path("silent.mp4")))
    #expect(settings.container == "mp4" && settings.video?.codec == "h264" && settings.width == 320)
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "silent.mp4" },
        "tracks": [ { "sound": false, "clips": [ { "asset": "a", "speed": 2 } ] } ] }
      """, to: "edit")
    #expect(try await passthrough(edit).problems.map(\.pointer) == ["/tracks/0/clips/0/speed"])
    let refused = try await presets("--preset", "passthrough", edit)
    #expect(refused.status == 65 && refused.errors.contains("/tracks/0/clips/0/speed"), "\(refused.errors)")
    let table = try await presets(edit)
    #expect(table.status == 0 && table.output.contains("  /tracks/0/clips/0/speed: "), "\(table.output)")
    #expect(try await presets().output.contains("\npassthrough "))
    // What one preset alone cannot have is no fault of the document.
    _ = try files.write("1\n00:00:00,000 --> 00:00:01,000\nHi\n", to: "talk.srt")
    let captions = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "silent.mp4", "b": "sound.wav", "c": "talk.srt" }, "captions": [ { "asset": "c" } ],
        "tracks": [ { "sound": false, "clips": [ { "asset": "a" } ] },
          { "type": "audio", "clips": [ { "asset": "b" } ] } ] }
      """, to: "captions")
    let found: [Preset] = try decode(await presets("--json", captions))
    #expect(found.filter { !$0.problems.isEmpty }.map(\.name) == ["appleM4A", "passthrough"])
  }

  @Test func `what a preset cannot do is reported`() async throws {
    defer { files.remove() }
    let result = try await presets("--preset", "appleM4A", files.path("silent.mp4"))
    #expect(result.status == 65 && !result.errors.isEmpty)
    let unknown = try await presets("--preset", "hdtv", files.path("silent.mp4"))
    #expect(unknown.status == 64 && unknown.errors.contains("hdtv"))
    let alone = try await presets("--preset", "appleM4A")
    #expect(alone.status == 64 && alone.errors.contains("needs a document or a media file"))
    let missing = try await presets(files.path("none.mp4"))
    #expect(missing.status == 65 && missing.errors.contains("there is no file"))
  }
}

import Foundation
import TestPrograms
import Testing

/// The tutorial and the cookbook, done as they say: by `make exactness` in whole, and otherwise without rendering their
/// films, so that the documents are checked, and stills of them are made.
@Suite(.ownThreads) struct GuideTests {
  private static let isWhole = ProcessInfo.processInfo.environment["SHEAF_WHOLE_GUIDES"] != nil

  /// The commands of a page that need no film, and checks in place of those that make one.
  private static func shortened(_ line: String) -> String? {
    if isWhole { return line }
    if let render = line.firstMatch(of: #/^sheaf render (?<document>\S+)/#) { return "sheaf check \(render.document)" }
    let others = [
      "ffprobe", "ffmpeg", "cmp ", "ls ladder", "ls thanks", "sheaf submit", "sheaf status", "sheaf workers",
      "sheaf farm",
      "sheaf waveform", "sheaf-worker", "until ", "second=", "kill ", "wait ", "curl ",
    ]
    return others.contains(where: line.hasPrefix) ? nil : line
  }

  /// A page's documents, which are written where the page says so, and its commands, in their order.
  /// - Parameter replacements: Commands that build what is built already, and addresses.
  private static func script(of page: PublishedPage, _ replacements: [(String, String)]) -> String {
    var script: [String] = []
    var (language, file, block): (String?, Substring?, [Substring]) = (nil, nil, [])
    for line in page.text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let open = language {
        guard line == "```" else {
          block.append(line)
          continue
        }
        if open == "sh" { script += block.map(String.init).compactMap(shortened) }
        if open == "json", let file { script += ["cat > \(file) <<'END'"] + block.map(String.init) + ["END"] }
        if open == "json" { file = nil }
        (language, block) = (nil, [])
      } else if line.hasPrefix("```") {
        language = String(line.dropFirst(3))
      } else if let match = line.firstMatch(of: #/`(?<file>[\w.-]+\.json)`:$/#) {
        file = match.file
      }
    }
    return replacements.reduce(script.joined(separator: "\n")) { $0.replacing($1.0, with: $1.1) }
  }

  /// Runs a script, which must end with 0, where the programs are those that were built.
  private static func run(_ script: String, in folder: Workspace, _ environment: [String: String] = [:]) async throws
    -> String
  {
    let path = "\(Place.products.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
    let result = try await Command(
      executable: "/bin/bash", arguments: ["-c", "cd '\(folder.url.path)'\nset -euo pipefail\n\(script)"],
      environment: ["PATH": path, "XDG_CACHE_HOME": folder.path("cache")].merging(environment) { $1 }
    ).run(seconds: 560)
    try #require(result.status == 0, "\(result.output)\n\(result.errors)")
    return result.output
  }

  private static func frames(_ film: String) throws -> Int {
    let counted = try Tool.ffprobe(
      "-count_packets", "-select_streams", "v:0", "-show_entries", "stream=nb_read_packets", film)
    return try #require(counted.first?.first.flatMap { Int($0) })
  }

  @Test func `the tutorial`() async throws {
    let folder = try Workspace()
    defer { folder.remove() }
    try FileManager.default.createSymbolicLink(
      at: folder.url.appending(path: "Examples"), withDestinationURL: Place.repository.appending(path: "Examples"))
    let port = Int.random(in: 8000...9900) * 2
    let addresses = ("127.0.0.1:\(port)", "127.0.0.1:\(port + 1)")
    let index = try PublishedPage("docs/tutorial/README.md")
    let pages = try index.text.matches(of: #/\]\((?<file>[a-z-]+\.md)\)/#)
      .map { try PublishedPage("docs/tutorial/\($0.file)") }
    #expect(pages.count == 5)
    let script = ([index] + pages).map {
      Self.script(
        of: $0,
        [
          ("make release\n", ""), ("swift build -c release --package-path ../Examples/custom-transition", ""),
          ("../Examples/custom-transition/.build/release/BlindsWorker", "\(Place.products.path)/ExampleWorker"),
          ("127.0.0.1:7433", addresses.0), ("127.0.0.1:7480", addresses.1),
        ])
    }
    let output = try await Self.run(
      "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script.joined(separator: "\n"), in: folder,
      ["SHEAF_COORDINATOR": addresses.0, "SHEAF_LISTEN": addresses.0, "SHEAF_HTTP": addresses.1])
    let code = try String(
      contentsOf: Place.repository.appending(path: "Examples/custom-transition/Sources/BlindsWorker/main.swift"),
      encoding: .utf8)
    #expect(pages.last?.blocks(of: "swift").contains { $0 + "\n" == code } == true)
    let made = try FileManager.default.contentsOfDirectory(atPath: folder.path("films"))
    #expect(Set(made).isSuperset(of: ["still.png", "two.jpg", "titles.png", "blinds.png", "edit.schema.json"]))
    guard Self.isWhole else { return }
    #expect(output.components(separatedBy: "the same bytes").count == 3, "\(output)")
    let expected = [
      "film": 90, "two": 240, "inset": 120, "titles": 225, "hello-Ada": 60, "hello-Grace": 60, "hello-Linus": 60,
      "blinds": 72,
    ]
    for (film, frames) in expected {
      #expect(try Self.frames(folder.path("films/\(film).mp4")) == frames, "\(film)")
    }
  }

  // MARK: The cookbook

  /// What a recipe makes: files, with the frames of those that are films.
  private static let recipes: [String: [String: Int?]] = [
    "audiogram": ["episode.mp4": 180, "episode.png": nil], "countdown": ["race.mp4": 180, "race.png": nil],
    "grid": ["grid.mp4": 120, "grid.png": nil], "hdr": ["sdr.mp4": 100],
    "intro-main-outro": ["whole.mp4": 240, "whole.jpg": nil], "key": ["keyed.mp4": 100, "keyed.png": nil],
    "ladder": ["ladder/360p.mp4": 180, "ladder/240p.mp4": 180, "ladder/sound.m4a": nil],
    "lossless": ["short.mp4": 150], "lower-third": ["interview.mp4": 180, "interview.png": nil],
    "picture-in-picture": ["inset.mp4": 180, "inset.png": nil],
    "rows": Dictionary(uniqueKeysWithValues: (1...20).map { ("thanks/Person \($0).mp4", 50) }),
    "slideshow": ["slideshow.mp4": 200, "photos.mp4": 263], "sound": ["voice.mp4": 150],
    "speed": ["jump.mp4": 300], "sprite": ["thumbnails.jpg": nil, "thumbnails.vtt": nil],
    "three-clips": ["three.mp4": 300], "vertical": ["vertical.mp4": 150, "vertical.png": nil],
  ]

  /// The media of all recipes.
  private static let media = Result { try RecipeMedia() }

  /// Where films are rendered, all.
  private static let tested: [String] =
    isWhole
    ? recipes.keys.sorted()
    : TestExtent.of(
      ["audiogram", "hdr", "ladder", "rows", "sound", "sprite"], whole: recipes.keys.sorted())

  @Test(arguments: tested) func `a recipe of the cookbook`(name: String) async throws {
    let page = try PublishedPage("docs/cookbook/\(name).md")
    let folder = try Workspace()
    defer { folder.remove() }
    try Self.media.get().link(into: folder.url)
    let output = try await Self.run(Self.script(of: page, []), in: folder)
    for (file, frames) in try #require(Self.recipes[name])
    where Self.isWhole || [".png", ".jpg"].contains(where: file.hasSuffix) {
      let path = folder.path(file)
      #expect(FileManager.default.fileExists(atPath: path), "\(file): \(output)")
      if let frames { #expect(try Self.frames(path) == frames, "\(file)") }
    }
  }

  @Test func `the cookbook lists its recipes`() throws {
    let listed = try PublishedPage("docs/cookbook/README.md").text.matches(of: #/\]\((?<name>[a-z-]+)\.md\)/#)
      .map { String($0.name) }
    #expect(Set(listed) == Set(Self.recipes.keys) && listed.count == 17)
    let pages = try PublishedPage.all(in: "docs/cookbook").map(\.path)
    #expect(Set(pages) == Set(listed.map { "docs/cookbook/\($0).md" } + ["docs/cookbook/README.md"]))
  }
}

/// Media with the names of those in the cookbook.
private struct RecipeMedia {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let h264 = ["-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-pix_fmt", "yuv420p", "-bf", "0"]
    for number in 1...3 {
      try make(
        "phone\(number).mp4", "testsrc2=s=640x360:r=30:d=6", sound: "sine=f=\(200 * number):d=6:r=48000",
        h264 + ["-c:a", "aac"])
    }
    try make("speaker.mp4", "color=0x00c000:s=640x360:r=25:d=4", h264)
    try make("music.m4a", sound: "sine=f=440:d=20:r=48000", ["-c:a", "aac"])
    try make("talk.wav", sound: "sine=f=300:d=6:r=48000,volume=0.1", [])
    for number in 1...4 {
      try make("photo\(number).jpg", "mandelbrot=s=800x600:start_scale=0.\(number)", ["-frames:v", "1"])
    }
    try make(
      "phone-hdr.mov", "testsrc2=s=320x180:r=25:d=4",
      [
        "-vf", "format=yuv420p10,setparams=color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc",
        "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
        "log-level=error:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc", "-tag:v", "hvc1",
      ])
    try FileManager.default.copyItem(atPath: Place.example("media/logo.png"), toPath: folder.path("logo.png"))
    try write(
      "talk.srt", "1\n00:00:00,500 --> 00:00:02,500\nGood morning.\n\n2\n00:00:03,000 --> 00:00:05,000\nA meadow.\n")
    let table = [0.0, 1].flatMap { blue in
      [0.0, 1].flatMap { green in [0.0, 1].map { red in "\(red * 0.9) \(green * 0.95) \(blue * 0.8)" } }
    }
    try write("look.cube", "LUT_3D_SIZE 2\n" + table.joined(separator: "\n") + "\n")
    try write(
      "people.csv", "name,photo\n" + (1...20).map { "Person \($0),photo\($0 % 4 + 1).jpg\n" }.joined())
  }

  private func make(_ name: String, _ pictures: String? = nil, sound: String? = nil, _ arguments: [String]) throws {
    let inputs = [pictures, sound].compactMap(\.self).flatMap { ["-f", "lavfi", "-i", $0] }
    _ = try Tool.run("ffmpeg", ["-v", "error", "-y"] + inputs + arguments + [folder.path(name)])
  }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: folder.url.appending(path: name))
  }

  /// Makes each of them a file of another folder. One with several names is changed when it gets another.
  func link(into other: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      try FileManager.default.createSymbolicLink(
        at: other.appending(path: name), withDestinationURL: folder.url.appending(path: name))
    }
  }
}

import Foundation
import TestMedia
import TestPrograms
import Testing

/// A film's fonts are found once, and every segment is drawn with them.
@Suite(.ownThreads, .serialized)
struct FontTests {
  /// A film of 12 s with a title, in six segments without loss.
  private static func edit(_ files: Workspace) throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { "sea": "sea.png" },
        "tracks": [ { "clips": [ { "asset": "sea", "duration": 12 } ] } ],
        "videoComposition": { "renderSize": [320, 180], "frameDuration": "1/10",
          "overlays": [ { "text": "Maroubra", "size": 40 } ] },
        "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
      """, to: "edit.json")
  }

  /// A folder with a fontconfig configuration whose `sans-serif` is the one font in it. Returns its path.
  private static func fonts(_ files: Workspace, _ name: String, _ font: String) throws -> String {
    let folder = files.url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: URL(fileURLWithPath: "/usr/share/fonts/truetype/dejavu/\(font)"),
      to: folder.appendingPathComponent("title.ttf"))
    try """
    <?xml version="1.0"?>
    <fontconfig><dir>\(folder.path)</dir><cachedir>\(folder.path)/cache</cachedir></fontconfig>
    """.write(toFile: folder.appendingPathComponent("fonts.conf").path, atomically: true, encoding: .utf8)
    return folder.path
  }

  private static func hashes(_ path: String) async throws -> Set<Substring> {
    let frames = try await FrameHashes.video(path).frames
    try #require(frames.count == 120)
    return Set(frames.map(\.hash))
  }

  private static func workspace() async throws -> Workspace {
    let files = try Workspace()
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=navy:s=320x180", "-frames:v", "1", files.path("sea.png"))
    return files
  }

  @Test
  func `workers with other fonts and settings never mix them in a film`() async throws {
    let files = try await Self.workspace()
    defer { files.remove() }
    let edit = try Self.edit(files)
    let folders = [
      try Self.fonts(files, "sans", "DejaVuSans.ttf"), try Self.fonts(files, "serif", "DejaVuSerif-Bold.ttf"),
    ]
    var alone: [Set<Substring>] = []
    for folder in folders {
      let farm = try await Farm(workers: 1, slots: 1, environments: [["FONTCONFIG_PATH": folder]])
      defer { farm.stop() }
      let film = files.path("alone-\(alone.count).mkv")
      let submit = try await farm.sheaf("submit", edit, "--wait", "-o", film, "--segment-duration", "2").run()
      try #require(submit.status == 0, "\(submit.errors)")
      alone.append(try await Self.hashes(film))
    }
    #expect(alone.allSatisfy { $0.count == 1 } && alone[0] != alone[1])

    let farm = try await Farm(workers: 2, slots: 1, environments: folders.map { ["FONTCONFIG_PATH": $0] })
    defer { farm.stop() }
    let builds = try await farm.query("SELECT count(DISTINCT build) FROM sheaf.worker")
    #expect(builds == ["1"])
    for attempt in 0..<TestExtent.of(1, whole: 3) {
      let film = files.path("both-\(attempt).mkv")
      let submit = try await farm.sheaf("submit", edit, "--wait", "-o", film, "--segment-duration", "2").run()
      try #require(submit.status == 0, "\(submit.errors)")
      #expect(alone.contains(try await Self.hashes(film)), "a film with the fonts of two workers")
    }
  }

  /// The script of a caption in this font, with fonts in its section `[Fonts]`.
  private static func script(_ family: String, fonts: [Data] = []) -> String {
    // Three bytes are four characters of six bits.
    func encoded(_ font: Data) -> String {
      var lines = [[UInt8]]()
      for start in stride(from: 0, to: font.count, by: 60) {
        let part = [UInt8](font[start..<min(start + 60, font.count)])
        var line: [UInt8] = []
        for group in stride(from: 0, to: part.count, by: 3) {
          let bytes = part[group...].prefix(3)
          let bits = (bytes + [0, 0]).prefix(3).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
          line += [18, 12, 6, 0].prefix(bytes.count + 1).map { UInt8(bits >> $0 & 63) + 33 }
        }
        lines.append(line)
      }
      return "fontname: own_0.ttf\n" + lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") + "\n"
    }
    return CaptionFile.ass(
      styles: [
        "Default,\(family),30,&H00FFFFFF,&H00FFFFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,1,0,5,0,0,0,1"
      ],
      fonts: fonts.map(encoded).joined(), events: ["0,0:00:00.00,0:00:02.00,Default,,0,0,0,,Maroubra"])
  }

  @Test
  func `captions are drawn in the fonts that their file brings with it`() async throws {
    let files = try await Self.workspace()
    defer { files.remove() }
    // A font under a name that no machine has: names are stored as ASCII and as UTF-16.
    var font = try Data(contentsOf: URL(fileURLWithPath: "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"))
    for encoding in [String.Encoding.ascii, .utf16BigEndian] {
      let (old, new) = ("DejaVu Sans Mono".data(using: encoding), "Maroubra Bay One".data(using: encoding))
      let (name, other) = (try #require(old), try #require(new))
      while let place = font.range(of: name) { font.replaceSubrange(place, with: other) }
    }
    try font.write(to: files.url.appendingPathComponent("own.ttf"))
    _ = try files.write(Self.script("DejaVu Sans Mono"), to: "installed.ass")
    _ = try files.write(Self.script("Maroubra Bay One"), to: "without.ass")
    _ = try files.write(Self.script("Maroubra Bay One", fonts: [Data("no font".utf8), font]), to: "within.ass")
    _ = try files.write(Self.script("Maroubra Bay One", fonts: [font.prefix(5000)]), to: "damaged.ass")
    try Tool.ffmpeg([
      "-loop", "1", "-t", "2", "-i", files.path("sea.png"), "-i", files.path("without.ass"), "-map", "0", "-map", "1",
      "-c:s", "copy", "-attach", files.path("own.ttf"), "-metadata:s:t", "mimetype=application/x-truetype-font",
      files.path("attached.mkv"),
    ])
    var pictures: [String: Data] = [:]
    for name in ["installed.ass", "without.ass", "within.ass", "damaged.ass", "attached.mkv"] {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "sea": "sea.png", "words": "\(name)" },
          "tracks": [ { "clips": [ { "asset": "sea", "duration": 2 } ] } ],
          "captions": [ { "asset": "words" } ],
          "videoComposition": { "renderSize": [320, 180], "frameDuration": "1/10" }, "export": { "to": "film.mkv" } }
        """, to: "edit.json")
      if TestExtent.isWhole || name == "without.ass" || name == "within.ass" {
        let check = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
        let isThere = name != "without.ass" && name != "damaged.ass"
        #expect(
          check.status == 0 && check.errors.contains("'Maroubra Bay One' is not installed") == !isThere, "\(name)")
      }
      let image = files.path("picture.png")
      let made = try await Command.sheaf("image", edit, "--at", "1", "-o", image, "--store", files.path("store")).run()
      try #require(made.status == 0, "\(made.errors)")
      pictures[name] = try Data(contentsOf: URL(fileURLWithPath: image))
    }
    #expect(
      pictures["within.ass"] == pictures["installed.ass"] && pictures["attached.mkv"] == pictures["installed.ass"])
    #expect(pictures["without.ass"] != pictures["installed.ass"] && pictures["damaged.ass"] == pictures["without.ass"])
  }

  @Test
  func `a worker without fonts renders with those that another has found, and none is an error that says so`()
    async throws
  {
    let files = try await Self.workspace()
    defer { files.remove() }
    let edit = try Self.edit(files)
    let folder = try Self.fonts(files, "fonts", "DejaVuSans.ttf")
    let store = files.path("store")
    func render(_ film: String) async throws -> Command.Result {
      try await Command(
        executable: Place.products.appendingPathComponent("sheaf").path,
        arguments: ["render", edit, "-o", files.path(film), "--segment-duration", "2", "--store", store],
        environment: ["FONTCONFIG_PATH": folder]
      ).run()
    }
    try FileManager.default.moveItem(atPath: "\(folder)/title.ttf", toPath: files.path("away.ttf"))
    let without = try await render("without.mkv")
    #expect(without.status == 65 && without.errors.contains("no font is installed on this worker"), "\(without.errors)")

    let farm = try await Farm(workers: 2, slots: 1, environments: [[:], ["FONTCONFIG_PATH": folder]])
    defer { farm.stop() }
    let submit = try await farm.sheaf(
      "submit", edit, "--wait", "-o", files.path("film.mkv"), "--segment-duration", "1"
    ).run()
    try #require(submit.status == 0, "\(submit.errors)")
    let workers = try await farm.query("SELECT DISTINCT publisher FROM sheaf.task WHERE kind = 'video'")
    #expect(workers.count == 2)
    #expect(try await Self.hashes(files.path("film.mkv")).count == 1)
  }

  @Test
  func `a font that is replaced by one of the same name, size and time is used, and the former too`() async throws {
    let files = try await Self.workspace()
    defer { files.remove() }
    let edit = try Self.edit(files)
    let folder = try Self.fonts(files, "fonts", "DejaVuSans.ttf")
    let font = "\(folder)/title.ttf"
    let attributes = try FileManager.default.attributesOfItem(atPath: font)
    let (first, other) = (
      try Data(contentsOf: URL(fileURLWithPath: font)),
      try Data(contentsOf: URL(fileURLWithPath: "/usr/share/fonts/truetype/dejavu/DejaVuSans-Oblique.ttf"))
    )
    let size = max(first.count, other.count)
    var films: [Set<Substring>] = []
    for bytes in [first, other, first] {
      // Bytes after a font's tables have no meaning.
      let padded = bytes + Data(repeating: 0, count: size - bytes.count)
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: font))
      try handle.write(contentsOf: padded)
      try handle.close()
      try FileManager.default.setAttributes(
        [.modificationDate: try #require(attributes[.modificationDate])], ofItemAtPath: font)
      let film = files.path("film-\(films.count).mkv")
      let render = try await Command(
        executable: Place.products.appendingPathComponent("sheaf").path,
        arguments: ["render", edit, "-o", film, "--segment-duration", "2", "--store", files.path("store")],
        environment: ["FONTCONFIG_PATH": folder]
      ).run()
      try #require(render.status == 0, "\(render.errors)")
      films.append(try await Self.hashes(film))
    }
    #expect(films.allSatisfy { $0.count == 1 })
    #expect(films[0] != films[1] && films[0] == films[2])
  }
}

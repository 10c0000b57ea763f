import Foundation
import Glibc
import SystemSupport
import TestPrograms
import Testing

/// *Content is what its digest says*: what a disk or a program changes afterwards is in no film.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct WrongContentTests {
  /// A film of 12 s and about 12 MB, of which a clip of one second is read in a few ranges.
  private func film(_ path: String) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=12", "-vf",
      "noise=alls=30:allf=t", "-c:v", "mpeg2video", "-g", "12", "-b:v", "8M", "-f", "mp4", path)
  }

  private func document(_ files: Workspace, _ media: String, use: String) throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(media)" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "\(use)" } ] } ],
        "videoComposition": { "renderSize": [320, 180], "frameDuration": "1/25" },
        "export": { "to": "film.mp4", "video": { "preset": "ultrafast" } } }
      """, to: "\(use).json")
  }

  @Test
  func `a file that is overwritten in place, with nothing that shows it, is in no film`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let folder = try TemporaryFolder(in: MappedFile.folder)
    let media = folder.path("film.mp4")
    try await film(media)
    let mapped = try MappedFile(media)
    // A file that changed just now is read again each time.
    try await eventually("the file's times are past") {
      let times = try FileIdentity(of: OpenFile.open(media))
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return times.isSettled(at: now)
    }
    let render = { (use: String, output: String) in
      try await Command.sheaf(
        "render", document(files, media, use: use), "-o", files.path(output), "--store", files.path("store")
      ).run()
    }
    let first = try await render("0..1", "first.mp4")
    #expect(first.status == 0, "\(first.errors)")

    let size = try Int(OpenFile.open(media).status().st_size)
    let before = try FileIdentity(of: OpenFile.open(media))
    // In the pictures of the ninth second.
    mapped.invert(size * 17 / 24..<size * 17 / 24 + 20_000)
    #expect(try FileIdentity(of: OpenFile.open(media)) == before)
    let changed = try await render("8..9", "changed.mp4")
    #expect(changed.status != 0 && changed.errors.contains("film.mp4"), "\(changed.status): \(changed.errors)")
    #expect(!FileManager.default.fileExists(atPath: files.path("changed.mp4")))

    // The file is what it is: the next film shows it, and so does one of a store that has never seen the other bytes.
    let next = try await render("8..9", "next.mp4")
    #expect(next.status == 0, "\(next.errors)")
    let fresh = try await Command.sheaf(
      "render", document(files, media, use: "8..9"), "-o", files.path("fresh.mp4"), "--store", files.path("fresh")
    ).run()
    #expect(fresh.status == 0, "\(fresh.errors)")
    #expect(FileManager.default.contentsEqual(atPath: files.path("next.mp4"), andPath: files.path("fresh.mp4")))
  }

  @Test
  func `20 kB overwritten in the content store are in no film of a fresh worker`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let media = files.path("film.mp4")
    try await film(media)
    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    let first = try await farm.sheaf("submit", document(files, media, use: "0..1"), "--wait").run()
    #expect(first.status == 0, "\(first.errors)")
    farm.killWorker(0)

    let digest = try #require(
      try await Command.output("sha256sum", media).split(separator: " ").first.map { String($0) })
    let stored = try FileHandle(forUpdating: URL(fileURLWithPath: farm.stored(digest)))
    // In the pictures of the ninth second.
    try stored.seek(toOffset: stored.seekToEnd() * 17 / 24)
    try stored.write(contentsOf: Data(repeating: 7, count: 20_000))
    try stored.close()

    try farm.startWorker()
    let edit = try document(files, media, use: "8..9")
    let output = files.path("output.mp4")
    let damaged = try await farm.sheaf("submit", edit, "--wait", "-o", output).run()
    #expect(damaged.status != 0 && damaged.errors.contains("was damaged"), "\(damaged.status): \(damaged.errors)")
    #expect(!FileManager.default.fileExists(atPath: output))
    #expect(!FileManager.default.fileExists(atPath: farm.stored(digest)), "the damaged copy is removed")

    // The next submission uploads the file again.
    let healed = try await farm.sheaf("submit", edit, "--wait", "-o", output).run()
    #expect(healed.status == 0, "\(healed.errors)")
    let alone = try await Command.sheaf("render", edit, "-o", files.path("alone.mp4"), "--store", files.path("store"))
      .run()
    #expect(alone.status == 0, "\(alone.errors)")
    #expect(FileManager.default.contentsEqual(atPath: output, andPath: files.path("alone.mp4")))
  }
}

import CompositionModel
import Foundation
import TestPrograms
import Testing

/// *Real media*: every video file that `ffmpeg` decodes can be a clip; every other gets one clear error. The shared
/// collection is large: here each ninth of its files, with the seed of `make exactness` all of them.
@Suite(.ownThreads) struct RealMediaTests {
  /// Files that `ffmpeg` decodes and Sheaf refuses, with the words of the refusal.
  private static let refused: [String: String] = [:]

  private static let extensions: Set<String> = [
    "mp4", "mov", "m4v", "mkv", "webm", "mpg", "mpeg", "ts", "3gp", "gif", "apng", "webp", "png", "jpg",
  ]

  @Test
  func `every video file renders or is refused with one clear message`() async throws {
    var files = try videos(in: Place.repository.appendingPathComponent("Tests/Media"))
    files += try videos(in: Place.repository.appendingPathComponent("Examples/media"))
    if let shared = Place.sharedMedia {
      let all = try videos(in: shared)
      let takesAll = ProcessInfo.processInfo.environment["SHEAF_EXACTNESS"] != nil
      files += all.enumerated().filter { takesAll || $0.offset.isMultiple(of: 9) }.map(\.element)
    } else {
      print("The wide sweep of real media was not made: there is no SHEAF_SHARED_MEDIA and no ../shared/media.")
    }
    let work = try Workspace()
    defer { work.remove() }
    #expect(files.count > 5)
    // Two at a time: much of each is waiting for programs that start.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, file) in files.enumerated() {
        if index >= 2 { try await group.next() }
        group.addTask { try await render(file, number: index, in: work) }
      }
      try await group.waitForAll()
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: work.path("")).filter { $0.contains(".tmp") }
    #expect(left.isEmpty)
  }

  private func render(_ file: URL, number: Int, in work: Workspace) async throws {
    // A line for each frame of the first second.
    let decode = try await Command(
      executable: "ffmpeg",
      arguments: ["-v", "error", "-i", file.path, "-map", "0:v:0", "-t", "1", "-f", "framecrc", "-"]
    ).run()
    let decodes = decode.status == 0 && decode.output.split(separator: "\n").contains { !$0.hasPrefix("#") }
    let film = work.path("film-\(number).mkv")
    // As a clip of at most a second and a half, whatever its length: a still for that long.
    let length = clipLength(try await TestFilm.probe(file.path))
    let edit = try work.write(
      """
      { "sheaf": 1, "assets": { "a": \(quoted(file.path)) },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "a", \(length) } ] } ],
        "videoComposition": { "renderSize": [320, 240], "frameDuration": "1/25" },
        "export": { "video": { "codec": "h264", "preset": "ultrafast" } } }
      """, to: "edit-\(number).json")
    let result = try await TestFilm.render(edit, film)
    let name = file.lastPathComponent
    if let words = Self.refused[name] {
      #expect(result.status == 65 && result.errors.contains(words), "\(name): \(result.status) \(result.errors)")
    } else if decodes {
      #expect(result.status == 0, "\(name): \(result.errors)")
      let frames = try await FrameHashes.video(film).frames
      #expect(frames.count >= 1 && frames.count <= 38, "\(name): \(frames.count) frames")
    } else if result.status != 0 {
      #expect(result.status == 65, "\(name): \(result.status) \(result.errors)")
      #expect(!FileManager.default.fileExists(atPath: film))
      #expect(result.errors.contains("a"), "\(name): \(result.errors)")
    }
  }

  private func clipLength(_ found: AssetDescription?) -> String {
    guard let found else { return "\"use\": \"0..1\"" }
    if found.tracks.contains(where: { $0.video?.isStill == true }) { return "\"duration\": 1.5" }
    return found.duration.approximateSeconds > 1.5 ? "\"use\": \"0..1.5\"" : "\"use\": \"0..\(found.duration)\""
  }

  private func quoted(_ text: String) -> String { "\"\(text.replacingOccurrences(of: "\"", with: "\\\""))\"" }

  private func videos(in folder: URL) throws -> [URL] {
    let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects
    return (found ?? []).compactMap { $0 as? URL }
      .filter { Self.extensions.contains($0.pathExtension.lowercased()) }
      .sorted { $0.path < $1.path }
  }
}

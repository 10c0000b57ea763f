import Foundation
import TestPrograms
import Testing

/// Farms that earlier versions have left, as `scripts/record-farm` records them.
@Suite(.ownThreads) struct CompatibilityTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Compatibility")

  private struct Job: Decodable {
    var job: String
    var name: String
    var state: String
  }

  static func versions() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  @Test(arguments: try versions())
  func `a farm of an earlier version goes on: its films are there, and what was half rendered is finished`(
    version: String
  ) async throws {
    let recorded = Self.folder.appending(path: version)
    let farm = try await Farm(workers: 1, slots: 1, recorded: recorded)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let listed = try await farm.sheaf("status", "--json").run()
    let jobs = try JSONDecoder().decode([Job].self, from: Data(listed.output.utf8))
    let done = try #require(jobs.first { $0.name.contains("done") }, "\(listed.output)")
    let half = try #require(jobs.first { $0.name.contains("half") }, "\(listed.output)")
    #expect(done.state == "done")
    // A worker of its build may have finished it already.
    #expect(["rendering", "done"].contains(half.state))

    // Four seconds of 10 frames, as `ffmpeg` made them.
    let first = files.path("first.mkv")
    #expect(try await farm.sheaf("fetch", done.job, "-o", first).run().status == 0)
    let pattern = recorded.appending(path: "pattern.mkv").path
    let (film, source) = (try await FrameHashes.video(first).frames, try await FrameHashes.video(pattern).frames)
    #expect(film.map(\.hash) == source[10..<50].map(\.hash))

    // No worker of its build comes back, so it is planned again, which takes half a minute.
    try await farm.waitUntil(job: half.job, every: .milliseconds(500)) { $0.state == "done" }
    let (second, local) = (files.path("second.mkv"), files.path("local.mkv"))
    #expect(try await farm.sheaf("fetch", half.job, "-o", second).run().status == 0)
    let document = recorded.appending(path: "half.json").path
    let rendered = try await farm.sheaf(
      "render", document, "-o", local, "--segment-duration", "1", "--store", files.path("own")
    ).run()
    #expect(rendered.status == 0, "\(rendered.errors)")
    #expect(try Data(contentsOf: URL(filePath: second)) == Data(contentsOf: URL(filePath: local)))
  }
}

import Foundation
import Testing

/// *The farm is invisible*, also where a segment is rendered twice at a time.
@Suite(.serialized)
struct SlowSegmentTests {
  @Test
  func `a segment that is stuck on one worker is finished by another and the film is the same`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = Place.example("first-film.json")
    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let stuck = try await farm.workerID(0)
    let job = try await farm.sheaf("submit", edit, "--segment-duration", "1").run().output
      .trimmingCharacters(in: .whitespacesAndNewlines)
    // Near the end, so that nothing is ready soon; by then there is much to be slow beside.
    try await farm.waitUntil(job: job) { found in
      let pictures = found.tasks.filter { $0.kind == "picture" }
      let rendered = pictures.count { $0.state == "done" }
      guard rendered >= 3, rendered >= pictures.count - 5 else { return false }
      try #require(rendered < pictures.count, "the film was made before a picture of worker 0 could be stopped")
      return try await Self.stop(stuck, 0, on: farm)
    }
    try await farm.waitUntil(job: job) { $0.state == "done" }

    // The second lease won, and nobody waited until the first was taken for a hang, which would be charged.
    let doubled = try await farm.query("SELECT kind, epoch, twin_epoch, failed_on FROM sheaf.task WHERE twin_epoch > 0")
    #expect(doubled == ["picture|2|1|{}"])
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("farm.mp4")).run()
    try #require(fetch.status == 0, "\(fetch.errors)")
    let render = try await Command.sheaf(
      "render", edit, "-o", files.path("one.mp4"), "--segment-duration", "1", "--vault", files.path("vault")
    ).run()
    try #require(render.status == 0, "\(render.errors)")
    let expected = try Data(contentsOf: URL(fileURLWithPath: files.path("one.mp4")))
    #expect(expected.count > 100_000)
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("farm.mp4"))) == expected)
    // The stopped process is not left behind: its agent was told that the lease is lost.
    try await eventually("worker 0 to kill what it had stopped") { farm.taskProcesses(ofWorker: 0).isEmpty }
  }

  /// Stops a worker's task process while it renders a picture; its agent lives on and renews the lease. False, and
  /// nothing stopped, if the worker had something else to do.
  private static func stop(_ worker: String, _ index: Int, on farm: Farm) async throws -> Bool {
    let processes = farm.taskProcesses(ofWorker: index)
    for process in processes { kill(process, SIGSTOP) }
    // A result is published when its process has ended, which a stopped one has not: the one lease is this one's.
    let kinds = try await farm.query("SELECT kind FROM sheaf.task WHERE worker = '\(worker)'")
    if kinds == ["picture"], processes.count == 1, processes.allSatisfy(ProcessTree.isStopped) { return true }
    for process in processes { kill(process, SIGCONT) }
    return false
  }
}

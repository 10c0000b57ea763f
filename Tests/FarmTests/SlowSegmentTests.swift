import Foundation
import TestPrograms
import Testing

/// *The farm is invisible*, also where a segment is rendered under two leases at the same time.
@Suite(.ownThreads, .serialized)
struct SlowSegmentTests {
  @Test
  func `a segment that is stuck on one worker is finished by another and the film is the same`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let film = try PatientFilm(gate: files.path("gate"), milliseconds: 2000)
    try film.open(seconds: 7)
    let edit = try files.write(await film.document(), to: "edit.json")
    let farm = try await Farm(workers: 2, slots: 1, worker: PatientFilm.worker)
    defer { farm.stop() }
    let stuck = try await farm.workerID(0)
    let job = try await farm.sheaf("submit", edit, "--segment-duration", "1").run().output
      .trimmingCharacters(in: .whitespacesAndNewlines)
    // Near the end, so that nothing is ready soon; by then enough segments are done to tell that this one is slow.
    try await farm.waitUntil(job: job) { found in
      let videos = found.tasks.filter { $0.kind == "video" }
      let rendered = videos.count { $0.state == "done" }
      guard rendered >= 3, rendered >= videos.count - 6 else { return false }
      return try await Self.stop(stuck, 0, on: farm)
    }
    try film.open()
    try await farm.waitUntil(job: job) { $0.state == "done" }

    // The backup lease won, and before the first was considered hung, which would be counted.
    let backedUp = try await farm.query("SELECT kind, epoch, published_epoch FROM sheaf.task WHERE epoch > 1")
    #expect(backedUp == ["video|2|2"])
    let counted = try await farm.query("SELECT ended_as FROM sheaf.attempt WHERE ended_as <> 'released'")
    #expect(counted == [])
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("farm.mp4")).run()
    try #require(fetch.status == 0, "\(fetch.errors)")
    let render = try await TestFilm.render(
      edit, files.path("one.mp4"), segmentDuration: "1", worker: PatientFilm.worker)
    try #require(render.status == 0, "\(render.errors)")
    let expected = try Data(contentsOf: URL(fileURLWithPath: files.path("one.mp4")))
    #expect(try await FrameHashes.video(files.path("one.mp4")).frames.count == 11 * PatientFilm.rate)
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("farm.mp4"))) == expected)
    // The stopped process is not left behind: its agent is notified that the lease is lost.
    try await eventually("worker 0 to kill what it had stopped") { farm.taskProcesses(ofWorker: 0).isEmpty }
  }

  /// Stops a worker's task process while it renders a segment; its agent goes on and renews the lease. False, with
  /// nothing stopped, if the worker renders no segment.
  private static func stop(_ worker: String, _ index: Int, on farm: Farm) async throws -> Bool {
    let processes = farm.taskProcesses(ofWorker: index)
    for process in processes { kill(process, SIGSTOP) }
    // A result is published when its process has ended, which a stopped one has not: the one lease is this process's.
    let kinds = try await farm.query(
      "SELECT kind FROM sheaf.task JOIN sheaf.lease USING (job, ordinal) WHERE worker = '\(worker)'")
    if kinds == ["video"], processes.count == 1, processes.allSatisfy(ProcessTree.isStopped) { return true }
    for process in processes { kill(process, SIGCONT) }
    return false
  }
}

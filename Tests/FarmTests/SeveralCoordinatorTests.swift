import Foundation
import Glibc
import TestPrograms
import Testing

/// Farms whose clients and workers know several coordinators.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct SeveralCoordinatorTests {
  /// The client is at the coordinator that is ended in the midst of the film, and each worker at any of the two.
  @Test(arguments: [SIGKILL, SIGTERM])
  func `a film is finished at another coordinator, and no segment is rendered twice`(signal: CInt) async throws {
    let farm = try await Farm(coordinators: 2, workers: 3, slots: 1, worker: PatientFilm.worker)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let film = try PatientFilm(gate: files.path("gate"), milliseconds: 300)
    let edit = try files.write(await film.document(), to: "edit.json")
    let submit = farm.sheaf("submit", edit, "--wait", "--segment-duration", "1", "-o", files.path("film.mp4"))
    let submitting = Task { try await submit.run() }
    var job: String?
    try await farm.eventually("the job") {
      job = try await farm.query("SELECT id FROM sheaf.job").first
      return job != nil
    }
    let name = try #require(job)
    try await farm.waitUntil(job: name) { $0.tasks.contains { $0.state == "done" && $0.kind == "video" } }
    farm.endCoordinator(0, with: signal)
    try film.open()
    let submitted = try await submitting.value
    let logs = try farm.logs()
    try #require(submitted.status == 0, "\(submitted.errors)\n\(logs)")
    let rendered = try await TestFilm.render(
      edit, files.path("own.mp4"), segmentDuration: "1", worker: PatientFilm.worker)
    try #require(rendered.status == 0, "\(rendered.errors)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
        == Data(contentsOf: URL(fileURLWithPath: files.path("own.mp4"))))
    let tasks = try await farm.status(of: name, as: Farm.Job.self).tasks
    let started = try (0..<3).reduce(0) { try $0 + farm.tasksStarted(byWorker: $1) }
    #expect(started == tasks.count, "\(logs)")
  }
}

import Foundation
import TestPrograms
import Testing

/// A backup of a farm that works (`docs/operations/backup.md`).
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct BackupTests {
  @Test(arguments: [true, false])
  func `a farm that is restored goes on with its job, whichever part was copied first`(databaseFirst: Bool) async throws
  {
    let files = try Workspace()
    defer { files.remove() }
    let farm = try await Farm(workers: 1, slots: 1, worker: PatientFilm.worker)
    defer { farm.stop() }
    let film = try PatientFilm(gate: files.path("gate"), milliseconds: 400)
    let edit = try files.write(await film.document(), to: "edit.json")
    let submitted = try await farm.sheaf("submit", edit, "--segment-duration", "1").run()
    try #require(submitted.status == 0, "\(submitted.errors)")
    let job = submitted.output.trimmingCharacters(in: .whitespacesAndNewlines)

    var copied = try await segments(of: job, moreThan: 0, in: farm)
    if databaseFirst { try await farm.backUpDatabase(to: files.url) } else { try await farm.backUpStore(to: files.url) }
    copied = try await segments(of: job, moreThan: copied, in: farm)
    if databaseFirst { try await farm.backUpStore(to: files.url) } else { try await farm.backUpDatabase(to: files.url) }

    let fetched = try await farm.sheaf("fetch", job, "-o", files.path("film.mp4")).run()
    #expect(fetched.status != 0, "the job had ended before it was copied")
    try film.open()
    try await farm.waitUntil(job: job) { $0.state == "done" }
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("film.mp4")).run()
    try #require(fetch.status == 0, "\(fetch.errors)")

    let restored = try await Farm(workers: 1, slots: 1, recorded: files.url, worker: PatientFilm.worker)
    defer { restored.stop() }
    #expect(try await restored.status(of: job, as: Farm.Job.self).tasks.count { $0.state == "done" } > 0)
    try await restored.waitUntil(job: job, every: .milliseconds(500)) { $0.state == "done" }
    let again = try await restored.sheaf("fetch", job, "-o", files.path("again.mp4")).run()
    try #require(again.status == 0, "\(again.errors)")
    #expect(FileManager.default.contentsEqual(atPath: files.path("film.mp4"), andPath: files.path("again.mp4")))
  }

  /// Waits until more segments than `count` are done. Returns how many.
  private func segments(of job: String, moreThan count: Int, in farm: Farm) async throws -> Int {
    var done = 0
    try await farm.waitUntil(job: job, every: .milliseconds(200)) {
      done = $0.tasks.count { $0.kind == "video" && $0.state == "done" }
      return done > count
    }
    return done
  }
}

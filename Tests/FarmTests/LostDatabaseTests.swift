import Foundation
import TestPrograms
import Testing

/// *The farm is invisible*, also to a client that waits while the connections to the database are cut.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct LostDatabaseTests {
  @Test
  func `a client that waits gets its film though the database's connections are cut`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let farm = try await Farm(workers: 2, slots: 1, worker: PatientFilm.worker)
    defer { farm.stop() }
    let film = try PatientFilm(gate: files.path("gate"))
    let edit = try files.write(await film.document(), to: "edit.json")
    let submitting = farm.sheaf(
      "submit", edit, "--wait", "-o", files.path("film.mp4"), "--segment-duration", "1")
    async let submitted = submitting.run()
    try await farm.eventually("segments that are being rendered") {
      try await farm.query("SELECT count(*) FROM sheaf.task WHERE kind = 'video' AND state = 'running'") != ["0"]
    }
    for _ in 1...3 {
      let cut = try await farm.query(
        """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """)
      #expect(cut != ["0"])
      try await Task.sleep(for: .seconds(1))
    }
    let left = try await farm.query("SELECT count(*) FROM sheaf.task WHERE kind = 'video' AND state <> 'done'")
    #expect(left != ["0"], "the film was made before the last cut")
    try film.open()
    let result = try await submitted
    #expect(result.status == 0, "\(result.errors)")
    #expect(FileManager.default.fileExists(atPath: files.path("film.mp4")))
  }
}

import Foundation
import Glibc
import TestPrograms
import Testing

/// Farms whose programs are replaced, started and ended in the midst of their work.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct RollingUpdateTests {
  private struct Status: Decodable {
    struct Task: Decodable {
      struct Attempt: Decodable {
        var end: String
        var message: String
      }

      var attempts: [Attempt]
    }

    var state: String
    var tasks: [Task]
  }

  @Test func `all coordinators and workers are updated amid ten jobs, and no task is begun twice`() async throws {
    // As at an update whose tasks may end first.
    let drains = ["SHEAF_DRAIN_SECONDS": "300"]
    let farm = try await Farm(
      coordinators: 2, workers: 3, slots: 1, environments: Array(repeating: drains, count: 3),
      worker: PatientFilm.worker)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    // Tasks end while the gate is closed, but no job does soon.
    let film = try PatientFilm(gate: files.path("gate"), milliseconds: 500)
    try film.open(seconds: 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 {
        let edit = try files.write(
          film.drawing(seconds: 12, number: number), to: "\(number).json")
        let submit = farm.sheaf(
          "submit", edit, "--wait", "--segment-duration", "1", "-o", files.path("\(number).mp4"))
        group.addTask {
          let result = try await submit.run()
          #expect(result.status == 0, "job \(number): \(result.errors)")
        }
      }
      try await farm.eventually("the jobs are under way") {
        try await farm.query("SELECT id FROM sheaf.job WHERE videos_done > 0").count >= 3
      }
      for coordinator in 0..<2 {
        farm.endCoordinator(coordinator, with: SIGTERM)
        try farm.startCoordinator(coordinator)
        // It has begun again when it has written its workers' rows, or the other one has.
        let before = try await farm.query("SELECT count(*) FROM sheaf.task WHERE state = 'done'")
        try await farm.eventually("the jobs go on") {
          try await farm.query("SELECT count(*) FROM sheaf.task WHERE state = 'done'") != before
        }
      }
      for worker in 0..<3 {
        #expect(farm.drainWorker(worker) == 0)
        try farm.startWorker(environment: drains)
      }
      let left = try await farm.query("SELECT id FROM sheaf.job WHERE state <> 'done'")
      #expect(!left.isEmpty, "the jobs were done before the update was")
      try film.open()
      try await group.waitForAll()
    }
    let jobs = try await farm.query("SELECT id FROM sheaf.job")
    try #require(jobs.count == 10)
    var tasks = 0
    for job in jobs {
      let status = try await farm.status(of: job, as: Status.self)
      // A task that was on its way to a worker when its coordinator stopped was not begun.
      let attempts = status.tasks.flatMap(\.attempts)
      #expect(status.state == "done" && attempts.allSatisfy { $0.end == "released" }, "\(status)")
      tasks += status.tasks.count
    }
    let started = try (0..<6).reduce(0) { try $0 + farm.tasksStarted(byWorker: $1) }
    let logs = try farm.logs()
    #expect(started == tasks, "\(logs)")
    for number in [0, 9] {
      let rendered = try await TestFilm.render(
        files.path("\(number).json"), files.path("own.mp4"), segmentDuration: "1", worker: PatientFilm.worker)
      try #require(rendered.status == 0, "\(rendered.errors)")
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: files.path("\(number).mp4")))
          == Data(contentsOf: URL(fileURLWithPath: files.path("own.mp4"))))
    }
  }

  @Test func `workers come with work and leave without it, twice, and no attempt is lost`() async throws {
    let farm = try await Farm(workers: 0, slots: 1, worker: PatientFilm.worker)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    let film = try PatientFilm(gate: files.path("gate"))
    try film.open()
    func desired() async throws -> Bool {
      let reply = try await farm.shell(
        #"curl -sS -H "Authorization: Bearer $SHEAF_TOKEN" "http://$SHEAF_HTTP/v1/workers/desired""#,
        in: files.url.path)
      return !reply.output.contains(#""desiredWorkers":0"#) && reply.output.contains("desiredWorkers")
    }
    for round in 0..<2 {
      #expect(try await !desired(), "nothing is wanted before round \(round)")
      let edit = try files.write(
        film.drawing(seconds: 8, number: 20 + round), to: "\(round).json")
      let submitted = try await farm.sheaf("submit", edit, "--segment-duration", "1").run()
      try #require(submitted.status == 0, "\(submitted.errors)")
      let job = submitted.output.trimmingCharacters(in: .whitespacesAndNewlines)
      try await farm.eventually("workers are wanted") { try await desired() }
      for _ in 0..<2 { try farm.startWorker(environment: ["SHEAF_EXIT_WHEN_IDLE": "2"]) }
      try await farm.eventually("the film is done") {
        try await farm.status(of: job, as: Status.self).state == "done"
      }
      try await farm.eventually("no worker is wanted") { try await !desired() }
      try await farm.eventually("the workers have left") { [2 * round, 2 * round + 1].allSatisfy(farm.hasEnded) }
      let status = try await farm.status(of: job, as: Status.self)
      #expect(status.tasks.allSatisfy { $0.attempts.isEmpty }, "\(status)")
    }
  }
}

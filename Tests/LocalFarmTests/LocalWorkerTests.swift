import Client
import Foundation
import Glibc
import TestPrograms
import Testing

@testable import LocalFarm

/// The worker's part is played by a shell script.
@Suite(.timeLimit(.minutes(10))) struct LocalWorkerTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func worker(_ script: String, environment: [String: String?] = [:]) throws -> LocalWorker {
    LocalWorker(executable: "/bin/sh", arguments: ["-c", script], environment: environment)
  }

  private func text(_ name: String) -> String {
    (try? String(contentsOf: folder.url.appendingPathComponent(name), encoding: .utf8)) ?? ""
  }

  private func waitFor(_ name: String, lines: Int = 1) async throws -> [Substring] {
    while true {
      let found = text(name).split(separator: "\n")
      if found.count >= lines, text(name).hasSuffix("\n") { return found }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test func `a worker that ends is started again and its last message is reported`() async throws {
    let starts = folder.path("starts")
    let worker = try worker("echo start >> '\(starts)'; echo first >&2; echo out of luck >&2; exit 3")
    let error = await #expect(throws: CommandFailure.self) { try await worker.supervise() }
    #expect(error?.code == .work)
    #expect(error?.message.hasSuffix("first\nout of luck") == true, "\(error?.message ?? "")")
    #expect(text("starts").split(separator: "\n").count == LocalWorker.maximumStarts)
  }

  @Test func `the end is seen while another process holds standard error`() async throws {
    let child = folder.path("child")
    let worker = try worker("sleep 600 & echo $! >> '\(child)'; echo gone >&2")
    let error = await #expect(throws: CommandFailure.self) { try await worker.supervise() }
    #expect(error?.message.hasSuffix("gone") == true, "\(error?.message ?? "")")
    for line in text("child").split(separator: "\n") {
      #expect(kill(try #require(pid_t(line)), SIGKILL) == 0, "the process is there, and holds standard error still")
    }
  }

  @Test func `the last bytes of a long log are kept`() async throws {
    let worker = try worker("yes line | head -n 100000 >&2; echo the end >&2")
    let error = await #expect(throws: CommandFailure.self) { try await worker.supervise() }
    #expect(error?.message.hasSuffix("line\nline\nline\nline\nthe end") == true, "\(error?.message ?? "")")
  }

  @Test func `a program that cannot be started is reported`() async throws {
    let worker = LocalWorker(executable: folder.path("none"), arguments: [], environment: [:])
    let error = await #expect(throws: CommandFailure.self) { try await worker.supervise() }
    #expect(error?.message.contains("\(folder.path("none")) cannot be started") == true, "\(error?.message ?? "")")
  }

  @Test func `closing standard input ends the worker`() async throws {
    let (started, ended) = (folder.path("started"), folder.path("ended"))
    let worker = try worker("echo yes > '\(started)'; cat; sleep 0.3; echo yes > '\(ended)'")
    let supervising = Task { try await worker.supervise() }
    _ = try await waitFor("started")
    supervising.cancel()
    try await supervising.value
    // It had the time to end by itself.
    #expect(text("ended") == "yes\n")
  }

  @Test func `a worker that ignores its input is killed`() async throws {
    let started = folder.path("started")
    let worker = try worker("trap '' TERM INT; echo $$ > '\(started)'; while :; do sleep 1; done")
    let supervising = Task { try await worker.supervise() }
    let id = try #require(pid_t(try await waitFor("started")[0]))
    let start = ContinuousClock.now
    supervising.cancel()
    try await supervising.value
    let elapsed = start.duration(to: .now)
    #expect(elapsed >= LocalWorker.grace && elapsed < .seconds(30))
    #expect(kill(id, 0) != 0 && errno == ESRCH)
  }

  @Test func `the worker has a group and an environment of its own`() async throws {
    setenv("SHEAF_TEST_REMOVED", "here", 1)
    setenv("SHEAF_TEST_INHERITED", "here", 1)
    let seen = folder.path("seen")
    let script = """
      { echo $$; cut -d' ' -f5 /proc/$$/stat; echo ".$SHEAF_TEST_REMOVED.$SHEAF_TEST_INHERITED.$SHEAF_TEST_SET."; } \
      > '\(seen)'; cat
      """
    let worker = try worker(script, environment: ["SHEAF_TEST_REMOVED": nil, "SHEAF_TEST_SET": "there"])
    let supervising = Task { try await worker.supervise() }
    let lines = try await waitFor("seen", lines: 3)
    supervising.cancel()
    try await supervising.value
    #expect(lines[0] == lines[1])
    #expect(lines[2] == "..here.there.")
  }
}

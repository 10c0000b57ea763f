import Digest
import Foundation
import TestPrograms
import Testing

@testable import Worker

/// The agent's end of a task process, with shell scripts that behave as no honest task process would.
@Suite(.timeLimit(.minutes(10)))
struct TaskProcessTests {
  private static let ready = #"printf '\000\000\000\002\001\003' >&0"#
  private static let finished = #"printf '\000\000\000\001\004' >&0"#

  @Test
  func `a process that says it is finished and exits has made its output`() async throws {
    let folder = try TemporaryFolder()
    let (output, _) = try OpenFile.unnamed(in: folder.url.path)
    let process = try TaskProcess(Place.script("\(Self.ready); read x; \(Self.finished)"))
    process.assign(TaskOrder(payload: [10], inputs: []), inputs: [], output: output)
    guard case .made(let product) = try await end(of: process).outcome else {
      Issue.record("it made nothing")
      return
    }
    #expect(product.size == 0 && product.digest == .of([]))
  }

  @Test(arguments: [
    ("\(ready); kill -ABRT $$", TaskFailure.Cause.media, "Aborted"),
    ("\(ready); exit 3", .media, "code 3"),
    ("\(ready); \(finished); exit 3", .media, "code 3"),
    ("\(ready); \(finished); printf x >&0; \(finished)", .media, "protocol"),
    ("\(ready); \(ready)", .media, "ready twice"),
    (finished, .media, "before it is ready"),
    ("printf 'GET / HTTP/1.1' >&0", .media, "frame of"),
    ("echo 'no seccomp here' >&2; exit 71", .infrastructure, "no seccomp here"),
    (#"printf '\000\000\000\011\005\002\000\000\000\003ENO' >&0"#, .media, "before it is ready"),
  ])
  func `every other end is a failure with its reason`(script: String, cause: TaskFailure.Cause, reason: String)
    async throws
  {
    let process = try TaskProcess(Place.script(script))
    guard case .failed(let failure) = try await end(of: process).outcome else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.cause == cause && failure.message.contains(reason), "\(failure)")
  }

  @Test
  func `what cannot be started is no fault of the media`() async throws {
    var launcher = Place.script("")
    launcher.executable = "/nonexistent"
    guard case .failed(let failure) = try await end(of: TaskProcess(launcher)).outcome else {
      Issue.record("it started")
      return
    }
    #expect(failure.cause == .infrastructure)
  }

  @Test
  func `a killed process ends at once, and so does one that closes its socket and stays`() async throws {
    let process = try TaskProcess(Place.script("\(Self.ready); sleep 1000"))
    process.kill()
    guard case .killed = try await end(of: process).outcome else {
      Issue.record("it was not killed")
      return
    }
    let mute = try TaskProcess(Place.script("\(Self.ready); exec 0<&-; sleep 1000"))
    guard case .failed = try await end(of: mute).outcome else {
      Issue.record("it did not fail")
      return
    }
  }

  @Test
  func `a process that asks without listening is stopped`() async throws {
    let need =
      #"printf '\000\000\000\031\003\000\000\000\001\000\000\000\000"#
      + #"\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\001' >&0"#
    let process = try TaskProcess(Place.script("\(Self.ready); while :; do \(need); done"))
    guard case .killed = try await end(of: process).outcome else {
      Issue.record("it was not stopped")
      return
    }
  }

  @Test
  func `a process has neither the farm's token nor any descriptor of the agent's`() async throws {
    setenv("SHEAF_TOKEN", "secret", 1)
    defer { unsetenv("SHEAF_TOKEN") }
    // Open, and not closed on exec by itself.
    let leaks = (0..<20).map { _ in open("/dev/null", O_RDONLY) }
    defer { for leak in leaks { close(leak) } }
    let check = #"[ -z "$SHEAF_TOKEN$HOME" ] || exit 50; set -- /proc/$$/fd/*; exit $#"#
    var launcher = ProcessLauncher { ProcessInfo.processInfo.environment[$0] }
    launcher.executable = "/bin/sh"
    launcher.arguments = ["sh", "-c", "\(Self.ready); \(check)"]
    guard case .failed(let failure) = try await end(of: TaskProcess(launcher)).outcome else {
      Issue.record("it did not end with a code")
      return
    }
    // Its own three, and the folder that the shell lists them from.
    #expect(failure.message.contains("code 4") || failure.message.contains("code 3"), "\(failure)")
  }

  @Test
  func `processor time is counted`() async throws {
    let script = "\(Self.ready); i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 1"
    let end = try await end(of: TaskProcess(Place.script(script)))
    #expect(end.cpuMilliseconds > 0 && end.peakKilobytes > 0)
  }

  private func end(of process: TaskProcess) async throws -> TaskEnd {
    let (ends, end) = AsyncStream.makeStream(of: TaskEnd.self)
    process.report { report in
      if case .ended(let ended) = report {
        end.yield(ended)
        end.finish()
      }
    }
    for await ended in ends { return ended }
    throw CancellationError()
  }
}

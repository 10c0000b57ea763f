import Digest
import Foundation
import SwiftProtobuf
import SystemSupport
import TestPrograms
import Testing

@testable import Worker

/// The agent's end of a task process, with shell scripts that behave as no correct task process does.
@Suite(.timeLimit(.minutes(10)))
struct TaskProcessTests {
  private static let ready = Place.sending(.ready([.landlock, .seccomp]))
  private static let finished = Place.sending(.finished)

  @Test
  func `a process that reports that it is finished and exits has made its output`() async throws {
    let folder = try TemporaryFolder()
    let (output, _) = try OpenFile.unnamed(in: folder.url.path)
    let process = try TaskProcess(Place.script("\(Self.ready); read x; \(Self.finished)"))
    process.assign(.with { $0.payload = Data([10]) }, inputs: [], output: output)
    guard case .made(let product) = try await end(of: process).outcome else {
      Issue.record("it made nothing")
      return
    }
    #expect(product.content == Content(digest: .of([]), size: 0))
  }

  @Test(arguments: [
    ("\(ready); kill -ABRT $$", AttemptEnd.crashed, "Aborted"),
    ("\(ready); exit 3", .crashed, "code 3"),
    ("\(ready); \(finished); exit 3", .crashed, "code 3"),
    ("\(ready); \(finished); printf x >&0; \(finished)", .crashed, "protocol"),
    ("\(ready); \(ready)", .crashed, "ready twice"),
    (finished, .crashed, "before it is ready"),
    ("printf 'GET / HTTP/1.1' >&0", .crashed, "message of"),
    ("echo 'no seccomp here' >&2; exit 71", .released, "no seccomp here"),
    (Place.sending(.failed(TaskFailure(.document, "ENO"))), .crashed, "before it is ready"),
    ("\(ready); \(Place.sending(.failed(TaskFailure(.media, "frame 7 is damaged"))))", .media, "frame 7 is damaged"),
    ("\(ready); \(Place.sending(.failed(TaskFailure(.document, "no such codec"))))", .document, "no such codec"),
    ("\(ready); \(Place.sending(.failed(TaskFailure(.released, "the disk is full"))))", .released, "the disk is full"),
  ])
  func `every other end is a failure with its reason`(script: String, expected: AttemptEnd, reason: String)
    async throws
  {
    let process = try TaskProcess(Place.script(script))
    let end = try await end(of: process)
    guard case .failed(let failure) = end.outcome else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.end == expected && failure.message.contains(reason), "\(failure)")
    #expect(failure.process != nil && failure.process == end.process, "how the process ended goes with the failure")
  }

  @Test
  func `a failure has the exit code or the signal, the use of memory, and the end of the log`() async throws {
    let exited = try await failure("\(Self.ready); echo first >&2; echo second >&2; exit 3").process
    #expect(exited?.exitCode == 3 && exited?.signal == 0 && exited?.log == "first\nsecond\n")
    #expect((exited?.peakBytes ?? 0) > 100_000, "in bytes: a shell takes more than 100 KB")

    let killed = try await failure("\(Self.ready); kill -SEGV $$").process
    #expect(killed?.exitCode == 0 && killed?.signal == SIGSEGV && killed?.log == "")
  }

  @Test
  func `a log is its last 4096 bytes, in UTF-8 and without control characters`() async throws {
    let long = "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo \"line $i\" >&2; done"
    let log = try await failure("\(Self.ready); \(long); exit 3").process?.log ?? ""
    #expect(log.utf8.count > 4000 && log.utf8.count <= TaskChannel.logLimit && log.hasSuffix("line 999\nline 1000\n"))

    let hostile = #"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '\377\033\0007'; done >&2"#
    let cleaned = try await failure("\(Self.ready); \(hostile); exit 3").process?.log ?? ""
    #expect(cleaned.utf8.count <= TaskChannel.logLimit && Set(cleaned) == ["\u{fffd}", "7"], "\(Set(cleaned))")
  }

  @Test
  func `a task whose process cannot be started is released`() async throws {
    var launcher = Place.script("")
    launcher.executable = "/nonexistent"
    guard case .failed(let failure) = try await end(of: TaskProcess(launcher)).outcome else {
      Issue.record("it started")
      return
    }
    #expect(failure.end == .released)
  }

  @Test
  func `a killed process ends at once, and so does one that closes its socket and stays`() async throws {
    let process = try TaskProcess(Place.script("\(Self.ready); sleep 1000"))
    process.kill()
    guard case .killed = try await end(of: process).outcome else {
      Issue.record("it was not killed")
      return
    }
    _ = try await failure("\(Self.ready); exec 0<&-; sleep 1000")
  }

  @Test
  func `a process that requests without end is ended as one that broke the protocol`() async throws {
    let request = Place.sending(.rangeRequest(RangeRequest(request: 1, input: 0, range: 0..<1)))
    let failure = try await failure("\(Self.ready); while :; do \(request); done")
    #expect(failure.end == .crashed && failure.message.contains("unanswered requests"), "\(failure)")
    #expect(failure.process?.signal == SIGKILL)
  }

  @Test
  func `a process that requests and does not read the replies is ended as one that broke the protocol`() async throws {
    let request = Place.sending(.rangeRequest(RangeRequest(request: 1, input: 0, range: 0..<1)))
    let process = try TaskProcess(Place.script("\(Self.ready); while :; do \(request); done"))
    let reason = String(repeating: "x", count: 8192)
    let ended: TaskEnd = await withCheckedContinuation { continuation in
      process.report { report in
        switch report {
        case .rangeRequest(let request): process.reply(to: request, error: reason)
        case .ended(let end): continuation.resume(returning: end)
        case .ready, .progress, .moved: break
        }
      }
    }
    guard case .failed(let failure) = ended.outcome else {
      Issue.record("it was not ended")
      return
    }
    #expect(failure.end == .crashed && failure.message.contains("does not read"), "\(failure)")
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
  func `the end of a task process has its processor time`() async throws {
    let script = "\(Self.ready); i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 1"
    let process = try await failure(script).process
    #expect((process?.cpuMilliseconds ?? 0) > 0 && (process?.peakBytes ?? 0) > 0)
  }

  private func failure(_ script: String) async throws -> TaskFailure {
    let outcome = try await end(of: TaskProcess(Place.script(script))).outcome
    guard case .failed(let failure) = outcome else { throw ControlError("it did not fail: \(outcome)") }
    return failure
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

import Digest
import FarmModel
import Foundation
import Media
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
    ("\(ready); kill -KILL $$", .killed, "MiB at its peak"),
    ("\(ready); exec 0<&-; sleep 1000", .crashed, "did not end"),
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
    ("\(ready); \(Place.sending(.failed(TaskFailure(.exhausted, "no memory"))))", .exhausted, "no memory"),
  ])
  func `every other end is a failure with its reason`(script: String, expected: AttemptEnd, reason: String)
    async throws
  {
    let process = try TaskProcess(Place.script(script), closingTime: .seconds(1))
    let end = try await end(of: process)
    guard case .failed(let failure) = end.outcome else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.end == expected && failure.message.contains(reason), "\(failure)")
    #expect(failure.process != nil && failure.process == end.process, "how the process ended goes with the failure")
  }

  /// A process that has closed its socket, and whose fork server ends without a report of it.
  private final class LostProcess: ProcessSource, StartedProcess {
    private let killed = DispatchSemaphore(value: 0)

    func start(control: OpenFile, standardError: OpenFile) throws(SystemError) -> any StartedProcess { self }

    func kill() { killed.signal() }

    func awaitEnd() -> ProcessEnd? {
      killed.wait()
      return nil
    }
  }

  @Test
  func `a process that ended unseen, because its fork server was stopped, is released`() async throws {
    let end = try await end(of: TaskProcess(LostProcess(), closingTime: .milliseconds(100)))
    guard case .failed(let failure) = end.outcome else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.end == .released && failure.message.contains("fork server"), "\(failure)")
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
  func `a process may allocate as much as its limit, and no more`() async throws {
    var launcher = Place.script("\(Self.ready); [ \"$(ulimit -d) $(ulimit -Hd)\" = '65536 65536' ] && exit 3")
    launcher.memoryLimit = 64 << 20
    let end = try await end(of: TaskProcess(launcher, closingTime: .seconds(1)))
    #expect(end.process?.exitCode == 3)
  }

  @Test
  func `a share of the machine's memory is that of its control groups or its own limits if they have less`() {
    let gibibyte: Int64 = 1 << 30
    let unified = MachineMemory.groupFiles(inGroups: "1:name=systemd:/\n0::/a.slice/b\n")
    #expect(
      unified == [
        "/sys/fs/cgroup/a.slice/b/memory.max", "/sys/fs/cgroup/a.slice/memory.max", "/sys/fs/cgroup/memory.max",
      ])
    let separate = MachineMemory.groupFiles(inGroups: "4:cpu,memory:/b\n3:cpuset:/c\n0::/\n")
    #expect(
      separate == [
        "/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory.max",
      ])
    #expect(MachineMemory.limit(inFile: "max\n") == nil && MachineMemory.limit(inFile: "9223372036854771712\n") == nil)
    #expect(MachineMemory.limit(inFile: "4294967296\n") == 4 * gibibyte && MachineMemory.limit(inFile: "") == nil)
    #expect(MachineMemory.total(inFile: "MemTotal:       24000000 kB\nMemFree: 1 kB\n") == 24_000_000 << 10)
    #expect(MachineMemory.total(inFile: "MemFree: 1 kB\n") == nil)
    #expect(MachineMemory(shared: 40 * gibibyte, ofProcess: nil).share(ofSlots: 4) == 9 * gibibyte)
    #expect(MachineMemory(shared: 4 * gibibyte, ofProcess: nil).share(ofSlots: 64) == 2 * gibibyte)
    #expect(MachineMemory(shared: 40 * gibibyte, ofProcess: gibibyte).share(ofSlots: 4) == gibibyte)
    #expect(MachineMemory(shared: nil, ofProcess: nil).share(ofSlots: 4) == 0)
  }

  @Test
  func `a process that the kernel killed for memory ends as killed, with its peak`() throws {
    let (agent, process) = try OpenFile.socketPair()
    let channel = TaskChannel(socket: agent, wakeUp: agent, standardError: process) { _ in }
    let killed = ProcessEnd(exitCode: 0, signal: SIGKILL, cpuMilliseconds: 1, peakBytes: 3 << 30)
    let end = TaskEnd(channel, process: killed, isShortOfMemory: true, output: nil)
    guard case .failed(let failure) = end.outcome else {
      Issue.record("it did not fail")
      return
    }
    let message = "the kernel killed the task process, most likely for lack of memory: 3072 MiB at its peak"
    #expect(failure == TaskFailure(.killed, message, process: killed))
  }

  @Test
  func `the kernel's count of kills is read from its files`() {
    #expect(MemoryKills.count(inCounters: "low 0\nhigh 2\noom 1\noom_kill 7\noom_group_kill 9\n") == 7)
    #expect(MemoryKills.count(inCounters: "low 0\n") == nil)
    #expect(MemoryKills.path(inGroups: "1:cpu:/x\n0::/system.slice/sheaf.service\n") == "/system.slice/sheaf.service")
    #expect(MemoryKills.path(inGroups: "0::/\n") == "" && MemoryKills.path(inGroups: "1:cpu:/\n") == nil)
    let (none, seven) = (MemoryKills(count: nil), MemoryKills(count: 7))
    #expect(MemoryKills(count: 8).mayHaveRisen(since: seven) && !seven.mayHaveRisen(since: seven))
    #expect(none.mayHaveRisen(since: none), "a kernel that does not tell may have done it")
  }

  @Test
  func `a task process reports liveness before there is any progress`() async throws {
    let film = try Data(contentsOf: Place.media("friday.mp4"))
    let folder = try TemporaryFolder()
    let (input, _) = try OpenFile.unnamed(in: folder.url.path)
    let (output, _) = try OpenFile.unnamed(in: folder.url.path)
    let process = try TaskProcess(Place.forkServer)
    let task = Control_Task.with {
      $0.payload = Data(#"{"probe":{}}"#.utf8)
      $0.inputs = [
        .with {
          $0.digest = Data(SHA256Digest.of(film).bytes)
          $0.size = Int64(film.count)
          $0.ranged = true
        }
      ]
    }
    process.assign(task, inputs: [try input.reopenedForReading()], output: output)
    let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { report.yield($0) }
    var requests = 0
    loop: for await report in reports {
      switch report {
      case .rangeRequest(let request):
        requests += 1
        // The second is never answered: the process stands still with what it has read.
        guard requests == 1 else { continue }
        let range = request.range.clamped(to: 0..<Int64(film.count))
        let part = film.subdata(in: Int(range.lowerBound)..<Int(range.upperBound))
        try part.withUnsafeBytes { try input.write($0, at: range.lowerBound) }
        let blocks = BlockDigests.list(of: film)[ContentBlock.covering(range)]
        process.reply(to: request, blocks: blocks)
      case .progress(let done, let moved):
        #expect(done == 0 && moved > 0)
        process.kill()
      case .ended(let end):
        guard case .killed = end.outcome else { throw ControlError("\(end.outcome)") }
        break loop
      case .ready, .moved, .blocksRead, .wrongBytes: break
      }
    }
  }

  @Test
  func `a task whose output cannot be written because the disk is full is released`() throws {
    let film = try OpenFile.open(Place.media("friday.mp4").path)
    let runner = TaskRunner(
      inputs: [
        TaskRunner.Input(digest: nil, name: "film", source: FileByteSource(descriptor: dup(film.descriptor)))
      ], output: try OpenFile.open("/dev/full", O_WRONLY))
    let failure = #expect(throws: TaskFailure.self) {
      try runner.run(Data(#"{"probe":{}}"#.utf8), liveness: Liveness()) { _ in }
    }
    #expect(failure?.end == .released && failure?.message.contains("No space left") == true, "\(failure as Any)")
  }

  @Test
  func `a killed process ends at once`() async throws {
    let process = try TaskProcess(Place.script("\(Self.ready); sleep 1000"))
    process.kill()
    guard case .killed = try await end(of: process).outcome else {
      Issue.record("it was not killed")
      return
    }
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
        case .ready, .progress, .moved, .blocksRead, .wrongBytes: break
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

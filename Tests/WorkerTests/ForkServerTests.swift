import FarmModel
import Foundation
import SystemSupport
import TestPrograms
import Testing

@testable import Worker

/// The process that forks the task processes.
@Suite(.timeLimit(.minutes(10)))
struct ForkServerTests {
  @Test
  func `a fork server reports the build that renders, the same each time`() throws {
    let build = try Place.forkServer.properties().build
    #expect(build.contains("avcodec") && build.contains(" libraries-") && !build.contains("fonts"), "\(build)")
    #expect(try ForkServer(Place.workerLauncher).properties().build == build)
  }

  @Test
  func `a fork server that cannot start is an error with its reason`() {
    #expect(throws: SystemError.self) { try ForkServer(Place.script("exit 3")).properties() }
    let error = #expect(throws: SystemError.self) {
      try ForkServer(Place.script("echo 'no such library' >&2; exit 3")).properties()
    }
    let message = error.map { "\($0)" } ?? ""
    #expect(message.contains("no such library") && message.contains("code 3"), "\(message)")
  }

  @Test
  func `a fork server that breaks the protocol is ended`() {
    #expect(throws: SystemError.self) {
      try ForkServer(Place.script("printf 'GET / HTTP/1.1' >&0; sleep 1000")).properties()
    }
  }

  @Test
  func `each task process is a new one, is confined, and ends when it is killed`() async throws {
    var seen: Set<Confinement> = []
    for _ in 0..<3 {
      let process = try TaskProcess(Place.forkServer)
      let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
      process.report { report.yield($0) }
      loop: for await report in reports {
        switch report {
        case .ready(let confinement):
          seen.insert(confinement)
          process.kill()
        case .ended(let end):
          guard case .killed = end.outcome else { throw ControlError("\(end.outcome)") }
          #expect(end.process?.signal == SIGKILL)
          break loop
        case .progress, .moved, .rangeRequest, .blocksRead, .wrongBytes: throw ControlError("it did something")
        }
      }
    }
    // Seccomp always, Landlock where the kernel has it.
    #expect(seen.count == 1 && seen.allSatisfy { $0.contains(.seccomp) })
  }

  @Test
  func `if the fork server ends, its processes end, and the next task gets another fork server`() async throws {
    let server = ForkServer(Place.workerLauncher)
    let process = try TaskProcess(server)
    let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { report.yield($0) }
    loop: for await report in reports {
      switch report {
      case .ready: server.kill()
      case .ended(let end):
        guard case .failed(let failure) = end.outcome else { throw ControlError("\(end.outcome)") }
        #expect(failure.end == .released && failure.process == nil, "\(failure)")
        break loop
      case .progress, .moved, .rangeRequest, .blocksRead, .wrongBytes: throw ControlError("it did something")
      }
    }
    #expect(try server.properties().build == Place.forkServer.properties().build)
  }

  @Test
  func `a task that comes when the fork server has just ended has a process of another one`() async throws {
    let server = ForkServer(Place.workerLauncher)
    for _ in 0..<3 {
      _ = try server.properties()
      server.kill()
      let process = try TaskProcess(server)
      let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
      process.report { report.yield($0) }
      loop: for await report in reports {
        switch report {
        case .ready: process.kill()
        case .ended(let end):
          guard case .killed = end.outcome else { throw ControlError("\(end.outcome)") }
          break loop
        case .progress, .moved, .rangeRequest, .blocksRead, .wrongBytes: throw ControlError("it did something")
        }
      }
    }
  }

  @Test
  func `two hundred task processes start one after the other`() async throws {
    let server = ForkServer(Place.workerLauncher)
    _ = try server.properties()
    for _ in 0..<TestExtent.of(50, whole: 200) {
      let process = try TaskProcess(server)
      let ended: TaskEnd = await withCheckedContinuation { continuation in
        process.report { report in
          switch report {
          case .ready: process.kill()
          case .ended(let end): continuation.resume(returning: end)
          case .progress, .moved, .rangeRequest, .blocksRead, .wrongBytes: break
          }
        }
      }
      guard case .killed = ended.outcome else { throw ControlError("\(ended.outcome)") }
      // About 2 ms; the limit notices a task process that loads the libraries anew on a busy machine.
      #expect(ended.process.map { $0.cpuMilliseconds < 200 } == true, "\(String(describing: ended.process))")
    }
  }
}

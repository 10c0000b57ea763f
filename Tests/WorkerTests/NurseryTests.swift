import Foundation
import Testing

@testable import Worker

/// The process that task processes come from.
@Suite(.timeLimit(.minutes(10)))
struct NurseryTests {
  @Test
  func `it says what renders here, the same each time`() throws {
    let identity = try Place.nursery.greeting().identity
    #expect(identity.contains("avcodec") && identity.contains("fonts-"), "\(identity)")
    var launcher = ProcessLauncher { ProcessInfo.processInfo.environment[$0] }
    launcher.executable = Place.worker
    #expect(try Nursery(launcher).greeting().identity == identity)
  }

  @Test
  func `one that cannot start says why`() {
    #expect(throws: SystemError.self) { try Nursery(Place.script("exit 3")).greeting() }
    do {
      _ = try Nursery(Place.script("echo 'no such library' >&2; exit 3")).greeting()
    } catch {
      #expect("\(error)".contains("no such library") && "\(error)".contains("code 3"), "\(error)")
    }
  }

  @Test
  func `its processes are each another one, confined, and end by a kill`() async throws {
    var seen: Set<UInt8> = []
    for _ in 0..<3 {
      let process = try TaskProcess(Place.nursery)
      let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
      process.report { report.yield($0) }
      loop: for await report in reports {
        switch report {
        case .ready(let confinement):
          seen.insert(confinement)
          process.kill()
        case .ended(let end):
          guard case .killed = end.outcome else { throw ControlError("\(end.outcome)") }
          break loop
        case .progress, .need: throw ControlError("it did something")
        }
      }
    }
    // Seccomp always, Landlock where the kernel has it.
    #expect(seen.count == 1 && seen.allSatisfy { $0 & 2 != 0 })
  }

  @Test
  func `where it dies, its processes die, and the next task gets another nursery`() async throws {
    var launcher = ProcessLauncher { ProcessInfo.processInfo.environment[$0] }
    launcher.executable = Place.worker
    let nursery = Nursery(launcher)
    let process = try TaskProcess(nursery)
    let (reports, report) = AsyncStream.makeStream(of: TaskProcess.Report.self)
    process.report { report.yield($0) }
    loop: for await report in reports {
      switch report {
      case .ready: nursery.kill()
      case .ended(let end):
        guard case .failed(let failure) = end.outcome else { throw ControlError("\(end.outcome)") }
        #expect(failure.cause == .infrastructure, "\(failure)")
        break loop
      case .progress, .need: throw ControlError("it did something")
      }
    }
    #expect(try nursery.greeting().identity == Place.nursery.greeting().identity)
  }
}

import Foundation
import TestPrograms
import Testing

@testable import Worker

/// What a task process can and cannot do once it is confined, as the worker that was built reports it.
struct ConfinementTests {
  @Test
  func `a confined process reaches no network, no program and no file that it was not given`() throws {
    let report = try Self.report()
    for refused in [
      "write a file", "remove a file", "open an internet socket", "open a local socket", "start a process",
      "become another program", "signal the parent", "read another process's environment",
    ] {
      #expect(report[refused]?.hasPrefix("refused") == true, "\(refused): \(report[refused] ?? "not tried")")
    }
    #expect(report["start a thread"] == "allowed")
    #expect(report["read a font folder"] == "allowed")
    // Kernels without Landlock leave this one open; the report and the agent's log show it.
    if report["in force"] == "seccomp, Landlock" {
      #expect(report["read /etc/passwd"]?.hasPrefix("refused") == true)
    } else {
      print("this kernel has no Landlock: reading other files is not refused here")
    }
  }

  @Test
  func `without Landlock, writing, sockets and programs are refused all the same`() throws {
    let report = try Self.report("--without-landlock")
    #expect(report["in force"] == "seccomp")
    for refused in ["write a file", "open an internet socket", "start a process", "become another program"] {
      #expect(report[refused]?.hasPrefix("refused") == true, "\(refused): \(report[refused] ?? "not tried")")
    }
  }

  private static func report(_ arguments: String...) throws -> [String: String] {
    let text = String(decoding: try Tool.run(Place.worker, ["confinement"] + arguments).output, as: UTF8.self)
    return Dictionary(
      uniqueKeysWithValues: text.split(separator: "\n").compactMap { line in
        line.range(of: ": ").map { (String(line[..<$0.lowerBound]), String(line[$0.upperBound...])) }
      })
  }
}

import Foundation
import Glibc
import SwiftProtobuf
import TestCoordinator
import TestPrograms
import Testing
import Wire

/// `sheaf top` on a pseudo-terminal, with a coordinator that a test writes.
@Suite(.timeLimit(.minutes(10))) struct TopProgramTests {
  private static func farm() -> ScriptedFarm {
    ScriptedFarm { message, _ in
      if case .workersQuery = message {
        let worker = Sheaf_WorkersReply.Worker.with { ($0.name, $0.id, $0.slots, $0.busy) = ("anna", "id-a", 4, 2) }
        return [.send(.workersReply(.with { $0.workers = [worker] }))]
      }
      guard case .statusQuery(let query) = message else { return [] }
      let isActive = query.states.contains(.rendering)
      let names = isActive ? ["zebra.json", "ant.json"] : []
      return [
        .send(
          .statusReply(
            .with {
              $0.jobs = names.map { name in
                .with {
                  ($0.job, $0.name, $0.state) = ("job-\(name.prefix(1))", name, .rendering)
                  ($0.framesDone, $0.framesTotal, $0.segmentsTotal, $0.running) = (250, 1000, 10, 2)
                  $0.submittedAt = name == "ant.json" ? 2 : 1
                }
              }
            }))
      ]
    }
  }

  private func start(_ terminal: PseudoTerminal, _ farm: ScriptedFarm, noColor: Bool = false) async throws
    -> RunningProgram
  {
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    // In a session of its own, whose terminal it is.
    return try RunningProgram(
      "/usr/bin/setsid", ["-c", products.appendingPathComponent("sheaf").path, "top"],
      environment: [
        "SHEAF_COORDINATOR": await farm.address.description, "SHEAF_TOKEN": "", "TERM": "xterm-256color",
        "NO_COLOR": noColor ? "1" : "",
      ],
      streams: .init(input: terminal.program, output: terminal.program, errors: terminal.program))
  }

  @Test func `the picture fits the terminal, follows its size and the keys, and q restores the terminal`() async throws
  {
    let farm = Self.farm()
    try await farm.start()
    let terminal = try PseudoTerminal(width: 80, height: 24)
    #expect(!terminal.isRaw)
    let program = try await start(terminal, farm)
    await terminal.wait { $0.contains("zebra.json") }
    #expect(terminal.isRaw && terminal.output.contains("\u{1B}[?1049h") && terminal.output.contains("\u{1B}[32m"))
    var picture = terminal.picture(width: 80, height: 24)
    #expect(picture[0].hasPrefix("sheaf top  127.0.0.1:") && picture[0].hasSuffix(" UTC"))
    #expect(picture.contains { $0.contains("anna") && $0.contains("2/4") }, "\(picture)")
    #expect(picture.contains { $0.contains("zebra.json") && $0.contains("25 %") }, "\(picture)")
    #expect(picture[23] == "q quit  sort: [o order]  n name  p progress  r rate  a age")
    terminal.press("n")
    await terminal.wait { $0.contains("[n name]") }
    picture = terminal.picture(width: 80, height: 24)
    let (ant, zebra) = (
      picture.firstIndex { $0.contains("ant.json") }, picture.firstIndex { $0.contains("zebra.json") }
    )
    #expect(try #require(ant) < #require(zebra))
    let before = terminal.output.count
    terminal.resize(width: 60, height: 20)
    await terminal.wait { $0.dropFirst(before).contains("\u{1B}[20;1H") }
    #expect(terminal.picture(width: 60, height: 20)[19].hasPrefix("q quit"))
    // Nothing that has not changed is written again: that is why it does not flicker.
    #expect(
      terminal.output.components(separatedBy: "anna").count < terminal.output.components(separatedBy: " UTC").count + 3)
    terminal.press("q")
    #expect(await program.end() == 0)
    await terminal.wait { $0.hasSuffix("\u{1B}[?25h\u{1B}[?1049l") }
    #expect(!terminal.isRaw)
    await farm.stop()
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func `a signal restores the terminal`(
    signal: Int32, code: Int
  ) async throws {
    let farm = Self.farm()
    try await farm.start()
    let terminal = try PseudoTerminal(width: 60, height: 20)
    let program = try await start(terminal, farm, noColor: true)
    await terminal.wait { $0.contains("zebra.json") }
    #expect(!terminal.output.contains(/\u{1B}\[[1-9][0-9]*m/))
    if signal == SIGINT { terminal.press("\u{03}") } else { program.send(signal) }
    #expect(await program.end() == Int32(code))
    await terminal.wait { $0.contains("\u{1B}[?25h\u{1B}[?1049l") }
    #expect(!terminal.isRaw)
    await farm.stop()
  }

  @Test func `without a terminal one picture is printed as text`() async throws {
    let farm = Self.farm()
    try await farm.start()
    let folder = try TemporaryFolder()
    let output = try folder.create("output")
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let program = try RunningProgram(
      products.appendingPathComponent("sheaf").path, ["top"],
      environment: ["SHEAF_COORDINATOR": await farm.address.description, "SHEAF_TOKEN": ""],
      streams: .init(output: output.fileDescriptor))
    #expect(await program.end() == 0)
    let text = try String(contentsOfFile: folder.path("output"), encoding: .utf8)
    #expect(
      text.hasPrefix("sheaf top  127.0.0.1:") && text.contains("zebra.json") && !text.contains("\u{1B}"), "\(text)")
    await farm.stop()
  }
}

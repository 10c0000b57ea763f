import ArgumentParser
import FoundationEssentials
import Testing

@testable import Coordinator

/// The words of `--help`, kept in Help/: a change to the command line is seen as one.
struct HelpTests {
  static let commands: [(name: String, type: any ParsableCommand.Type)] = [
    ("sheaf", SheafCommand.self), ("render", RenderCommand.self), ("check", CheckCommand.self),
    ("plan", PlanCommand.self), ("probe", ProbeCommand.self), ("serve", ServeCommand.self),
    ("submit", SubmitCommand.self), ("status", StatusCommand.self), ("workers", WorkersCommand.self),
    ("cancel", CancelCommand.self), ("fetch", FetchCommand.self),
  ]

  /// With SHEAF_RECORD_HELP set the files are written instead.
  @Test(arguments: commands.map(\.name)) func theHelpIsWhatWasAgreed(name: String) throws {
    let command = try #require(Self.commands.first { $0.name == name })
    let help = SheafCommand.helpMessage(for: command.type, columns: 100) + "\n"
    let folder = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Help"
    if ProcessEnvironment.value("SHEAF_RECORD_HELP") != nil {
      try Data(help.utf8).write(to: URL(filePath: "\(folder)/\(name).txt"))
      return
    }
    let agreed = try FileBytes.read("\(folder)/\(name).txt", limit: 1 << 20)
    #expect(help == String(decoding: agreed, as: UTF8.self))
  }

  @Test func everyOptionNamesItsVariable() {
    for (name, type) in Self.commands where name != "sheaf" {
      // An option and the words that follow it, on its line or the next.
      let entries = SheafCommand.helpMessage(for: type, columns: 1000).split(separator: "\n  -").dropFirst()
      let options = entries.filter { !$0.contains("-help ") && !$0.contains("-version ") }
      for option in options { #expect(option.contains("[SHEAF_"), "\(name): \(option)") }
    }
  }
}

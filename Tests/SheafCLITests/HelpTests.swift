import ArgumentParser
import Foundation
import SystemSupport
import Testing

@testable import SheafCLI
@testable import SheafServer

/// The texts of `--help` are kept in `Help/`, so that every change of the command line is visible.
struct HelpTests {
  static let commands: [(name: String, type: any ParsableCommand.Type)] = [
    ("sheaf", SheafCommand.self), ("render", RenderCommand.self), ("verify", VerifyCommand.self),
    ("check", CheckCommand.self),
    ("plan", PlanCommand.self), ("estimate", EstimateCommand.self), ("probe", ProbeCommand.self),
    ("presets", PresetsCommand.self), ("schema", SchemaCommand.self),
    ("image", ImageCommand.self), ("waveform", WaveformCommand.self), ("import", ImportCommand.self),
    ("export", ExportCommand.self), ("farm", SheafServer.FarmCommand.self),
    ("serve", SheafServer.ServeCommand.self),
    ("submit", SubmitCommand.self), ("status", StatusCommand.self), ("workers", WorkersCommand.self),
    ("log", LogCommand.self), ("top", TopCommand.self),
    ("cancel", CancelCommand.self), ("fetch", FetchCommand.self), ("retry", RetryCommand.self),
    ("delete", DeleteCommand.self), ("token", TokenCommand.self), ("token-create", CreateTokenCommand.self),
    ("token-list", ListTokensCommand.self), ("token-revoke", RevokeTokenCommand.self), ("audit", AuditCommand.self),
    ("pause", PauseCommand.self), ("resume", ResumeCommand.self), ("priority", PriorityCommand.self),
    ("pool", PoolCommand.self), ("pool-list", ListPoolsCommand.self), ("pool-set", SetPoolCommand.self),
    ("pool-remove", RemovePoolCommand.self), ("pool-move", MoveJobCommand.self),
    ("owners", OwnersCommand.self), ("worker", WorkerGroupCommand.self), ("worker-pause", PauseWorkerCommand.self),
    ("worker-drain", DrainWorkerCommand.self), ("worker-quarantine", QuarantineWorkerCommand.self),
    ("worker-resume", ResumeWorkerCommand.self), ("worker-held", HeldWorkersCommand.self),
    ("ca", AuthorityCommand.self), ("ca-create", CreateAuthorityCommand.self), ("ca-issue", IssueCommand.self),
    ("ca-show", ShowAuthorityCommand.self), ("ca-join-token", JoinTokenCommand.self),
  ]

  /// Those of `farm` and `serve` are of `sheaf-server`, which `sheaf serve --help` executes.
  private static func help(of type: any ParsableCommand.Type, columns: Int) -> String {
    type == SheafServer.ServeCommand.self || type == SheafServer.FarmCommand.self
      ? ServerCommand.helpMessage(for: type, columns: columns) : SheafCommand.helpMessage(for: type, columns: columns)
  }

  /// If `SHEAF_RECORD_HELP` is set, the files are written instead.
  @Test(arguments: commands.map(\.name)) func `the help is the recorded one`(name: String) throws {
    let command = try #require(Self.commands.first { $0.name == name })
    let help = Self.help(of: command.type, columns: 100) + "\n"
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Help/\(name).txt")
    if ProcessEnvironment.value("SHEAF_RECORD_HELP") != nil {
      try Data(help.utf8).write(to: file)
      return
    }
    #expect(help == String(decoding: try Data(contentsOf: file), as: UTF8.self))
  }

  @Test func `every option names its variable`() {
    for (name, type) in Self.commands where name != "sheaf" {
      // An option and the text that follows it, on its line or the next.
      let entries = Self.help(of: type, columns: 1000).split(separator: "\n  -").dropFirst()
      let options = entries.filter { !$0.contains("-help ") && !$0.contains("-version ") }
      for option in options { #expect(option.contains("[SHEAF_"), "\(name): \(option)") }
    }
  }
}

import ArgumentParser
import Glibc
import SystemSupport
import Testing

@testable import SheafCLI
@testable import SheafServer

struct OptionTests {
  @Test func `the command line wins over the environment`() throws {
    setenv("SHEAF_TEST_NUMBER", "7", 1)
    setenv("SHEAF_TEST_EMPTY", "", 1)
    #expect(try Setting.number(nil, "--n", "SHEAF_TEST_NUMBER", in: 1...9) == 7)
    #expect(try Setting.number("3", "--n", "SHEAF_TEST_NUMBER", in: 1...9) == 3)
    #expect(Setting.text(nil, "SHEAF_TEST_EMPTY") == nil)
    #expect(Setting.text("x", "SHEAF_TEST_NUMBER") == "x")
  }

  @Test func `what is not a number is rejected`() {
    setenv("SHEAF_TEST_WORD", "many", 1)
    #expect(throws: SettingError.self) { try Setting.number(nil, "--n", "SHEAF_TEST_WORD", in: 1...9) }
    #expect(throws: SettingError.self) { try Setting.number("0", "--n", "SHEAF_TEST_ABSENT", in: 1...9) }
  }

  /// `ValidationError` is what makes the exit code 64.
  @Test(arguments: [
    ["render", "a.json", "--workers", "none"], ["check", "a.json", "--workers", "0"],
    ["plan", "a.json", "--workers", ""], ["render", "a.json", "--segment-duration", "0"],
    ["plan", "a.json", "--segment-duration", "five"], ["submit", "a.json", "--segment-duration=-1/30"],
    ["probe", "--workers", "0", "a.mov"], ["probe", "--workers", "many", "a.mov"],
    ["submit", "edit.json", "--priority", "high"], ["submit", "edit.json", "--priority", "2147483648"],
    ["workers", "--coordinator", "farm:x"], ["workers", "--coordinator", "farm:0"],
    ["workers", "--token-file", "/nowhere/token"],
    ["serve", "--listen", "0.0.0.0:7433", "--database", "postgres:///x"],
    ["serve", "--http", "0.0.0.0:8080", "--database", "postgres:///x"], ["serve", "--http", "nowhere:x"],
    ["serve"], ["serve", "--database", "postgres:///x", "--max-connections", "0"], ["fetch", "job"],
  ])
  func `a wrong option is a usage error`(arguments: [String]) async throws {
    for name in ["SHEAF_TOKEN", "SHEAF_TOKEN_FILE", "SHEAF_DATABASE", "SHEAF_OUTPUT", "SHEAF_WORKERS"] {
      unsetenv(name)
    }
    // The coordinator's options are those of sheaf-server.
    let parsed =
      arguments[0] == "serve" ? try ServerCommand.parseAsRoot(arguments) : try SheafCommand.parseAsRoot(arguments)
    var command = try #require(parsed as? any AsyncParsableCommand)
    await #expect(throws: ValidationError.self) { try await command.run() }
  }

  @Test func `a negative priority is a number`() throws {
    let command = try #require(
      try SheafCommand.parseAsRoot(["submit", "e.json", "--priority", "-3"]) as? SubmitCommand)
    #expect(command.priority == "-3")
  }

  @Test func `a command to copy has the coordinator and is quoted`() throws {
    let options = try CoordinatorOptions.parse(["--coordinator", "farm:7433", "--token-file", "my token"])
    #expect(
      options.command(["fetch", "j", "-o", "it's a film.mov"])
        == #"sheaf fetch j -o 'it'\''s a film.mov' --coordinator farm:7433 --token-file 'my token'"#)
    #expect(try CoordinatorOptions.parse([]).command(["status", "--watch", "j"]) == "sheaf status --watch j")
  }
}

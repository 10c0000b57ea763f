import ArgumentParser
import FarmAPI
import FarmModel
import Glibc
import SystemSupport
import TestPrograms
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

  private static let wrong = [
    ["render", "a.json", "--workers", "none"], ["check", "a.json", "--workers", "0"],
    ["plan", "a.json", "--workers", ""], ["render", "a.json", "--segment-duration", "0"],
    ["plan", "a.json", "--segment-duration", "five"], ["submit", "a.json", "--segment-duration=-1/30"],
    ["probe", "--workers", "0", "a.mov"], ["probe", "--workers", "many", "a.mov"],
    ["submit", "edit.json", "--priority", "high"], ["submit", "edit.json", "--priority", "2147483648"],
    ["workers", "--coordinator", "farm:x"], ["workers", "--coordinator", "farm:0"],
    ["workers", "--token-file", "/nowhere/token"], ["workers", "--tls-ca", "/nowhere/ca.pem"],
    ["serve", "--database", "postgres:///x", "--tls-key", "/nowhere/key.pem"],
    ["serve", "--listen", "0.0.0.0:7433", "--database", "postgres:///x"],
    ["serve", "--http", "0.0.0.0:8080", "--database", "postgres:///x"], ["serve", "--http", "nowhere:x"],
    ["serve"], ["serve", "--database", "postgres:///x", "--max-connections", "0"], ["fetch", "job"],
  ]

  /// `ValidationError` is what makes the exit code 64.
  @Test(arguments: wrong.spread(7))
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

  private static let now = Timestamp("2026-11-28T04:05:06Z")!

  @Test(arguments: [
    ("2026-11-28T04:05:06.789Z", "2026-11-28T04:05:06.789Z"), ("2026-11-28T04:05:06+01:00", "2026-11-28T03:05:06.000Z"),
    ("2026-02-03", "2026-02-03T00:00:00.000Z"), ("90s", "2026-11-28T04:03:36.000Z"),
    ("15 min", "2026-11-28T03:50:06.000Z"), ("2h", "2026-11-28T02:05:06.000Z"), ("3d", "2026-11-25T04:05:06.000Z"),
  ])
  func `a time is one of RFC 3339, a date or an age`(_ text: String, _ expected: String) throws {
    #expect(try TimeOption.value(text, "--since", now: Self.now)?.description == expected)
  }

  @Test(arguments: ["", "yesterday", "2 years", "-2h", "2026-13-01", "h", "99999999999999999999s", "１h"])
  func `what is no time is a usage error`(_ text: String) {
    #expect(throws: ValidationError.self) { try TimeOption.value(text, "--since", now: Self.now) }
  }

  @Test func `the command of the next jobs selects as this one does, at the same times`() throws {
    let options = try JobListOptions.parse(["--name", "a film", "--since", "2h", "--limit", "5", "--state", "done"])
    let query = try options.query(now: Self.now)
    #expect(query.name == "a film" && query.limit == 5 && query.states == [.done] && query.before == nil)
    #expect(
      options.arguments(after: "j", query) == [
        "--after", "j", "--limit", "5", "--state", "done", "--name", "a film", "--since", "2026-11-28T02:05:06.000Z",
      ])
    #expect(try JobListOptions.parse(["--before", "1h"]).given == "--before")
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

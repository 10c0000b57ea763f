import Foundation
import TestPrograms
import Testing

@testable import SystemSupport

struct ConfigurationFileTests {
  /// As the argument parser describes a program with two commands.
  private static let help = """
    {"command": {"commandName": "sheaf", "subcommands": [
      {"commandName": "serve", "arguments": [
        {"kind": "option", "names": [{"kind": "long", "name": "database"}], "abstract": "Rows. Required. [SHEAF_DATABASE]"},
        {"kind": "option", "names": [{"kind": "short", "name": "o"}, {"kind": "long", "name": "min-free"}],
         "abstract": "Bytes. [SHEAF_MIN_FREE]"},
        {"kind": "option", "names": [{"kind": "long", "name": "host"}], "abstract": "Names. [SHEAF_HOSTS, with commas]"},
        {"kind": "option", "names": [{"kind": "long", "name": "token-file"}],
         "abstract": "A file [of one line]. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]"},
        {"kind": "option", "names": [{"kind": "long", "name": "name"}], "abstract": "Its name. [SHEAF_NAME]"},
        {"kind": "flag", "names": [{"kind": "long", "name": "insecure"}], "abstract": "Plain. [SHEAF_INSECURE]"},
        {"kind": "option", "names": [{"kind": "long", "name": "hidden"}]}]},
      {"commandName": "status", "arguments": [
        {"kind": "option", "names": [{"kind": "long", "name": "name"}], "abstract": "Jobs. [SHEAF_JOB_NAME]"},
        {"kind": "option", "names": [{"kind": "long", "name": "set"}], "abstract": "A. [SHEAF_SET, one on each line]"}]}]}}
    """

  private func values(_ text: String, _ arguments: [String] = ["serve"]) throws -> [String: String] {
    let options = try ConfigurationFile.options(in: Self.help, arguments)
    return Dictionary(
      uniqueKeysWithValues: try ConfigurationFile.values(of: Array(text.utf8), for: options).map {
        ($0.variable, $0.value)
      })
  }

  @Test func `each option sets its variable, in the form that the variable has`() throws {
    let text = """
      // JSON5
      { database: 'postgres:///sheaf', "min-free": 17000000000, host: ["a.example", "192.0.2.7"], insecure: true,
        "token-file": "/run/token", /* and */ name: 2.5, }
      """
    #expect(
      try values(text) == [
        "SHEAF_DATABASE": "postgres:///sheaf", "SHEAF_MIN_FREE": "17000000000", "SHEAF_HOSTS": "a.example,192.0.2.7",
        "SHEAF_INSECURE": "true", "SHEAF_TOKEN_FILE": "/run/token", "SHEAF_NAME": "2.5",
      ])
    #expect(try values("{insecure: false, host: []}") == ["SHEAF_INSECURE": "false", "SHEAF_HOSTS": ""])
    #expect(try values("{set: [\"a=1\", \"b=2\"]}", ["--x", "status", "job"]) == ["SHEAF_SET": "a=1\nb=2"])
  }

  @Test func `options are described for a file alone`() throws {
    var described = 0
    func help() -> String {
      described += 1
      return Self.help
    }
    try ConfigurationFile.apply(["serve", "--name", "n"], help: help())
    #expect(described == 0)
    let folder = try TemporaryFolder()
    let file = try folder.write(Data("{}".utf8), "sheaf.json")
    try ConfigurationFile.apply(["serve", "--config", file], help: help())
    #expect(described == 1)
  }

  @Test func `options of the other commands are known and not set`() throws {
    let text = "{database: \"d\", name: \"n\", set: \"a=1\"}"
    #expect(try values(text, ["serve"]) == ["SHEAF_DATABASE": "d", "SHEAF_NAME": "n"])
    #expect(try values(text, ["status"]) == ["SHEAF_JOB_NAME": "n", "SHEAF_SET": "a=1"])
    #expect(try values(text, []) == [:])
  }

  @Test(
    arguments: [
      ("{databse: 1}", "\"databse\" is no option"), ("{hidden: 1}", "\"hidden\" is no option"),
      ("{\"--database\": 1}", "no option"), ("{config: \"x\"}", "no option"), ("{o: 1}", "no option"),
      ("{database: [\"a\", \"b\"]}", "\"database\" takes one value"),
      ("{database: {a: 1}}", "\"database\": it must be"),
      ("{database: null}", "\"database\": it must be"), ("{host: [[1]]}", "\"host\": it must be"),
      ("{database: ", "it is not JSON5"), ("", "it is not JSON5"), ("[1]", "it must be an object"),
      ("3", "it must be an object"),
    ])
  func `what a file must not have is said with its place`(text: String, words: String) {
    let error = #expect(throws: SettingError.self) { try values(text) }
    #expect(error?.description.contains(words) == true, "\(error?.description ?? "none")")
  }

  @Test func `the file is the one that the command line names`() {
    #expect(ConfigurationFile.path(in: ["serve", "--config", "a.json", "--x"]) == "a.json")
    #expect(ConfigurationFile.path(in: ["--config=b=c.json"]) == "b=c.json")
    for none in [[], ["serve"], ["--", "--config", "a"], ["--configx=a"], ["--config"]] {
      #expect(ConfigurationFile.path(in: none) == nil, "\(none)")
    }
  }
}

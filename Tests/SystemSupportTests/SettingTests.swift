import Foundation
import TestPrograms
import Testing

@testable import SystemSupport

/// Options and their environment variables (`docs/operations/options.md`).
struct SettingTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test
  func `an option goes before its variable`() {
    let environment = ["NAME": "b"]
    #expect(Setting.text("a", "NAME", environment: { environment[$0] }) == "a")
    #expect(Setting.text(nil, "NAME", environment: { environment[$0] }) == "b")
    #expect(Setting.text(nil, "OTHER", environment: { environment[$0] }) == nil)
  }

  @Test(arguments: [("1", true), ("TRUE", true), ("yes", true), ("0", false), ("no", false), ("on", false)])
  func `a flag is on for 1, true and yes`(value: String, isOn: Bool) {
    #expect(Setting.flag(false, "FLAG", environment: { _ in value }) == isOn)
    #expect(Setting.flag(true, "FLAG", environment: { _ in value }))
    #expect(!Setting.flag(false, "FLAG", environment: { _ in nil }))
  }

  @Test
  func `a number is whole and in its range, or the message names its source and the range`() throws {
    #expect(try Setting.number("1024", "--slots", "SLOTS", in: 1...1024, environment: { _ in "3" }) == 1024)
    #expect(try Setting.number(nil, "--slots", "SLOTS", in: 1...1024, environment: { _ in "3" }) == 3)
    #expect(try Setting.number(nil, "--slots", "SLOTS", in: 1...1024, environment: { _ in nil }) == nil)
    for value in ["0", "1025", "-1", "1.5", "two", "", " 1", "99999999999999999999"] {
      #expect(throws: SettingError("--slots is \"\(value)\"; it must be a whole number from 1 to 1024")) {
        try Setting.number(value, "--slots", "SLOTS", in: 1...1024, environment: { _ in nil })
      }
    }
    #expect(throws: SettingError("BYTES is \"x\"; it must be a whole number from 0")) {
      try Setting.number(nil, "--bytes", "BYTES", in: 0...Int64.max, environment: { _ in "x" })
    }
  }

  @Test
  func `a log is text unless the option or the variable asks for JSON`() throws {
    #expect(try !Setting.logsJSON(nil, environment: { _ in nil }))
    #expect(try Setting.logsJSON("json", environment: { _ in "text" }))
    #expect(try Setting.logsJSON(nil, environment: { $0 == "SHEAF_LOG_FORMAT" ? "json" : nil }))
    #expect(throws: SettingError("\"JSON\" is not a log format; the log formats are text, json")) {
      try Setting.logsJSON("JSON", environment: { _ in nil })
    }
  }

  @Test(arguments: [
    ("secret", "secret"), ("secret\n", "secret"), ("secret\r\n", "secret"), ("secret\nsecond", "secret"),
    (" secret ", " secret "),
  ])
  func `a token is the first line of its file`(text: String, token: String) throws {
    let path = try folder.write(Data(text.utf8), "token")
    #expect(try Setting.token(file: path, environment: { _ in nil }) == token)
  }

  @Test
  func `the option's file goes before the variable's file, and that before the variable`() throws {
    let first = try folder.write(Data("first\n".utf8), "first")
    let environment = ["SHEAF_TOKEN_FILE": try folder.write(Data("second\n".utf8), "second"), "SHEAF_TOKEN": "third"]
    #expect(try Setting.token(file: first, environment: { environment[$0] }) == "first")
    #expect(try Setting.token(file: nil, environment: { environment[$0] }) == "second")
    #expect(try Setting.token(file: nil, environment: { $0 == "SHEAF_TOKEN" ? "third" : nil }) == "third")
    #expect(try Setting.token(file: nil, environment: { _ in nil }) == nil)
  }

  @Test(arguments: ["", "\n", "\r\n", "\nsecret"])
  func `a token file whose first line is empty is refused, whatever else is set`(text: String) throws {
    let path = try folder.write(Data(text.utf8), "token")
    #expect(throws: SettingError("the first line of the token file \(path) is empty")) {
      try Setting.token(file: path, environment: { _ in "another" })
    }
  }

  @Test
  func `a token file that cannot be read or is no token file is refused`() throws {
    for path in [folder.path("missing"), folder.url.path, try folder.write(Data(count: 5000), "large")] {
      let error = #expect(throws: SettingError.self) { try Setting.token(file: path, environment: { _ in "another" }) }
      #expect(error?.description.contains(path) == true)
    }
  }

  @Test func `the URL of a database is given by an option, a file or a variable`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("database")
    try Data("postgres://sheaf:secret@db/sheaf\nand more\n".utf8).write(to: URL(filePath: path))
    let environment = ["SHEAF_DATABASE": "postgres:///variable", "SHEAF_DATABASE_FILE": path]
    func database(_ option: String?, file: String? = nil, _ names: Set<String>) throws -> String? {
      try Setting.database(option, file: file, environment: { names.contains($0) ? environment[$0] : nil })
    }
    let all = Set(environment.keys)
    #expect(try database("postgres:///option", all) == "postgres:///option")
    #expect(try database(nil, file: path, []) == "postgres://sheaf:secret@db/sheaf")
    #expect(try database(nil, all) == "postgres://sheaf:secret@db/sheaf")
    #expect(try database(nil, ["SHEAF_DATABASE"]) == "postgres:///variable")
    #expect(try database(nil, []) == nil)
    #expect(throws: SettingError.self) { try database("postgres:///option", file: path, []) }
    let missing = #expect(throws: SettingError.self) { try database(nil, file: folder.path("none"), all) }
    #expect(missing?.description.hasPrefix("the database file cannot be read") == true)
  }

  @Test
  func `the environment is read as it is, and empty variables are unset`() {
    #expect(ProcessEnvironment.value("PATH") == ProcessInfo.processInfo.environment["PATH"])
    #expect(ProcessEnvironment.value("SHEAF_NO_SUCH_VARIABLE") == nil)
    #expect(ProcessEnvironment.all["PATH"] == ProcessEnvironment.value("PATH"))
    #expect(!ProcessEnvironment.hostName.isEmpty)
  }

  @Test
  func `the cache folder is the user's own`() throws {
    let home = folder.url.path
    let user = geteuid()
    #expect(try ProcessEnvironment.cacheDirectory({ $0 == "HOME" ? home : nil }, user: user) == home + "/.cache/sheaf")
    let cache = try ProcessEnvironment.cacheDirectory({ $0 == "XDG_CACHE_HOME" ? home : "/elsewhere" }, user: user)
    #expect(cache == home + "/sheaf")
    try Directories.make(cache)
    #expect(try ProcessEnvironment.cacheDirectory({ _ in home }, user: user) == cache)
  }

  @Test
  func `a cache folder that others may have made is refused with what to set`() throws {
    let none = #expect(throws: SettingError.self) {
      try ProcessEnvironment.cacheDirectory({ $0 == "HOME" ? "relative" : nil }, user: geteuid())
    }
    #expect(none?.description.hasSuffix("set one of them to an absolute path") == true)
    let cache = folder.path("sheaf")
    try Directories.make(cache)
    let other = #expect(throws: SettingError.self) {
      try ProcessEnvironment.cacheDirectory({ _ in folder.url.path }, user: geteuid() + 1)
    }
    #expect(
      other?.description
        == "the cache folder \(cache) belongs to another user; set XDG_CACHE_HOME to a folder of your own")
  }

  @Test func `numbers of bytes are rounded down`() {
    #expect(ByteCount.text(0) == "0 bytes")
    #expect(ByteCount.text((1 << 30) - 1) == "0.9 GiB")
    #expect(ByteCount.text(20 << 30) == "20 GiB")
    #expect(ByteCount.text(1536 << 10) == "1.5 MiB")
  }
}

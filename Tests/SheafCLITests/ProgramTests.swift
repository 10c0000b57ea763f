import Digest
import Foundation
import Glibc
import SwiftProtobuf
import Synchronization
import TestCoordinator
import TestPrograms
import Testing
import Wire

/// The program itself, with a coordinator that a test writes.
@Suite(.timeLimit(.minutes(10))) struct ProgramTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func run(_ script: String, farm: ScriptedFarm? = nil) async throws -> ShellScript.Result {
    try await start(script, farm).end()
  }

  private func start(_ script: String, _ farm: ScriptedFarm?) async throws -> ShellScript {
    var environment = ["SHEAF_TOKEN": ""]
    if let farm { environment["SHEAF_COORDINATOR"] = await farm.address.description }
    return try ShellScript(script, in: folder, environment)
  }

  private func text(_ name: String) throws -> String { try folder.text(name) }

  /// Exit handlers of libraries destroy what threads of the database or of the network still use.
  @Test func `a file has what neither the command line nor the environment has`() async throws {
    func file(_ text: String) throws { _ = try folder.write(Data(text.utf8), "farm.json") }
    func tried(_ script: String, _ port: Int) async throws {
      let result = try await run(script)
      #expect(result.status == 69 && result.errors.contains("127.0.0.1:\(port):"), "\(script): \(result.errors)")
    }
    try file("{coordinator: '127.0.0.1:1', json: true} // where")
    try await tried("sheaf workers --config farm.json", 1)
    try await tried("SHEAF_CONFIG=farm.json sheaf workers", 1)
    try await tried("SHEAF_COORDINATOR= SHEAF_CONFIG=farm.json sheaf workers", 1)
    try await tried("SHEAF_COORDINATOR=127.0.0.1:3 SHEAF_CONFIG=none sheaf workers --config=farm.json", 3)
    try await tried("SHEAF_COORDINATOR=127.0.0.1:3 sheaf workers --config farm.json --coordinator 127.0.0.1:2", 2)
    for (text, words) in [("{coordinatr: 1}", "\"coordinatr\" is no option"), ("{", "is not JSON5")] {
      try file(text)
      let result = try await run("sheaf workers --config farm.json")
      #expect(result.status == 64 && result.errors.contains(words), "\(result.status): \(result.errors)")
    }
    let result = try await run("SHEAF_CONFIG=none sheaf workers")
    #expect(result.status == 64 && result.errors.contains("none failed: No such file"), "\(result.errors)")
  }

  @Test func `programs end without exit handlers`() async throws {
    let source = folder.url.appendingPathComponent("handler.c")
    try Data(
      """
      #include <unistd.h>
      __attribute__((destructor)) static void end(void) { (void)!write(2, "handler\\n", 8); }

      """.utf8
    ).write(to: source)
    _ = try Tool.run("clang", ["-shared", "-fPIC", "-o", folder.path("handler.so"), source.path])
    for (command, status, runsHandlers) in [
      ("/bin/true", 0, true), ("sheaf --version", 0, false), ("sheaf check", 64, false),
      ("sheaf check nothing.json", 65, false),
      ("sheaf presets", 0, false), ("sheaf-worker --version", 0, false), ("sheaf-worker --nothing", 64, false),
    ] as [(String, Int32, Bool)] {
      let result = try await run("LD_PRELOAD=./handler.so \(command)")
      #expect(result.status == status && result.errors.contains("handler\n") == runsHandlers, "\(command): \(result)")
    }
  }

  // MARK: Standard output

  @Test(
    arguments: ["sheaf --help", "sheaf status", "sheaf status --json", "sheaf workers", "sheaf check --json -"]
      .spread(3))
  func `a full standard output is a failure`(command: String) async throws {
    let farm = ScriptedFarm { message, _ in
      if case .workersQuery = message { [.send(.workersReply(.init()))] } else { [.status("j", .done)] }
    }
    try await farm.start()
    let result = try await run("\(command) < /dev/null > /dev/full", farm: farm)
    #expect(result.status == 1, "\(result.errors)")
    #expect(result.errors.contains("standard output failed: No space left on device"), "\(result.errors)")
    await farm.stop()
  }

  @Test(arguments: ["sheaf --help", "sheaf status"]) func `a closed standard output is a failure that says so`(
    command: String
  ) async throws {
    let farm = ScriptedFarm { _, _ in [.status("j", .done)] }
    try await farm.start()
    let result = try await run("\(command) >&-", farm: farm)
    #expect(result.status == 1 && result.errors == "sheaf: standard output is closed\n", "\(result.errors)")
    await farm.stop()
  }

  @Test func `a watch whose reader has gone ends quietly`() async throws {
    let farm = ScriptedFarm { message, _ in
      guard case .watchJob = message else { return [] }
      return Array(repeating: .status("j", .rendering), count: 10_000) + [.status("j", .failed)]
    }
    try await farm.start()
    let result = try await run("{ sheaf status --watch --json j; echo $? > status; } | head -n 1", farm: farm)
    #expect(try text("status") == "0\n" && result.errors.isEmpty, "\(result.errors)")
    await farm.stop()
  }

  @Test func `a watch in JSON is one object a line, also of a job that fails`() async throws {
    let farm = ScriptedFarm { _, _ in [.status("j", .probing), .status("j", .rendering), .status("j", .failed)] }
    try await farm.start()
    let result = try await run("sheaf status --watch --json j", farm: farm)
    let lines = result.output.split(separator: "\n")
    let states = try lines.map { line in
      try (JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["state"] as? String
    }
    #expect(states == ["probing", "rendering", "failed"])
    #expect(result.status == 1 && result.errors.contains("job j failed"), "\(result.errors)")
    await farm.stop()
  }

  // MARK: Signals

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func `a signal ends a command with its own code`(
    signal: Int32, code: Int
  ) async throws {
    let farm = ScriptedFarm { _, _ in [.status("j", .rendering)] }
    try await farm.start()
    let script = try await start("exec sheaf status --watch j", farm)
    await farm.wait { if case .watchJob = $0 { true } else { false } }
    script.program.send(signal)
    let result = try await script.end()
    #expect(result.status == Int32(code), "\(result.errors)")
    #expect(!result.errors.contains("connection"), "\(result.errors)")
    await farm.stop()
  }

  @Test func `a submission that waits cancels its job at a signal`() async throws {
    _ = try folder.write(Data(#"{"sheaf": 1, "tracks": []}"#.utf8), "edit.json")
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .submit: [.send(.submitReply(.with { $0.job = "j" }))]
      case .watchJob: [.status("j", .rendering)]
      case .cancelJob: [.send(.cancelReply(.with { $0.state = .cancelled }))]
      default: []
      }
    }
    try await farm.start()
    let script = try await start("exec sheaf submit --wait edit.json", farm)
    await farm.wait { if case .watchJob = $0 { true } else { false } }
    script.program.send(SIGINT)
    let result = try await script.end()
    #expect(result.status == 130 && result.output == "j\n", "\(result.errors)")
    #expect(await farm.received.contains(.cancelJob(.with { $0.job = "j" })))
    await farm.stop()
  }

  @Test func `a submission that waits leaves its job at SIGTERM, and says how to go on`() async throws {
    _ = try folder.write(Data(#"{"sheaf": 1, "tracks": []}"#.utf8), "edit.json")
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .submit: [.send(.submitReply(.with { $0.job = "j" }))]
      case .watchJob: [.status("j", .rendering)]
      default: []
      }
    }
    try await farm.start()
    let script = try await start("exec sheaf submit --wait edit.json", farm)
    await farm.wait { if case .watchJob = $0 { true } else { false } }
    script.program.send(SIGTERM)
    let result = try await script.end()
    #expect(result.status == 143 && result.output == "j\n", "\(result.errors)")
    #expect(result.errors.contains("ended by SIGTERM\nthe job goes on without this command"), "\(result.errors)")
    #expect(result.errors.contains("  sheaf status --watch j\n  sheaf fetch j -o FILE\n"), "\(result.errors)")
    let isCancelled = await farm.received.contains { if case .cancelJob = $0 { true } else { false } }
    #expect(!isCancelled)
    await farm.stop()
  }

  @Test func `a log that is followed has each thing once, until the job has ended`() async throws {
    let looks = Mutex(0)
    let farm = ScriptedFarm { message, _ in
      guard case .statusQuery(let query) = message else { return [] }
      // Each look is a short one, and with the tasks if something has changed.
      let look = looks.withLock { looks in
        if !query.withTasks { looks += 1 }
        return looks
      }
      let job = Sheaf_JobStatus.with {
        ($0.job, $0.name, $0.state) = ("j", "film.json", look < 3 ? .probing : .cancelled)
        $0.filesTotal = 1
        $0.filesDone = look < 2 ? 0 : 1
        $0.submittedAt = 0
        if query.withTasks {
          $0.tasks = [
            .with {
              ($0.kind, $0.state, $0.label, $0.workerName) = (.probe, look < 2 ? .running : .done, "probe of a", "anna")
              ($0.worker, $0.epoch) = ("id-a", 1)
            }
          ]
        }
      }
      return [.send(.statusReply(.with { $0.jobs = [job] }))]
    }
    try await farm.start()
    let result = try await run("sheaf log --follow j", farm: farm)
    let lines = result.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(
      lines == [
        "1970-01-01T00:00:00.000Z  submitted: film.json", "task 0, probe of a: runs on anna",
        "task 0, probe of a: done on anna", "cancelled after 0.0 s",
      ])
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    await farm.stop()
  }

  @Test func `a list says how the next jobs are shown, also beside JSON, and refuses a coordinator that cannot select`()
    async throws
  {
    let farm = ScriptedFarm { message, _ in
      guard case .statusQuery(let query) = message else { return [] }
      let jobs = ["b", "a"].map { name in
        Sheaf_JobStatus.with {
          ($0.job, $0.name, $0.state) = (name, "film.json", .done)
          if query.states.isEmpty { $0.submittedAt = 1 }
        }
      }
      return [.send(.statusReply(.with { $0.jobs = Array(jobs.prefix(Int(query.limit))) }))]
    }
    try await farm.start()
    let list = try await run("sheaf status --limit 1 --name 'a film' --since 2026-01-02", farm: farm)
    let more = "there are more: sheaf status --after b --limit 1 --name 'a film' --since 2026-01-02T00:00:00.000Z\n"
    #expect(list.status == 0 && list.output.hasSuffix(more), "\(list.output) \(list.errors)")
    let json = try await run("sheaf status --limit 1 --name 'a film' --since 2026-01-02 --json", farm: farm)
    let jobs = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
    #expect(jobs?.count == 1 && jobs?[0]["submittedAt"] as? String == "1970-01-01T00:00:00.001Z")
    #expect(json.errors == more)
    let old = try await run("sheaf status --state done --name film", farm: farm)
    #expect(old.status == 1 && old.errors.contains("older version"), "\(old.errors)")
    await farm.stop()
  }

  @Test func `jobs beyond the first page are listed`() async throws {
    // Each page has a hundred jobs at most, whatever is asked for.
    let farm = ScriptedFarm { message, _ in
      guard case .statusQuery(let query) = message else { return [] }
      let first = query.after.isEmpty ? 450 : (Int(query.after.dropFirst()) ?? 0) - 1
      let count = min(Int(query.limit), 100, max(0, first))
      let reply = Sheaf_StatusReply.with {
        $0.jobs = (0..<count).map { number in
          .with {
            $0.job = "j\(first - number)"
            $0.state = query.states.first ?? .done
          }
        }
      }
      return [.send(.statusReply(reply))]
    }
    try await farm.start()
    func names(_ text: String) -> [Substring] {
      text.split(separator: "\n").compactMap { $0.split(separator: " ").first }
    }
    let all = try await run("sheaf status", farm: farm)
    #expect(names(all.output).dropFirst().prefix(200) == (251...450).reversed().map { "j\($0)" }[...], "\(all.errors)")
    #expect(all.output.hasSuffix("there are more: sheaf status --after j251\n"), "\(all.output)")
    let rest = try await run("sheaf status --after j251 --limit 300 --state failed", farm: farm)
    #expect(names(rest.output).count == 251 && rest.output.contains("j250  ") && rest.output.contains("failed"))
    #expect(!rest.output.contains("there are more"))
    let json = try await run("sheaf status --json --limit 120", farm: farm)
    let list = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
    #expect(list.count == 120 && list.last?["job"] as? String == "j331")
    for (arguments, words) in [
      ("--limit 0", "--limit"), ("--limit 9223372036854775808", "--limit"), ("--state gone", "the states are probing"),
      ("--after j1 j2", "--after is about the list of jobs"),
      ("--watch --limit 5", "--limit is about the list of jobs"),
    ] {
      let wrong = try await run("sheaf status \(arguments)", farm: farm)
      #expect(wrong.status == 64 && wrong.errors.contains(words), "\(arguments): \(wrong.errors)")
    }
    await farm.stop()
  }

  @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 143, "ended by SIGTERM")] as [(Int32, Int32, String)])
  func `an interrupted fetch keeps what came, says how to go on, and the next one does`(
    signal: Int32, code: Int32, words: String
  ) async throws {
    let chunk = WireProtocol.maximumChunk
    let film = TestBytes.varied(20 * chunk + 5)
    let content = Content(digest: .of(film), size: Int64(film.count))
    let isWhole = Mutex(false)
    let reads = Mutex([UInt64]())
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .statusQuery: return [.status("j", .done, output: Sheaf_Content(content))]
      case .readContent(let read):
        let isWhole = isWhole.withLock(\.self)
        if isWhole, !read.digest.isEmpty { reads.withLock { $0.append(read.offset) } }
        return isWhole || read.offset < 12 * chunk ? [.data(read, of: film)] : []
      default: return []
      }
    }
    try await farm.start()
    let script = try await start("exec sheaf fetch j -o film.mp4", farm)
    let part = ".film.mp4.\(content.digest.hex).part"
    let partFile = folder.url.appendingPathComponent(part).path
    func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: partFile)[.size] as? Int) ?? 0 }
    while size() < 4 * chunk { try await Task.sleep(for: .milliseconds(10)) }
    script.program.send(signal)
    let result = try await script.end()
    #expect(result.status == code, "\(result.errors)")
    #expect(result.errors.contains(words) && result.errors.contains("to go on: sheaf fetch j"), "\(result.errors)")
    func files() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains("film") }
    }
    #expect(try files() == [part])
    let came = try Data(contentsOf: URL(fileURLWithPath: partFile))
    #expect(came.count >= 4 * chunk && came == Data(film.prefix(came.count)))
    isWhole.withLock { $0 = true }
    let next = try await run("exec sheaf fetch j -o film.mp4", farm: farm)
    #expect(next.status == 0, "\(next.errors)")
    #expect(reads.withLock { $0.min() } == UInt64(came.count))
    #expect(try files() == ["film.mp4"])
    #expect(try Data(contentsOf: folder.url.appendingPathComponent("film.mp4")) == Data(film))
    await farm.stop()
  }

  @Test func `a coordinator that still waits for its database ends with 0`() async throws {
    let script = try await start(
      "exec sheaf serve --database 'host=127.0.0.1 port=1' --store store --listen 127.0.0.1:0", nil)
    while try !text("errors").contains("database not reached yet") { try await Task.sleep(for: .milliseconds(10)) }
    script.program.send(SIGTERM)
    let result = try await script.end()
    #expect(result.status == 0 && result.errors.contains("stopping"), "\(result.status): \(result.errors)")
  }

  @Test func `sheaf serve is the program sheaf-server beside it, with the same arguments`() async throws {
    let help = try await run("sheaf serve --help")
    #expect(help.status == 0 && help.output.contains("--http <host:port>"), "\(help)")
    let wrong = try await run("sheaf serve --nothing")
    #expect(wrong.status == 64 && wrong.errors.contains("'--nothing'"), "\(wrong.errors)")
    let alone = try await run("cp \"$(command -v sheaf)\" alone && exec ./alone serve --database x")
    #expect(alone.status == 1, "\(alone.errors)")
    #expect(alone.errors.contains("/sheaf-server: build it with make release"), "\(alone.errors)")
  }

  // MARK: The command line

  @Test func `a cached film that is lost is made again`() async throws {
    let film = Content(digest: .of([1, 2, 3]), size: 3)
    let jobs = Mutex(0)
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .findMissing: [.send(.findMissingReply(.init()))]
      case .submit:
        [
          .send(
            .submitReply(
              .with {
                $0.job = jobs.withLock { jobs in
                  jobs += 1
                  return "j\(jobs)"
                }
              }))
        ]
      case .watchJob(let watch): [.status(watch.job, .done, output: Sheaf_Content(film))]
      case .statusQuery(let query): [.status(query.job, .done, output: Sheaf_Content(film))]
      case .readContent(let read) where jobs.withLock({ $0 }) == 1:
        [.send(.contentData(.with { ($0.request, $0.error) = (read.request, "it is damaged") }))]
      case .readContent(let read): [.data(read, of: [1, 2, 3])]
      default: []
      }
    }
    try await farm.start()
    let edit = #"{"sheaf": 1, "assets": {}, "tracks": []}"#
    let result = try await run("echo '\(edit)' > edit.json; sheaf submit edit.json -o film.mkv", farm: farm)
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      result.errors.contains("sheaf: the film of job j1 is lost: it is damaged; it is made again as job j2\n"),
      "\(result.errors)")
    #expect(try Data(contentsOf: folder.url.appendingPathComponent("film.mkv")) == Data([1, 2, 3]))
    await farm.stop()
  }

  @Test(arguments: [
    ("sheaf rendr edit.json", 64, "there is no command 'rendr'; did you mean 'render'?"),
    ("sheaf edit.json", 64, "to render a document: sheaf render edit.json"),
    (
      "printf '\\0\\0\\0\\030ftypmp42' > film.mp4; sheaf render film.mp4", 65,
      "film.mp4 is a film (MP4 or QuickTime), not a document"
    ),
    ("echo > flower.json; sheaf check flwer.json", 65, "(did you mean 'flower.json'?)"),
    ("sheaf image film.mp4 -o a.png --at abc", 64, "--at abc is no time"),
    ("sheaf image film.mp4 -o %d.png --every 0", 64, "--every 0 must be above zero"),
    ("sheaf image film.mp4 -o a.png --at 1 --tolerance x", 64, "--tolerance x is no time"),
    (#"echo '{"sheaf": 1,' > edit.json; sheaf check edit.json"#, 65, "edit.json: not JSON at line 2, column 1"),
  ])
  func `a command line that is nearly right gets a hint`(_ line: String, _ status: Int32, _ words: String)
    async throws
  {
    let result = try await run(line)
    #expect(result.status == status && result.errors.contains(words), "\(result.status) \(result.errors)")
  }

  /// No coordinator is asked, and no media are read.
  @Test(arguments: ["submit", "render"]) func `an output that is no film is refused at once`(command: String)
    async throws
  {
    let edit = #"{"sheaf": 1, "assets": {"a": "absent.mov"}, "tracks": []}"#
    let result = try await run("echo '\(edit)' > edit.json; sheaf \(command) edit.json -o film.mp42")
    #expect(result.status == 65)
    #expect(
      result.errors
        == "edit.json: the output 'film.mp42' must end in one of .mp4, .mov, .m4v, .mkv, .webm, .mxf, .m4a, .wav, "
        + ".flac, .mp3, .ogg, .gif, .apng, .webp, .m3u8, .mpd; did you mean '.mp4'?\n")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == [
        "edit.json", "errors", "output",
      ])
  }

  @Test(arguments: ["submit edit.json", "render edit.json", "fetch j", "retry j", "plan edit.json"])
  func `an output without a name is a wrong command line`(command: String) async throws {
    _ = try folder.write(Data(#"{"sheaf": 1, "tracks": []}"#.utf8), "edit.json")
    let result = try await run("sheaf \(command) -o ''")
    #expect(result.status == 64 && result.errors.contains("the output has no name"), "\(result.errors)")
  }

  // MARK: Documents and media

  @Test func `a document from standard input counts its paths from the current folder`() async throws {
    _ = try folder.write(Data("a film".utf8), "beach.mov")
    _ = try folder.write(
      Data(#"{"sheaf": 1, "assets": {"a": "beach.mov"}, "tracks": []}"#.utf8), "edit.json")
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .findMissing: [.send(.findMissingReply(.init()))]
      case .submit: [.send(.submitReply(.with { $0.job = "j" }))]
      default: []
      }
    }
    try await farm.start()
    let result = try await run("mkdir elsewhere; cat edit.json | sheaf submit -", farm: farm)
    #expect(result.status == 0 && result.output == "j\n", "\(result.errors)")
    let submits = await farm.received.compactMap { if case .submit(let submit) = $0 { submit } else { nil } }
    try #require(submits.count == 1)
    #expect(submits[0].name == "standard input")
    #expect(submits[0].assets.map(\.content.path) == [folder.url.resolvingSymlinksInPath().path + "/beach.mov"])
    await farm.stop()
  }

  @Test func `the job of a submission whose output cannot be written is named on standard error`() async throws {
    _ = try folder.write(Data(#"{"sheaf": 1, "assets": {}, "tracks": []}"#.utf8), "edit.json")
    let farm = ScriptedFarm { message, _ in
      switch message {
      case .findMissing: [.send(.findMissingReply(.init()))]
      case .submit: [.send(.submitReply(.with { $0.job = "j-17" }))]
      default: []
      }
    }
    try await farm.start()
    for options in ["", "--json"] {
      let result = try await run("sheaf submit edit.json \(options) > /dev/full", farm: farm)
      #expect(result.status == 1 && result.errors.contains("the job was submitted; to see it: sheaf status j-17"))
    }
    await farm.stop()
  }

  @Test func `a URL is refused with what to do, as media and as a document`() async throws {
    let asset = #"{"sheaf": 1, "assets": {"a": "https://example.org/beach.mov"}, "tracks": []}"#
    _ = try folder.write(Data(asset.utf8), "edit.json")
    let result = try await run("sheaf submit edit.json --coordinator 127.0.0.1:1")
    #expect(result.status == 65, "\(result.errors)")
    let words = "/assets/a: https://example.org/beach.mov is a URL, and assets are files: download it first"
    #expect(result.errors.contains(words), "\(result.errors)")
    for command in ["sheaf submit http://x/edit.json", "sheaf check http://x/edit.json"] {
      let result = try await run(command)
      #expect(result.status == 65 && result.errors.contains("a document is a file"), "\(result.errors)")
    }
  }

  @Test func `a name that is not UTF-8 is refused as that`() async throws {
    let result = try await run(#"exec sheaf check "$(printf 'edit\377.json')""#)
    #expect(result.status == 64 && result.errors.contains("is not UTF-8"), "\(result.errors)")
    // The folder's name is not on the command line.
    let media = try await run(
      #"d="$(printf 'dir\377')"; mkdir "$d"; cd "$d"; echo x > a.mov; "#
        + #"echo '{"sheaf": 1, "assets": {"a": "a.mov"}, "tracks": []}' > edit.json; exec sheaf submit edit.json"#)
    #expect(media.status == 65 && media.errors.contains("is not UTF-8"), "\(media.errors)")
  }
}

import Foundation
import TestPrograms
import Testing

/// *Bad input*: each gets a message that a person understands, the right exit code, and nothing under the output's
/// name.
@Suite(.ownThreads) struct BadInputTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// The document, with MEDIA for the test media's folder.
    var document: String
    var output = "film.mp4"
    var status: Int32
    /// Words that the message must contain.
    var words: [String]
  }

  private static func document(
    assets: String = #""a": "MEDIA/friday.mp4""#, clips: String = #"{ "asset": "a", "use": "0..1" }"#,
    video: String = "{}", export: String = #""video": { "preset": "ultrafast" }"#
  ) -> String {
    """
    { "sheaf": 1, "assets": { \(assets) }, "tracks": [ { "id": "A", "type": "video", "clips": [ \(clips) ] } ],
      "videoComposition": \(video), "export": { \(export) } }
    """
  }

  /// The probe says it of the file, and no worker is blamed: the file is not read again.
  @Test func `a number in a file that is out of range is named`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let path = files.path("rate.wav")
    _ = try Tool.ffmpeg("-f", "lavfi", "-i", "sine=d=1", path)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.replaceSubrange(24..<28, with: [0xFF, 0xFF, 0xFF, 0x7F])
    try bytes.write(to: URL(fileURLWithPath: path))
    let result = try await Command.sheaf("probe", path, "--store", files.path("store")).run()
    #expect(result.status == 65)
    #expect(result.errors.contains("tracks[0].audio.sampleRate: 2147483647 is not from 1 to 16777216"))
    #expect(!result.errors.contains("failed 3 times") && !result.errors.contains("worker"), "\(result.errors)")
  }

  static let cases: [Case] = [
    Case(testDescription: "not JSON", document: "{ \"sheaf\": 1,", status: 65, words: ["line 1"]),
    Case(
      testDescription: "unknown key", document: document(clips: #"{ "asset": "a", "usee": "0..1" }"#), status: 65,
      words: ["/tracks/0/clips/0", "usee", "use"]),
    Case(
      testDescription: "wrong type", document: document(clips: #"{ "asset": 7 }"#), status: 65,
      words: ["/tracks/0/clips/0/asset", "7"]),
    Case(
      testDescription: "overlapping clips",
      document: document(clips: #"{ "asset": "a", "use": "0..2", "at": 0 }, { "asset": "a", "use": "0..2", "at": 1 }"#),
      status: 65, words: ["/tracks/0/clips/1", "overlap"]),
    Case(
      testDescription: "range beyond the media", document: document(clips: #"{ "asset": "a", "use": "5..60" }"#),
      status: 65, words: ["/tracks/0/clips/0/use", "6."]),
    Case(
      testDescription: "missing file", document: document(assets: #""a": "MEDIA/no-such-file.mp4""#), status: 65,
      words: ["no-such-file.mp4", "/assets/a"]),
    Case(
      testDescription: "not media", document: document(assets: #""a": "MEDIA/../../Package.swift""#), status: 65,
      words: ["Package.swift"]),
    Case(
      testDescription: "a folder as media", document: document(assets: #""a": "MEDIA""#), status: 65,
      words: ["/assets/a"]),
    Case(
      testDescription: "unsupported codec for the container",
      document: document(export: #""video": { "codec": "ffv1" }"#), status: 65, words: ["ffv1", "mp4"]),
    Case(
      testDescription: "unknown codec", document: document(export: #""video": { "codec": "h265" }"#), status: 65,
      words: ["/export/video/codec", "h265"]),
    Case(
      testDescription: "unknown container", document: document(), output: "film.xyz", status: 65, words: ["xyz", "mp4"]),
    Case(
      testDescription: "odd size for 4:2:0", document: document(video: #"{ "renderSize": [321, 240] }"#), status: 65,
      words: ["/videoComposition/renderSize", "321", "odd", "320x240"]),
    Case(testDescription: "zero frames", document: document(clips: ""), status: 65, words: ["clip"]),
    Case(
      testDescription: "something that cannot be rendered yet",
      document: document(clips: #"{ "asset": "a", "use": "0..1", "timeRange": "0..1" }"#), status: 65,
      words: ["timeRange", "/tracks/0/clips/0"]),
    Case(
      testDescription: "output directory missing", document: document(), output: "no/such/folder/film.mp4", status: 65,
      words: ["no/such/folder"]),
  ]

  @Test(arguments: cases)
  func `a bad document gets a message about what is wrong, and leaves no output`(bad: Case) async throws {
    let files = try Workspace()
    defer { files.remove() }
    let media = Place.repository.appendingPathComponent("Tests/Media").path
    let edit = try files.write(bad.document.replacingOccurrences(of: "MEDIA", with: media), to: "edit.json")
    let output = files.path(bad.output)
    let result = try await TestFilm.render(edit, output)
    #expect(result.status == bad.status, "\(result.errors)")
    for word in bad.words { #expect(result.errors.contains(word), "'\(word)' is not in: \(result.errors)") }
    #expect(!FileManager.default.fileExists(atPath: output))
    let left = try files.contents()
    #expect(left == ["edit.json"], "\(left)")
  }

  @Test
  func `a file that has no captions is one problem`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let film = Place.repository.appendingPathComponent("Tests/Media/friday.mp4").path
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(film)", "words": "words.srt" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "captions": [ { "asset": "words" } ], "export": { "to": "film.mp4" } }
      """, to: "edit.json")
    _ = try files.write("No captions.", to: "words.srt")
    let result = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(result.status == 65)
    #expect(
      result.errors.split(separator: "\n").count == 1 && result.errors.contains("/assets/words"), "\(result.errors)")
  }

  @Test
  func `check and plan report an output that would replace an asset`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let film = files.path("a.mp4")
    try FileManager.default.copyItem(atPath: Place.media("friday.mp4"), toPath: film)
    func edit(to output: String, as name: String) throws -> String {
      try files.write(
        #"{ "sheaf": 1, "assets": { "a": "a.mp4" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ], "#
          + #""export": { "to": "\#(output)" } }"#, to: name)
    }
    let (same, other) = (try edit(to: "a.mp4", as: "same.json"), try edit(to: "b.mp4", as: "other.json"))
    let store = files.path("store")
    let replacing = [
      Command.sheaf("check", same, "--store", store), Command.sheaf("plan", same, "--store", store),
      Command.sheaf("plan", other, "-o", film, "--store", store),
    ]
    for command in replacing.spread(2) {
      let result = try await command.run()
      #expect(result.status == 65)
      #expect(
        result.errors.split(separator: "\n").count == 1 && result.errors.contains("/assets/a: the output"),
        "\(result.errors)")
    }
    for command in ["check", "plan"].spread(1) {
      #expect(try await Command.sheaf(command, other, "--store", store).run().status == 0)
    }
  }

  @Test func `an output that cannot be written is a problem of the document, beside the others`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    _ = try files.write("", to: "file")
    try FileManager.default.createDirectory(atPath: files.path("folder.mp4"), withIntermediateDirectories: false)
    for (to, message) in [
      ("none/film.mp4", "does not exist"), ("file/film.mp4", "is not a folder"),
      ("folder.mp4", "is not a regular file"),
      ("/proc/film.mp4", "cannot be written"), (String(repeating: "x", count: 300) + ".mp4", "cannot be written"),
    ] {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "a": "\(Place.media("friday.mp4"))" },
          "tracks": [ { "type": "video", "clips": [ { "asset": "a", "use": "0..99" } ] } ],
          "export": { "to": "\(to)", "video": { "codec": "h264" } } }
        """, to: "edit.json")
      let render = try await TestFilm.render(edit)
      #expect(render.status == 65)
      var reports = [render.errors]
      if TestExtent.isWhole || to == "none/film.mp4" {
        let check = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
        #expect(check.status == 65)
        reports.append(check.errors)
      }
      for errors in reports {
        let lines = errors.split(separator: "\n")
        #expect(lines.contains { $0.contains("/export/to: ") && $0.contains(message) }, "\(to): \(errors)")
        #expect(lines.contains { $0.contains("/tracks/0/clips/0/use: ") }, "\(to): \(errors)")
      }
      let other = files.path("nowhere/film.mp4")
      let named = try await TestFilm.render(edit, other)
      #expect(named.status == 65 && named.errors.contains("edit.json: the output's folder"), "\(named.errors)")
    }
  }

  @Test func `a document that is probed is named as one, and the media beside it are described`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(#"{ "sheaf": 1 }"#, to: "edit.json")
    let media = Place.media("friday.mp4")
    let result = try await Command.sheaf("probe", edit, media, "--store", files.path("store")).run()
    #expect(result.status == 65 && result.errors.contains("\(edit) is a document and no media file: sheaf check"))
    #expect(result.output.contains("friday.mp4: "), "\(result.output)")
    let alone = try await Command.sheaf("probe", edit, "--store", files.path("store")).run()
    #expect(alone.status == 65 && alone.output.isEmpty, "\(alone.errors)")
  }

  @Test func `the output of the command line decides what the settings of its codec may be`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(Place.media("friday.mp4"))" },
        "tracks": [ { "type": "video", "clips": [ { "asset": "a", "use": "0..0.2" } ] } ],
        "videoComposition": { "renderSize": [64, 64] },
        "export": { "to": "film.mp4", "video": { "quality": 60, "preset": "5" } } }
      """, to: "edit.json")
    let store = files.path("store")
    let film = files.path("film.webm")
    for command in [
      Command.sheaf("plan", edit, "-o", film, "--store", store),
      Command.sheaf("render", edit, "-o", "-", "--container", "webm", "--store", store),
    ] {
      let result = try await command.run()
      #expect(result.status == 0, "\(command.arguments): \(result.errors)")
    }
    let made = try await TestFilm.render(edit, film)
    #expect(made.status == 0, "\(made.errors)")
    let refused = try await TestFilm.render(edit)
    #expect(refused.status == 65, "\(refused.errors)")
  }

  @Test
  func `every problem is reported in one pass`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(Place.media("friday.mp4"))" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "b", "use": "0..1" }, { "asset": "a", "use": "0..99" } ] } ],
        "videoComposition": { "renderSize": [321, 240], "frameDuration": 0 }, "exprot": {} }
      """, to: "edit.json")
    let check = try await Command.sheaf("check", edit, "--json").run()
    #expect(check.status == 65)
    struct Report: Decodable {
      struct Problem: Decodable {
        var pointer: String
        var message: String
      }
      var problems: [Problem]
    }
    let report = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8))
    let pointers = Set(report.problems.map(\.pointer))
    // Of the text, and of the media.
    let expected = [
      "/tracks/0/clips/0/asset", "/videoComposition/frameDuration", "/exprot", "/tracks/0/clips/1/use",
    ]
    #expect(pointers.isSuperset(of: expected), "\(report)")
    for command in ["render", "plan"] {
      let refused = try await Command.sheaf(command, edit, "-o", files.path("film.mp4")).run()
      #expect(refused.status == 65)
      for pointer in expected { #expect(refused.errors.contains("\(pointer): "), "\(command): \(refused.errors)") }
    }
  }

  @Test
  func `an output that is an asset's own file is refused`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let asset = files.path("a.mp4")
    try FileManager.default.copyItem(atPath: Place.media("friday.mp4"), toPath: asset)
    let edit = try files.write(Self.document(assets: #""a": "a.mp4""#), to: "edit.json")
    let result = try await Command.sheaf("render", edit, "-o", asset, "--store", files.path("store")).run()
    #expect(result.status == 65 && result.errors.contains("/assets/a"), "\(result.status): \(result.errors)")
    #expect(FileManager.default.contentsEqual(atPath: asset, andPath: Place.media("friday.mp4")))
  }

  @Test
  func `usage errors end with 64`() async throws {
    #expect(try await Command.sheaf("rendr").run().status == 64)
    #expect(try await Command.sheaf("render").run().status == 64)
    #expect(try await Command.sheaf("render", "a.json", "--workers", "none").run().status == 64)
  }

  @Test
  func `a missing document ends with 65 and names it`() async throws {
    let result = try await Command.sheaf("render", "/no/such/edit.json", "-o", "/dev/null").run()
    #expect(result.status == 65 && result.errors.contains("/no/such/edit.json"), "\(result.errors)")
  }

  @Test
  func `a coordinator that cannot be reached ends with 69`() async throws {
    // Port 1 on loopback: nothing listens there.
    let result = try await Command.sheaf("status", "--coordinator", "127.0.0.1:1").run()
    #expect(result.status == 69 && result.errors.contains("127.0.0.1:1"), "\(result.errors)")
  }

  @Test
  func `a wrong token is refused by name`() async throws {
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    var command = farm.sheaf("status")
    command.environment["SHEAF_TOKEN"] = "wrong"
    let result = try await command.run()
    #expect(result.status == 69 && result.errors.contains("token"), "\(result.status): \(result.errors)")
    let worker = try await Command.worker(
      "--coordinator", farm.address, "--slots", "1", environment: ["SHEAF_TOKEN": "wrong"]
    ).run(seconds: 30)
    #expect(worker.status == 69 && worker.errors.contains("token"), "\(worker.status): \(worker.errors)")
    // The log has the first of them.
    #expect(try farm.logs().contains("the token is wrong"))
  }

  @Test
  func `the token of clients registers no worker, and that of workers is no client's`() async throws {
    let farm = try await Farm(workers: 0, slots: 1)
    defer { farm.stop() }
    let worker = try await Command.worker(
      "--coordinator", farm.address, "--slots", "1", environment: ["SHEAF_TOKEN": farm.token]
    ).run(seconds: 30)
    #expect(worker.status == 69 && worker.errors.contains("a worker needs that of workers"), "\(worker.errors)")
    for arguments in [["status"], ["workers"], ["cancel", "job-1"]] {
      var client = farm.sheaf("status")
      client.arguments = arguments
      client.environment["SHEAF_TOKEN"] = farm.workerToken
      let refused = try await client.run()
      #expect(refused.status == 69 && refused.errors.contains("no client's"), "\(arguments): \(refused.errors)")
    }
    let page = try await farm.shell(
      "curl -s -o /dev/null -w '%{http_code}' -H \"Authorization: Bearer \(farm.workerToken)\" \"http://$SHEAF_HTTP/v1/jobs\"",
      in: FileManager.default.temporaryDirectory.path)
    #expect(page.output == "403", "\(page.output) \(page.errors)")
    #expect(try await farm.query("SELECT count(*) FROM sheaf.worker") == ["0"])
  }

  @Test
  func `a database that is down at the start ends with 69`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let result = try await Command.sheaf(
      "serve", "--database", "postgres://nobody@127.0.0.1:1/none", "--listen", "127.0.0.1:0", "--store",
      files.path("store")
    ).run(seconds: 120)
    #expect(result.status == 69 && result.errors.contains("127.0.0.1"), "\(result.status): \(result.errors)")
  }

  @Test
  func `listening beyond loopback without a token is refused`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let result = try await Command.sheaf(
      "serve", "--database", "postgres:///none", "--listen", "0.0.0.0:0", "--store", files.path("store"),
      environment: ["SHEAF_TOKEN": ""]
    ).run(seconds: 60)
    #expect(result.status == 64 && result.errors.contains("token"), "\(result.status): \(result.errors)")
  }

  @Test
  func `a full disk is reported and leaves no output`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let disk = files.path("disk")
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    // A private mount namespace with a disk of 32 KB for the output, which has more than 50.
    let edit = try files.write(await InvisibleFarmTests.smallFilm(), to: "edit.json")
    let sheaf = Place.products.appendingPathComponent("sheaf").path
    let script = """
      mount -t tmpfs -o size=32k tmpfs '\(disk)' && '\(sheaf)' render '\(edit)' -o '\(disk)/film.mp4' --store '\(files.path("store"))'
      status=$?; ls -A '\(disk)'; exit $status
      """
    let result = try await Command(
      executable: "unshare", arguments: ["--mount", "--map-root-user", "sh", "-c", script]
    ).run()
    #expect(result.status == 1, "\(result.status): \(result.errors)")
    #expect(
      result.errors.lowercased().contains("space") || result.errors.lowercased().contains("full"), "\(result.errors)")
    #expect(result.output == "", "left on the disk: \(result.output)")
  }
}

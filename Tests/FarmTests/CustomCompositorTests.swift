import Foundation
import TestPrograms
import Testing

/// Workers with compositors of their own: the example's, and one whose compositors fail.
@Suite(.ownThreads) struct CustomCompositorTests {
  private struct Status: Decodable {
    var state: String
    var waitsFor: String?
  }

  private let files: Workspace
  private let test = Place.products.appendingPathComponent("TestWorker").path

  init() throws {
    files = try Workspace()
    for (name, hue) in [("a", "0"), ("b", "140")] {
      _ = try Tool.ffmpeg(
        "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=24:duration=3,hue=h=\(hue)", "-pix_fmt", "yuv420p", "-c:v",
        "ffv1", files.path("\(name).mov"))
    }
  }

  /// The example's document with small media.
  private func edit(_ name: String, _ change: (String) -> String = { $0 }) throws -> String {
    let text = try String(contentsOfFile: Place.example("custom-transition/edit.json"), encoding: .utf8)
      .replacingOccurrences(of: "../media/flower.mp4", with: files.path("a.mov"))
      .replacingOccurrences(of: "../media/big-buck-bunny-trailer.mp4", with: files.path("b.mov"))
      .replacingOccurrences(of: "\"20..23\"", with: "\"0..3\"")
      .replacingOccurrences(of: "[640, 360]", with: "[160, 90]")
    return try files.write(change(text), to: name)
  }

  private func transition(_ transition: String) throws -> String {
    try edit("\(UUID().uuidString).json") { text in
      text.replacingOccurrences(
        of: #""transition": \{[^}]*\}[^}]*\}"#, with: "\"transition\": \(transition)", options: .regularExpression)
    }
  }

  private func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: files.path(name))) }

  @Test
  func `a farm renders a compositor's film on workers that have it, and waits for them`() async throws {
    defer { files.remove() }
    let edit = try edit("edit.json")
    let one = try await TestFilm.render(edit, files.path("one.mp4"), worker: "ExampleWorker")
    try #require(one.status == 0, "\(one.errors)")

    let farm = try await Farm(workers: 1, slots: 1)
    defer { farm.stop() }
    func submitted(_ length: String) async throws -> String {
      try await farm.sheaf("submit", edit, "--segment-duration", length).run().output
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }
    var perSecond = 2
    var job = try await submitted("1/2")
    try await farm.eventually("the reason why the job waits") {
      let found = try await farm.status(of: job, as: Status.self)
      return found.state == "probing"
        && found.waitsFor == "no worker that is connected has the compositor 'diagonal-blinds'"
    }
    let probes = try farm.tasksStarted(byWorker: 0)
    #expect(probes == 2)
    for _ in 0..<2 { try farm.startWorker(program: "ExampleWorker") }
    while try await !farm.killWorker(1, whenRendering: job) {
      perSecond += 1
      job = try await submitted("1/\(perSecond)")
    }
    try await farm.waitUntil(job: job) { $0.state == "done" }
    // The worker without the compositor was given none of the job's other tasks.
    #expect(try farm.tasksStarted(byWorker: 0) == probes)
    #expect(try farm.tasksStarted(byWorker: 2) > 0)
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("farm.mp4")).run()
    try #require(fetch.status == 0, "\(fetch.errors)")
    let again = try await TestFilm.render(
      edit, files.path("again.mp4"), segmentDuration: "1/\(perSecond)", worker: "ExampleWorker")
    try #require(again.status == 0, "\(again.errors)")
    #expect(try data("farm.mp4") == data("again.mp4"))
    let (a, b) = (
      try await FrameHashes.video(files.path("one.mp4")).frames,
      try await FrameHashes.video(files.path("farm.mp4")).frames
    )
    #expect(a.count == 108 && b.count == 108)
  }

  @Test
  func `without its compositor a film is refused with the place and the way to have it`() async throws {
    defer { files.remove() }
    let edit = try edit("edit.json")
    for command in TestExtent.of(["plan"], whole: ["check", "plan", "render"]) {
      let result = try await Command.sheaf(
        command, edit, "--store", files.path("store"), "--worker-executable", test,
        environment: ["SHEAF_OUTPUT": files.path("film.mp4")]
      ).run()
      #expect(result.status == 65)
      #expect(
        result.errors.contains(
          "/tracks/0/clips/1/transition: the worker's program has no compositor 'diagonal-blinds'; it has 'faulty', "
            + "'gauge', 'moving-border', 'neighbour', 'patient'; use a worker program that has it"),
        "\(command): \(result.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: files.path("film.mp4")))
  }

  @Test(arguments: [
    (
      #"{ "kind": "custom", "name": "faulty", "parameters": { "throwsAt": 0.5 } }"#, Int32(65),
      [
        #"/tracks/0/clips/1/transition: the compositor 'faulty' with {"throwsAt":0.5} failed "#
          + "1/2 s after the start of its transition, which lasts 1 s: this is not to my taste"
      ]
    ),
    (
      #"{ "kind": "custom", "name": "faulty", "parameters": { "throwsAt": "now" } }"#, 65,
      [
        "/tracks/0/clips/1/transition: the compositor 'faulty' with {\"throwsAt\":\"now\"} cannot read its parameters: "
          + "/parameters/throwsAt: this is not a Double"
      ]
    ),
    (
      #"{ "kind": "custom", "name": "faulty", "parameters": { "trapsAt": 0.5 } }"#, 1,
      ["the compositor is beside itself"]
    ),
    (
      #"{ "kind": "custom", "name": "faulty", "parameters": { "trapsAtOnce": true } }"#, 1,
      ["trial of the compositor 'faulty' failed 3 times", "the compositor does not get up"]
    ),
  ])
  func `a compositor that fails fails the job with its reason`(
    style: String, status: Int32, reasons: [String]
  ) async throws {
    defer { files.remove() }
    let result = try await TestFilm.render(try transition(style), files.path("film.mp4"), worker: "TestWorker")
    #expect(result.status == status, "\(result.status): \(result.errors)")
    for reason in reasons { #expect(result.errors.contains(reason), "\(result.errors)") }
  }

  /// Three uses of a compositor that cannot be made, of which two are equal, and a clip that has a problem of its own.
  /// No size is given, so that it is the media's.
  private func refused() throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { "a": "a.mov", "b": "b.mov" },
        "tracks": [ { "id": "A", "clips": [
          { "asset": "a", "use": "0..2" },
          { "asset": "b", "use": "0..2", "transition": { "kind": "custom", "name": "faulty", "duration": "1/2",
            "parameters": { "throwsAt": "now" } } },
          { "asset": "a", "use": "0..2", "transition": { "kind": "custom", "name": "faulty", "duration": "1/2",
            "parameters": { "refusal": "not me" } } },
          { "asset": "b", "use": "0..2", "transition": { "kind": "custom", "name": "faulty", "duration": "1/2",
            "parameters": { "throwsAt": "now" } } },
          { "asset": "b", "use": "2..9", "transition": { "kind": "custom", "name": "faulty", "duration": "1/2" } } ] } ] }
      """, to: "refused.json")
  }

  /// The problems of `refused`, each once.
  private func expectRefusals(_ errors: String, _ comment: Comment) {
    let reason =
      #"the compositor 'faulty' with {"throwsAt":"now"} cannot read its parameters: /parameters/throwsAt: "#
      + "this is not a Double"
    for problem in [
      "/tracks/0/clips/1/transition: \(reason)", "/tracks/0/clips/3/transition: \(reason)",
      #"/tracks/0/clips/2/transition: the compositor 'faulty' with {"refusal":"not me"} refuses its parameters: "#
        + "not me at 160x90",
      "/tracks/0/clips/4/use: ",
    ] {
      #expect(errors.components(separatedBy: problem).count == 2, "\(problem): \(comment)")
    }
    #expect(errors.components(separatedBy: "/transition: ").count == 4, comment)
  }

  @Test(arguments: ["check", "plan", "render"].spread(2))
  func `parameters that a compositor refuses are found before anything is rendered, with all other problems`(
    command: String
  ) async throws {
    defer { files.remove() }
    let result = try await Command.sheaf(
      command, try refused(), "--store", files.path("store"), "--worker-executable", test,
      environment: ["SHEAF_OUTPUT": files.path("film.mp4")]
    ).run()
    #expect(result.status == 65)
    expectRefusals(result.errors, "\(command): \(result.errors)")
  }

  @Test
  func `a compositor that traps when it is made fails the check`() async throws {
    defer { files.remove() }
    let edit = try transition(#"{ "kind": "custom", "name": "faulty", "parameters": { "trapsAtOnce": true } }"#)
    let result = try await Command.sheaf(
      "check", edit, "--store", files.path("store"), "--worker-executable", test
    ).run()
    #expect(result.status == 65 && result.errors.contains("the compositor does not get up"), "\(result.errors)")
  }

  @Test
  func `a farm tries compositors on workers that have them, before it renders`() async throws {
    defer { files.remove() }
    let farm = try await Farm(workers: 2, slots: 2)
    defer { farm.stop() }
    try farm.startWorker(program: "TestWorker")
    let submitted = try await farm.sheaf("submit", try refused()).run()
    let job = submitted.output.trimmingCharacters(in: .whitespacesAndNewlines)
    try await farm.eventually("the end of the job") {
      try await farm.status(of: job, as: Status.self).state == "failed"
    }
    let status = try await farm.sheaf("status", job).run()
    expectRefusals(status.output, "\(status.output)")
    // Another document of the same files is tried too, and then measured and rendered, by the worker that has the
    // compositor: those that do not have been given no task more.
    let edit = try edit("edit.json") { text in
      text.replacingOccurrences(of: "\"diagonal-blinds\"", with: "\"faulty\"")
        .replacingOccurrences(of: "\"export\": {", with: "\"export\": { \"video\": { \"bitRate\": 200000 },")
    }
    let before = try (0...1).map { try farm.tasksStarted(byWorker: $0) }
    let other = try await farm.sheaf("submit", edit).run()
    try #require(other.status == 0, "\(other.errors)")
    let good = other.output.trimmingCharacters(in: .whitespacesAndNewlines)
    try await farm.waitUntil(job: good) { $0.state == "done" }
    #expect(try (0...1).map { try farm.tasksStarted(byWorker: $0) } == before)
    #expect(try farm.tasksStarted(byWorker: 2) > 3)
  }

  @Test
  func `any cut of an instruction with a compositor decodes to the same pictures`() async throws {
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "a.mov", "b": "b.mov" },
        "tracks": [ { "id": "A", "clips": [ { "asset": "a", "use": "0..3" } ] },
                    { "id": "B", "clips": [ { "asset": "b", "use": "0..2", "at": 1/2, "fit": "none" } ] } ],
        "videoComposition": { "renderSize": [128, 96], "frameDuration": "1/24", "instructions": [
          { "over": "0..1/4", "passthrough": "A" },
          { "over": "1/4..3", "layers": [ { "track": "A", "opacity": 0.5 }, { "track": "B" } ], "background": "#303030",
            "compositor": { "name": "moving-border", "parameters": { "left": "A", "right": "B" } } } ] },
        "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
      """.replacingOccurrences(of: "\"at\": 1/2", with: "\"at\": \"1/2\""), to: "edit.json")
    var hashes: [[FrameHashes.Frame]] = []
    for duration in TestExtent.of(["100", "5/24"], whole: ["100", "1", "5/24"]) {
      let film = files.path("film.mkv")
      let render = try await TestFilm.render(edit, film, segmentDuration: duration, worker: "TestWorker")
      try #require(render.status == 0, "\(render.errors)")
      hashes.append(try await FrameHashes.video(film).frames)
      try FileManager.default.removeItem(atPath: film)
    }
    #expect(hashes[0].count == 72 && Set(hashes[0].map(\.hash)).count > 60)
    for cut in hashes.dropFirst() { #expect(cut == hashes[0]) }
  }

  /// Pixels of one frame's first row, of a film whose frames have so many bytes.
  private func bar(_ luma: Data, frame: Int, width: Int, size: Int) -> (width: Int, luma: UInt8) {
    let row = luma[(luma.startIndex + frame * size)..<(luma.startIndex + frame * size + width)]
    return (row.count { $0 > 50 }, row.max() ?? 0)
  }

  @Test
  func `metadata drives a compositor and a text, at any cut into segments`() async throws {
    defer { files.remove() }
    func document(_ overlays: String) -> String {
      """
      { "sheaf": 1, "assets": { "a": "a.mov" },
        "tracks": [
          { "id": "A", "clips": [ { "asset": "a", "use": "0..3" } ] },
          { "id": "level", "type": "metadata", "values": [
            { "over": "1/4..2", "value": [0, 42] }, { "over": "2..5/2", "value": 120 } ] },
          { "id": "tone", "type": "metadata", "values": [
            { "at": 0, "value": "dark" }, { "at": 1, "value": "bright" } ] } ],
        "videoComposition": { "renderSize": [128, 96], "frameDuration": "1/24",
          "instructions": [ { "over": "0..3", "layers": [],
            "compositor": { "name": "gauge", "metadata": ["level", "tone"] } } ],
          "overlays": [ \(overlays) ] },
        "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
      """
    }
    let text = """
      { "text": { "track": "tone", "prefix": "[", "suffix": "]" }, "size": 12, "anchor": "bottom" },
      { "text": { "track": "level", "decimals": 0 }, "size": 12, "anchor": "right" }
      """
    // The same texts, written one by one.
    var written = [
      #"{ "text": "[dark]", "over": "0..1", "size": 12, "anchor": "bottom" }"#,
      #"{ "text": "[bright]", "over": "1..3", "size": 12, "anchor": "bottom" }"#,
      #"{ "text": "120", "over": "2..5/2", "size": 12, "anchor": "right" }"#,
    ]
    for frame in 6..<48 {
      written.append(
        #"{ "text": "\#(frame - 6)", "over": "\#(frame)/24..\#(frame + 1)/24", "size": 12, "anchor": "right" }"#)
    }
    let edit = try files.write(document(text), to: "edit.json")
    let plain = try files.write(document(written.joined(separator: ", ")), to: "plain.json")
    let film = files.path("film.mkv")
    var hashes: [[FrameHashes.Frame]] = []
    for (document, duration) in [(edit, "100"), (edit, "5/12"), (plain, "100")] {
      let render = try await TestFilm.render(document, film, segmentDuration: duration, worker: "TestWorker")
      try #require(render.status == 0, "\(render.errors)")
      hashes.append(try await FrameHashes.video(film).frames)
    }
    #expect(hashes[0].count == 72)
    #expect(hashes[1] == hashes[0])
    #expect(hashes[2] == hashes[0])
    let luma = try Tool.ffmpeg("-i", film, "-pix_fmt", "yuv420p", "-f", "rawvideo", "-")
    for frame in 0..<72 {
      let shown = bar(luma, frame: frame, width: 128, size: 128 * 96 * 3 / 2)
      // 42 pixels in 42 frames, from frame 6 on; then 120 for half a second.
      let expected = frame < 6 ? 0 : frame < 48 ? frame - 6 : frame < 60 ? 120 : 0
      #expect(shown.width == expected, "frame \(frame)")
      if expected > 0 { #expect(shown.luma == (frame < 24 ? 100 : 200), "frame \(frame)") }
    }
  }

  @Test
  func `a compositor that asks for metadata that it is not given fails with the reason`() async throws {
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "a.mov" }, "tracks": [ { "id": "A", "clips": [ { "asset": "a" } ] } ],
        "videoComposition": { "instructions": [ { "over": "0..3", "layers": [], "compositor": { "name": "gauge" } } ] } }
      """, to: "edit.json")
    let result = try await TestFilm.render(edit, files.path("film.mp4"), worker: "TestWorker")
    #expect(result.status == 65)
    #expect(
      result.errors.contains("asks for the metadata track 'level'; it is given none: name it in 'metadata'"),
      "\(result.errors)")
  }
}

import CompositionModel
import EditDocument
import TestEdits
import Testing

@Suite struct OnePassTests {
  private let text = """
    { "sheaf": 1, "colour": 1,
      "assets": { "v": "v.mov", "gone": "gone.mov", "s": "s.m4a" },
      "tracks": [
        { "id": "A", "clips": [
          { "asset": "v", "use": "0..61" },
          { "asset": "v", "use": "0..5", "opacty": 1 },
          { "asset": "gone", "use": "0..5" },
          { "asset": "s" } ] },
        { "id": "music", "type": "audio", "clips": [ { "asset": "s", "use": "50..80" } ] } ],
      "videoComposition": { "renderSize": [641, 480] },
      "audioMix": { "muzic": [ { "volume": 20 } ] },
      "export": { "to": "a.mp4", "video": { "preset": "fats" }, "audio": { "codec": "pcm" } } }
    """

  @Test func `every problem is reported at once with those of the media`() throws {
    var assets = try standardAssets()
    assets["gone"] = nil
    let found = try problems(text, assets: assets, unreadable: ["gone": "there is no file 'gone.mov'"])
    #expect(
      Set(found.map(\.pointer)) == [
        "/colour", "/assets/gone", "/tracks/0/clips/0/use", "/tracks/0/clips/1/opacty", "/tracks/0/clips/3/asset",
        "/tracks/1/clips/0/use", "/videoComposition/renderSize", "/audioMix/muzic", "/audioMix/muzic/0/volume",
        "/export/video/preset", "/export/audio/codec",
      ])
    #expect(found.count == 11)
  }

  @Test func `parsing alone reports every problem of the text`() {
    do {
      _ = try Document.parse(Array(text.utf8))
      Issue.record("accepted")
    } catch {
      #expect(error.problems.count == 5, "\(error)")
    }
  }

  @Test func `a problem does not cause others`() throws {
    // The second clip's place depends on the first's length, the transition's cover on both.
    let found = try problems(
      documentText(
        tracks: """
          [{"id": "A", "clips": [{"asset": "v", "use": "0..x"}, {"asset": "w", "use": "0..5"}]},
           {"id": "B", "clips": [{"asset": "w", "use": "0..5", "at": 2}]}]
          """,
        """
        "videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "4..6"}], "overlays": [{"text": "x", "over": "90..99"}]}
        """))
    #expect(found.map(\.pointer) == ["/tracks/0/clips/0/use"])
  }

  @Test func `a problem that leaves the times known hides no other`() throws {
    let found = try problems(
      documentText(
        tracks: """
          [{"id": "A", "clips": [{"asset": "v", "use": "0..5", "ramps": [{"over": "0..6", "opacity": [0, 1]}]},
            {"asset": "w", "use": "0..5", "at": 4, "opacity": 2}]}]
          """,
        #""videoComposition": {"overlays": [{"text": "x", "over": "90..99"}]}"#))
    #expect(
      found.map(\.pointer) == [
        "/tracks/0/clips/1/opacity", "/tracks/0/clips/0/ramps/0", "/tracks/0/clips/1",
      ])
  }

  @Test func `a clip's ramps are checked even if its use is wrong`() throws {
    let found = try problems(
      documentText(
        tracks: """
          [{"clips": [{"asset": "v", "use": "0..99",
            "ramps": [{"over": "0..3", "opacity": [0, 1]}, {"over": "2..4", "opacity": [0, 1]}]}]}]
          """))
    #expect(Set(found.map(\.pointer)) == ["/tracks/0/clips/0/use", "/tracks/0/clips/0/ramps/1"])
  }

  @Test func `a track without a usable name or type does not hide the problems of its clips`() throws {
    for header in [#""id": 5"#, #""type": "movie""#] {
      let found = try problems(
        documentText(
          tracks: "[{ \(header), \"clips\": [{ \"asset\": \"v\", \"opacity\": 2, \"ramps\": [{ \"opacity\": 3 }] }] }]",
          #""audioMix": { "music": 1 }"#))
      let key = header.contains("id") ? "id" : "type"
      #expect(
        Set(found.map(\.pointer)) == [
          "/tracks/0/\(key)", "/tracks/0/clips/0/opacity", "/tracks/0/clips/0/ramps/0/opacity",
        ])
    }
  }

  @Test func `an unknown codec does not hide the problems of other settings`() throws {
    let export = """
      { "to": "a.mkv", "video": { "codec": "theora", "keyframeInterval": 0, "pixelFormat": "rgb" },
        "audio": { "codec": "midi", "sampleRate": 5, "channels": "two" } }
      """
    let found = try problems(documentText(tracks: #"[{"clips": [{"asset": "v"}]}]"#, export: export))
    #expect(
      Set(found.map(\.pointer)) == [
        "/export/video/codec", "/export/video/keyframeInterval", "/export/video/pixelFormat", "/export/audio/codec",
        "/export/audio/sampleRate", "/export/audio/channels",
      ])
  }

  @Test func `an asset that was not probed is a problem`() throws {
    let found = try problems(documentText(tracks: #"[{"clips": [{"asset": "v"}]}]"#), assets: [:])
    #expect(Set(found.map(\.pointer)) == ["/assets/v", "/assets/w", "/assets/mute", "/assets/s", "/assets/logo"])
  }

  @Test func `the problem of text that is not JSON has its place`() {
    do {
      _ = try Document.parse(Array("{\n  \"sheaf\": 1,\n}".utf8))
      Issue.record("accepted")
    } catch {
      #expect(error.problems.count == 1)
      #expect(error.problems[0].message.contains("line 3, column 1"))
    }
  }

  @Test(arguments: [
    ("{\n  \"a\": [\n    1,\n    2\n  \"b\": 3\n}", "value of an array, of the array that begins in line 2"),
    ("{\n  \"a\": {\n    \"b\": 1\n  \"c\": 3\n}", "the value of \"b\", of the object that begins in line 2"),
    ("[1, 2 3]", "value of an array"),
  ])
  func `what is not closed is said to begin where it does`(text: String, message: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(text.utf8)) }
    #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "")")
  }

  @Test func `a document of many problems has a short report`() throws {
    let clips = Array(repeating: #"{"aset": "v"}"#, count: 20_000).joined(separator: ",")
    let found = try problems(documentText(tracks: "[{\"clips\": [\(clips)]}]"))
    #expect(found.count < 1000)
    #expect(found.last?.message.contains("more problems") == true)
  }

  @Test func `an unknown track in one instruction does not hide the gaps and the ends of the others`() throws {
    let found = try problems(
      documentText(
        tracks: #"[{"id": "A", "clips": [{"asset": "v", "use": "0..10"}]}]"#,
        """
        "videoComposition": {"instructions": [
          {"over": "0..2", "layers": [{"track": "A"}]}, {"over": "3..4", "layers": [{"track": "B"}]},
          {"over": "3.5..5", "passthrough": "C"}, {"over": "nonsense", "layers": []}, 7,
          {"over": "6..8", "layers": [{"track": "A"}]}]}
        """))
    #expect(
      found.map(\.pointer) == [
        "/videoComposition/instructions/1/layers/0/track", "/videoComposition/instructions/2/passthrough",
        "/videoComposition/instructions/3/over", "/videoComposition/instructions/4",
        "/videoComposition/instructions/1/over", "/videoComposition/instructions/2/over",
        "/videoComposition/instructions/5/over",
      ])
    #expect(found[4].message.contains("leaves a gap") && found[5].message.contains("overlaps"))
    #expect(found[6].message.contains("ends at 8, before the film"))
  }

  @Test func `a document without an output is examined in the first container that can store what it names`() throws {
    func provisional(_ export: String) throws -> String {
      let text = documentText(tracks: #"[{"clips": [{"asset": "v", "use": "0..1"}]}]"#, export: export)
      let document = try Document.examine(Array(text.utf8))
      #expect(document.lacksOutput)
      let output = document.provisionalOutput
      _ = try Document.parse(Array(text.utf8), output: output).lower(assets: standardAssets(), output: output)
      return output
    }
    #expect(try provisional("{}") == "film.mp4")
    #expect(try provisional(#"{"video": {"codec": "prores422"}}"#) == "film.mov")
    #expect(try provisional(#"{"video": {"codec": "vp9"}, "audio": {"codec": "pcm"}}"#) == "film.mkv")
    #expect(try provisional(#"{"video": false, "audio": {"codec": "mp3"}}"#) == "film.mp4")
    #expect(try provisional(#"{"preset": "1280x720"}"#) == "film.mp4")
  }
}

import CompositionModel
import EditDocument
import TestEdits
import Testing

private let film = #"[{"id": "A", "sound": true, "clips": [{"asset": "v", "use": "0..10"}]}]"#

private func text(_ export: String, size: String = "[1280, 720]") -> String {
  documentText(tracks: film, "\"videoComposition\": {\"renderSize\": \(size)}", export: export)
}
private func outputs(_ outputs: String, _ others: String = "") -> String {
  text("{\(others)\"outputs\": [\(outputs)]}")
}
private let high = #"{"name": "high", "container": "mp4"}"#

/// Documents with several outputs.
@Suite struct OutputsTests {
  @Test func `an output has what export sets, and sets the rest itself`() throws {
    let edit = try lowered(
      outputs(
        """
        \(high),
        {"name": "low", "container": "mp4", "height": 360, "video": {"quality": 30}, "optimizeForNetworkUse": false},
        {"name": "rate", "container": "mov", "size": [854, 480], "video": {"bitRate": 900000},
         "audio": {"bitRate": 64000}},
        {"name": "web", "container": "webm", "video": {"codec": "vp9"}, "audio": {"codec": "opus"}},
        {"name": "sound", "container": "m4a", "video": false}
        """,
        #""video": {"codec": "h264", "quality": 20, "preset": "slow", "keyframeInterval": 50}, "#
          + #""audio": {"bitRate": 128000}, "metadata": {"title": "T"}, "#
      ))
    let found = try #require(edit.outputs)
    #expect(found.map(\.fileName) == ["high.mp4", "low.mp4", "rate.mov", "web.webm", "sound.m4a"])
    #expect(
      found.map(\.export.size) == [nil, .init(width: 640, height: 360), .init(width: 854, height: 480), nil, nil])
    let videos = found.map(\.export.video)
    #expect(videos[0]?.rateControl == .quality(20) && videos[0]?.preset == "slow")
    #expect(videos[1]?.rateControl == .quality(30) && videos[1]?.preset == "slow")
    #expect(videos[2]?.rateControl == .averageBitRate(900_000) && videos[2]?.preset == "slow")
    #expect(videos[3]?.codec == .vp9 && videos[3]?.preset != "slow" && videos[3]?.rateControl != .quality(20))
    #expect(videos[4] == nil)
    #expect(videos.compactMap(\.self).allSatisfy { $0.keyframeInterval == 50 && $0.sceneCuts == false })
    #expect(found.map(\.export.audio?.bitRate) == [128_000, 128_000, 64_000, found[3].export.audio?.bitRate, 128_000])
    #expect(found[3].export.audio?.codec == .opus)
    #expect(found.map(\.export.optimizeForNetworkUse) == [true, false, true, true, true])
    #expect(found.allSatisfy { $0.export.metadata == ["title": "T"] })
    #expect(edit.export == found[0].export)
  }

  @Test func `languages and titles are those of all outputs whose containers can state them`() throws {
    let edit = try lowered(
      outputs(
        #"""
        \#(high), {"name": "web", "container": "webm"}, {"name": "sound", "container": "mp3", "video": false},
        {"name": "other", "container": "mkv", "video": {"codec": "ffv1", "title": "M"}, "audio": {"language": "fra"}}
        """#, #""video": {"language": "eng", "title": "T"}, "audio": {"language": "deu"}, "#))
    let found = try #require(edit.outputs?.map(\.export))
    let label = TrackLabel(language: "eng", title: "T")
    #expect(found.map(\.videoLabel) == [label, label, nil, TrackLabel(language: "eng", title: "M")])
    #expect(found.map(\.audioLabel?.language) == ["deu", "deu", nil, "fra"])
  }

  @Test func `settings of export without a codec are for H.264 and AAC, and not for what other containers have`() throws
  {
    let edit = try lowered(
      outputs(
        #"\#(high), {"name": "web", "container": "webm"}, {"name": "own", "container": "webm", "video": {"codec": "vp9"}}"#,
        #""video": {"quality": 40, "preset": "slow", "keyframeInterval": 50}, "audio": {"bitRate": 96000}, "#))
    let found = try #require(edit.outputs)
    #expect(found.map(\.export.video?.codec) == [.h264, .vp9, .vp9] && found[1].export.audio?.codec == .opus)
    #expect(found[0].export.video?.preset == "slow" && found[0].export.video?.rateControl == .quality(40))
    let alone = try lowered(text(#"{"to": "a.webm"}"#)).export
    for output in found[1...] {
      #expect(output.export.video?.preset == alone.video?.preset)
      #expect(output.export.video?.rateControl == alone.video?.rateControl)
      #expect(output.export.audio?.bitRate == alone.audio?.bitRate && output.export.video?.keyframeInterval == 50)
    }
  }

  @Test func `chapters and captions are those of the outputs that can have them`() throws {
    var assets = try standardAssets()
    assets["mute"] = try SyntheticAssets.captions(hasStyles: true)
    assets["w"] = assets["mute"]
    func edit(_ containers: [String]) throws -> String {
      let list = containers.map { "{\"name\": \"\($0)\", \"container\": \"\($0)\"}" }.joined(separator: ", ")
      return documentText(
        tracks: film,
        #""captions": [{"asset": "w", "as": "track"}, {"asset": "mute"}], "#
          + #""videoComposition": {"renderSize": [1280, 720]}"#,
        export: #"{"chapters": [{"at": 1, "title": "C"}], "outputs": [\#(list)]}"#)
    }
    let found = try lowered(edit(["mkv", "webm", "m4a", "wav"]), assets: assets)
    #expect(found.outputs?.map { $0.export.chapters?.count ?? 0 } == [1, 1, 1, 0])
    func carried(_ captions: [Captions]?) -> Int {
      captions?.count { if case .track = $0.use { true } else { false } } ?? 0
    }
    #expect(found.outputs?.map { carried($0.captions) } == [1, 1, 0, 0])
    #expect(found.outputs?.map { ($0.captions?.count ?? 0) - carried($0.captions) } == [1, 1, 0, 0])
    let wrong = try problems(edit(["wav", "mp3"]), assets: assets)
    #expect(Set(wrong.map(\.pointer)) == ["/export/chapters", "/captions/0/as", "/captions/1"])
    let chapters = wrong.first { $0.pointer == "/export/chapters" }
    #expect(chapters?.message.contains("mp4, mov, m4v, m4a, mkv, webm") == true, "\(wrong)")
  }

  @Test func `a subtitle track and artwork are those of the outputs that can have them`() throws {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.captions(hasStyles: true)
    assets["mute"] = try SyntheticAssets.still()
    func edit(_ containers: [String]) throws -> String {
      let list = containers.map { "{\"name\": \"\($0)\", \"container\": \"\($0)\"}" }.joined(separator: ", ")
      return documentText(
        tracks: "\(film.dropLast()), {\"type\": \"subtitle\", \"clips\": [{\"asset\": \"w\"}]}]",
        export: #"{"artwork": "mute", "outputs": [\#(list)]}"#)
    }
    let found = try lowered(edit(["mkv", "webm", "m4a", "wav"]), assets: assets)
    #expect(found.outputs?.map { $0.captions?.count ?? 0 } == [1, 1, 0, 0])
    #expect(found.outputs?.map { $0.export.artwork != nil } == [true, false, true, false])
    let wrong = try problems(edit(["wav"]), assets: assets)
    #expect(Set(wrong.map(\.pointer)) == ["/tracks/1", "/export/artwork"])
  }

  @Test func `keyframes are at scene cuts too if all outputs say so`() throws {
    let edit = try lowered(
      outputs(#"\#(high), {"name": "low", "container": "mp4", "height": 360}"#, #""video": {"sceneCuts": true}, "#))
    #expect(edit.outputs?.map(\.export.video?.sceneCuts) == [nil, nil])
    #expect(try lowered(text(#"{"to": "a.mp4"}"#)).export.video?.sceneCuts == nil)
    #expect(try lowered(text(#"{"to": "a.mp4", "video": {"sceneCuts": false}}"#)).export.video?.sceneCuts == false)
  }

  @Test func `the interval of keyframes is not for codecs whose frames are all keyframes`() throws {
    let master = #"{"name": "m", "container": "mov", "video": {"codec": "ffv1"}}"#
    let edit = try lowered(outputs("\(master), \(high)", #""video": {"codec": "h264", "keyframeInterval": 50}, "#))
    #expect(edit.outputs?.map(\.export.video?.keyframeInterval) == [1, 50])
    let low = #"{"name": "low", "container": "mp4", "video": {"keyframeInterval": 10}}"#
    let wrong = try problems(outputs("\(master), \(high), \(low)")).map { "\($0)" }
    #expect(wrong.count == 1 && wrong[0].contains("'high'"), "\(wrong)")
  }

  @Test func `the width follows from the height, even and nearest`() throws {
    for (height, width) in [(480, 854), (240, 426), (144, 256), (2, 4), (1080, 1920)] {
      let edit = try lowered(outputs("{\"name\": \"a\", \"container\": \"mp4\", \"height\": \(height)}"))
      #expect(edit.outputs?[0].export.size == PixelSize(width: width, height: height))
    }
    // Both roundings of 853 1/3.
    for width in [852, 854] {
      #expect(try problems(outputs("{\"name\": \"a\", \"container\": \"mp4\", \"size\": [\(width), 480]}")).isEmpty)
    }
  }

  @Test func `pictures that are enlarged are a warning`() throws {
    let document = try Document.parse(
      Array(outputs(#"{"name": "a", "container": "mp4", "height": 1080}"#).utf8))
    let warnings = try document.lowerWithWarnings(assets: try standardAssets(), output: nil).warnings
    let own = warnings.filter { $0.pointer.hasPrefix("/export") }
    #expect(own.map(\.pointer) == ["/export/outputs/0/height"])
    #expect(own.first?.message.contains("1280x720 are enlarged to 1920x1080") == true)
  }

  @Test(arguments: [
    Wrong(outputs(""), "/export/outputs", "0 outputs", "1 to 8"),
    Wrong(outputs(Array(repeating: high, count: 9).joined(separator: ",")), "/export/outputs", "9 outputs"),
    Wrong(text(#"{"outputs": {}}"#), "/export/outputs", "array of outputs"),
    Wrong(outputs(#"{"container": "mp4"}"#), "/export/outputs/0", "needs 'name'"),
    Wrong(outputs(#"{"name": "a"}"#), "/export/outputs/0", "needs 'container'"),
    Wrong(outputs(#"{"name": "a", "container": "avi"}"#), "/export/outputs/0/container", "'avi'", "mp4"),
    Wrong(outputs(#"{"name": "../a", "container": "mp4"}"#), "/export/outputs/0/name", "\"../a\"", "letters, digits"),
    Wrong(outputs(#"{"name": ".a", "container": "mp4"}"#), "/export/outputs/0/name", "not first"),
    Wrong(outputs(#"{"name": "ü", "container": "mp4"}"#), "/export/outputs/0/name", "letters, digits"),
    Wrong(
      outputs("{\"name\": \"\(String(repeating: "a", count: 65))\", \"container\": \"mp4\"}"), "/export/outputs/0/name",
      "1 to 64"),
    Wrong(
      outputs(#"\#(high), {"name": "HIGH", "container": "mkv"}"#),
      "/export/outputs/1/name", "/export/outputs/0/name"),
    Wrong(
      outputs(#"{"name": "a", "container": "mp4", "size": [640, 480]}"#),
      "/export/outputs/0/size", "1280x720", "854x480", "640x360"),
    Wrong(
      outputs(#"{"name": "a", "container": "mp4", "height": 361}"#),
      "/export/outputs/0/height", "361 is odd", "360"),
    Wrong(
      outputs(#"{"name": "a", "container": "mp4", "size": [641, 360]}"#),
      "/export/outputs/0/size", "odd side", "640x360"),
    Wrong(
      outputs(#"{"name": "a", "container": "mp4", "size": [640, 360], "height": 360}"#), "/export/outputs/0/size",
      "not both"),
    Wrong(outputs(#"{"name": "a", "container": "mp4", "to": "b.mp4"}"#), "/export/outputs/0/to", "the folder of 'to'"),
    Wrong(
      outputs(#"{"name": "a", "container": "mp4", "timeRange": "0..1"}"#), "/export/outputs/0/timeRange",
      "give it in 'export'"),
    Wrong(outputs(#"{"name": "a", "container": "mp4", "preset": "640x480"}"#), "/export/outputs/0/preset", "'height'"),
    Wrong(outputs(high, #""preset": "passthrough", "#), "/export/preset", "'passthrough'", "'outputs'"),
    Wrong(outputs(high, #""preset": "1280x720", "#), "/export/preset", "a preset is of one output"),
    Wrong(outputs(high, #""video": {"quality": 99}, "#), "/export/video/quality", "99"),
    Wrong(
      outputs(#"{"name": "a", "container": "webm", "video": {"codec": "h264"}}"#), "/export/outputs/0/video/codec",
      "h264 cannot be stored in webm"),
    Wrong(
      outputs(#"\#(high), {"name": "b", "container": "mp4", "video": {"keyframeInterval": 10}}"#),
      "/export/outputs/1/video/keyframeInterval", "10 frames here", "'high'", "'video' of 'export'"),
    // Without an interval keyframes are elsewhere.
    Wrong(
      outputs(#"\#(high), {"name": "b", "container": "mp4", "video": {"keyframeInterval": 50}}"#),
      "/export/outputs/1/video/keyframeInterval", "50 frames here and not given", "'high'"),
    Wrong(
      outputs(#"\#(high), {"name": "b", "container": "mp4", "video": {"pixelFormat": "yuv420p10", "codec": "hevc"}}"#),
      "/export/outputs/1/video/pixelFormat", "yuv420p10 here and yuv420p"),
    Wrong(
      outputs(#"\#(high), {"name": "b", "container": "mp4", "video": {"sceneCuts": true}}"#),
      "/export/outputs/1/video/sceneCuts", "true here and false"),
    Wrong(
      outputs(#"{"name": "a", "container": "m4a", "video": false, "audio": false}"#), "/export/outputs/0",
      "nothing would be in the output"),
  ])
  func `what is wrong with outputs is reported in its place`(_ wrong: Wrong) throws {
    let found = try problems(wrong.text)
    #expect(found.count == 1, "\(found)")
    let problem = try #require(found.first)
    #expect(problem.pointer == wrong.pointer, "\(problem)")
    for word in wrong.words { #expect(problem.message.contains(word), "'\(problem.message)' lacks '\(word)'") }
  }

  @Test func `the problems of all outputs are reported at once, each once`() throws {
    let found = try problems(
      outputs(
        """
        {"name": "a", "container": "webm", "video": {"codec": "h264"}}, {"name": "b", "container": "mp4", "height": 361},
        {"name": "c", "container": "mp4", "size": [640, 480]}
        """, #""timeRange": "0..100", "#))
    #expect(
      found.map(\.pointer).sorted() == [
        "/export/outputs/0/video/codec", "/export/outputs/1/height", "/export/outputs/2/size", "/export/timeRange",
      ])
  }

  @Test func `the path of outputs is a folder`() throws {
    let document = try Document.parse(Array(outputs(high, #""to": "films", "#).utf8))
    #expect(document.hasOutputs && document.outputPath == "films" && document.outputFiles == ["high.mp4"])
    #expect(document.problem(ofOutput: "anything") == nil && document.problem(ofOutput: nil) == nil)
  }
}

import CompositionModel
import Foundation
import TestEdits
import Testing

@testable import EditDocument

/// Documents that are assets of documents.
@Suite struct NestedDocumentTests {
  /// A document of a video `v`, with settings of its own.
  private static let inner = #"""
    { "sheaf": 1, "assets": { "v": "media/v.mov" },
      "tracks": [ { "sound": false, "clips": [ { "asset": "v", "use": "1..3" }, { "asset": "v", "use": "5..6" } ] } ],
      "videoComposition": { "renderSize": [640, 360], "frameRate": 24 } }
    """#

  /// A document with an asset `n` that is a document, and with a video of its own.
  private func text(
    _ inner: String = Self.inner, keys: String = "", clips: String = #"{ "asset": "n" }"#, tracks: String = ""
  ) -> String {
    """
    { "sheaf": 1, "assets": { "v": "v.mov", "n": { "document": \(inner) \(keys) } },
      "tracks": [ { "sound": false, "clips": [ \(clips), { "asset": "v", "use": "0..1" } ] } \(tracks) ],
      "export": { "to": "out.mkv" } }
    """
  }

  private func lowered(_ text: String) throws -> Edit {
    let document = try Document.parse(Array(text.utf8))
    return try document.lower(assets: try films(document), output: nil)
  }

  private func problems(_ text: String) throws -> [Problem] {
    do {
      let document = try Document.examine(Array(text.utf8))
      _ = try document.lower(assets: try films(document), output: nil)
      return []
    } catch let error as DocumentError {
      return error.problems
    }
  }

  /// Every file is a video of ten seconds.
  private func films(_ document: ExaminedDocument) throws -> [AssetID: AssetDescription] {
    try Dictionary(
      document.assetPaths.map { ($0.id, try SyntheticAssets.video(seconds: MediaTime(seconds: 10))) }
    ) { first, _ in first }
  }

  /// Its pictures have the colours of the film that shows them, whatever that is.
  @Test func `one of drawn pictures alone does not decide the colours of the film before a video does`() throws {
    let drawn = """
      { "sheaf": 1, "assets": { "c": { "color": "#402060" } },
        "tracks": [ { "clips": [ { "asset": "c", "duration": 1 } ] } ],
        "videoComposition": { "renderSize": [640, 360], "frameRate": 24 } }
      """
    let film = try #require(try lowered(text(drawn)).export.video)
    #expect(film.colour == FilmColour.bt709.tags)
    // What is lost of the video's colours is said, as where it is the first.
    let hlg = ColourTags(primaries: "bt2020", transfer: "arib-std-b67", matrix: "bt2020nc")
    let document = try Document.parse(Array(text(drawn).replacing("out.mkv", with: "out.mp4").utf8))
    let assets = try films(document).mapValues { _ in
      try SyntheticAssets.video(
        seconds: MediaTime(seconds: 10), pixelFormat: "yuv420p10le", bitDepth: 10, colour: hlg)
    }
    let (edit, warnings) = try document.lowerWithWarnings(assets: assets, output: nil)
    #expect(edit.export.video?.colour == FilmColour.bt709.tags)
    #expect(
      warnings.contains { $0.pointer == "/export/video" && $0.message.contains("although its first clip is HDR (HLG)") }
    )
    // It does where it is all that there is.
    let alone = text(drawn).replacingOccurrences(of: #", { "asset": "v", "use": "0..1" }"#, with: "")
      .replacingOccurrences(of: #""v": "v.mov", "#, with: "")
    #expect(try lowered(alone).export.video?.colour == ColourTags())
  }

  @Test func `it is a video of its own size, rate and length`() throws {
    let edit = try lowered(text(clips: #"{ "asset": "n", "use": "1/2..2" }"#))
    let nested = try #require(edit.nested?["n"])
    #expect(nested.edit.composition.tracks.map(\.clips.count) == [2])
    #expect(nested.edit.composition.tracks[0].clips.map(\.asset) == ["v", "v"])
    let track = try #require(nested.contents.defaultTrack(.video))
    let format = try #require(track.video)
    #expect(format.size == PixelSize(width: 640, height: 360) && !format.hasAlpha && !format.isStill)
    #expect(track.timebase == MediaTime(value: 1, timescale: 24) && format.frames.count == 72)
    #expect(format.frames.last == 71 && format.nominalFrameRate == MediaTime(seconds: 24))
    #expect(nested.contents.duration == MediaTime(seconds: 3) && nested.contents.tracks.count == 1)
    #expect(edit.composition.tracks[0].clips[0].source == (try MediaTimeRange(start: at("1/2"), end: at("2"))))
  }

  @Test func `its files have its name before theirs, and its folder before their paths`() throws {
    let deeper =
      #"{ "sheaf": 1, "assets": { "d": { "document": \#(Self.inner), "folder": "sub" } },"#
      + #" "tracks": [ { "clips": [ { "asset": "d" } ] } ] }"#
    let document = try Document.parse(Array(text(deeper, keys: #", "folder": "titles""#).utf8))
    let files = document.assetPaths
    #expect(files.map(\.id) == ["v", "n/d/v"])
    #expect(files.map(\.path) == ["v.mov", "titles/sub/media/v.mov"])
    #expect(files.map(\.pointer) == ["/assets/v", "/assets/n/document/assets/d/document/assets/v"])
    #expect(document.written.files == ["v": "v.mov", "n/d/v": "titles/sub/media/v.mov"])
  }

  @Test func `a document of sound and pictures has both`() throws {
    let sound = Self.inner.replacing(#""sound": false, "#, with: "")
    let edit = try lowered(
      text(sound, tracks: #", { "id": "a", "type": "audio", "clips": [ { "asset": "n", "use": "0..2" } ] }"#))
    #expect(edit.nested?["n"]?.contents.tracks.map(\.type) == [.video, .audio])
    #expect(edit.nested?["n"]?.contents.defaultTrack(.audio)?.audio?.channels == 2)
    #expect(edit.composition.tracks.last { $0.type == .audio }?.clips.first?.asset == "n")
  }

  @Test func `what is wrong in it has its place in the whole`() throws {
    let wrong = Self.inner.replacing(#""use": "5..6""#, with: #""use": "5..60""#).replacing("24", with: "-24")
    let found = try problems(text(wrong))
    #expect(
      found.map(\.pointer) == [
        "/assets/n/document/videoComposition/frameRate", "/assets/n/document/tracks/0/clips/1/use",
      ])
    #expect(try problems(text(keys: #", "transparent": 1"#)).map(\.pointer) == ["/assets/n/transparent"])
    #expect(try problems(text(#""other.json""#)).map(\.pointer) == ["/assets/n/document"])
    let passthrough = Self.inner.replacing(#""videoComposition""#, with: #""export": { "preset": "passthrough" }, "x""#)
    #expect(try problems(text(passthrough)).contains { $0.pointer == "/assets/n/document/export/preset" })
    #expect(
      try problems(text(keys: ##" }, "n/v": { "color": "#102030" "##)).isEmpty
        && problems(text(keys: ##" }, "x": "x.mov", "n/v": "y.mov", "m": { "color": "#000000""##)).map(\.pointer)
          == ["/assets/n~1v"]
    )
  }

  @Test func `its parameters are set, and are not those of the document around it`() throws {
    let template = #"""
      { "sheaf": 1, "parameters": { "end": { "type": "time" }, "fit": { "type": "text", "default": "cover" } },
        "assets": { "v": "v.mov" }, "tracks": [ { "clips": [ { "asset": "v", "use": "1..{{end}}", "fit": "{{fit}}" } ] } ] }
      """#
    let edit = try lowered(text(template, keys: #", "set": { "end": "7/2" }"#))
    #expect(edit.nested?["n"]?.contents.duration == (try at("5/2")))
    let outer = text(template, keys: #", "set": { "end": "{{e}}" }"#).replacing(
      #""sheaf": 1, "assets": { "v": "v.mov", "n""#,
      with: #""sheaf": 1, "parameters": { "e": { "type": "time", "default": 3 } }, "assets": { "v": "v.mov", "n""#)
    #expect(try lowered(outer).nested?["n"]?.contents.duration == MediaTime(seconds: 2))
    let place = "/assets/n/set/"
    #expect(try problems(text(template, keys: #", "set": { "end": true }"#)).map(\.pointer).contains(place + "end"))
    #expect(try problems(text(template, keys: #", "set": { "en": 1 }"#)).map(\.pointer).contains(place + "en"))
    #expect(try problems(text(keys: #", "set": { "x": 1 }"#)).map(\.pointer) == [place + "x"])
    #expect(try problems(text(template)).map(\.pointer) == ["/assets/n/document/parameters/end"])
  }

  @Test func `no two files have one name`() throws {
    let slash = text().replacing(#""n": {"#, with: #""n/v": {"#).replacing(#""asset": "n""#, with: #""asset": "n/v""#)
    #expect(try problems(slash).map(\.pointer) == ["/assets/n~1v"])
  }

  @Test func `its output's name and its other outputs do not count`() throws {
    for export in [
      #""to": "x.gif""#, #""to": "x.wav""#,
      #""to": "d", "outputs": [ { "name": "s", "container": "m4a" }, { "name": "p", "container": "mp4", "height": 180 } ]"#,
    ] {
      let inner = Self.inner.replacing(#""sound": false, "#, with: "").replacing(
        #""videoComposition""#, with: #""export": { \#(export) }, "videoComposition""#)
      let nested = try #require(try lowered(text(inner)).nested?["n"])
      #expect(nested.contents.tracks.map(\.type) == [.video, .audio], "\(export)")
      #expect(nested.contents.defaultTrack(.video)?.video?.size == PixelSize(width: 640, height: 360), "\(export)")
    }
  }

  @Test func `it is written as it is read`() throws {
    let read = try Document(json: text(keys: #", "transparent": true, "folder": "a""#))
    let nested = try #require(read.documents["n"])
    #expect(nested.isTransparent && nested.folder == "a" && nested.document.assets == ["v": "media/v.mov"])
    #expect(try Document(json: read.json) == read)
    #expect(try lowered(read.json).nested?["n"]?.contents.defaultTrack(.video)?.video?.hasAlpha == true)
  }

  @Test func `documents are nested up to eight deep`() throws {
    func nested(_ depth: Int) -> String {
      depth == 0
        ? Self.inner
        : #"{ "sheaf": 1, "assets": { "n": { "document": \#(nested(depth - 1)) } }, "#
          + #""tracks": [ { "clips": [ { "asset": "n" } ] } ], "export": { "to": "out.mkv" } }"#
    }
    #expect(try lowered(nested(8)).composition.duration == MediaTime(seconds: 3))
    let place = String(repeating: "/assets/n/document", count: 9)
    #expect(try problems(nested(9)).map(\.pointer) == [place])
  }

  @Test func `what it warns of is a warning of the whole`() throws {
    let unused = Self.inner.replacing(#""v": "media/v.mov""#, with: #""v": "media/v.mov", "w": "w.mov""#)
    let loud = unused.replacing(
      #""videoComposition""#, with: #""audioMix": { "loudness": { "target": -23 } }, "videoComposition""#
    ).replacing(#""sound": false, "#, with: "")
    let document = try Document.parse(Array(text(loud).utf8))
    let (_, warnings, times) = try document.lowerWithTimes(assets: try films(document), output: nil)
    #expect(
      Set(warnings.map(\.pointer)).isSuperset(
        of: ["/assets/n/document/assets/w", "/assets/n/document/audioMix/loudness"]))
    let place = "/assets/n/document/assets/w"
    #expect(times.ranges(at: [place])[place]?.map(\.duration) == [MediaTime(seconds: 3)])
  }
}

/// Documents of files that are assets.
@Suite struct NestedTextTests {
  private func read(_ files: [String: String], _ text: String) throws -> NestedText {
    try NestedText(Array(text.utf8), identity: "/edit.json") { path throws(NestedText.Unreadable) in
      guard let text = files[path] else { throw NestedText.Unreadable("there is no \(path)") }
      return NestedText.File(identity: "/\(path)", text: Array(text.utf8))
    }
  }

  @Test func `paths are read from the folder of the document that names them`() throws {
    let whole = try read(
      ["a/b.json": #"{ "assets": { "c": { "document": "d/c.json" } } }"#, "a/d/c.json": #"{ "x": [1, 2] }"#],
      #"{ "assets": { "b": { "document": "a/b.json", "transparent": true }, "z": "z.mov" }, "y": 1 }"#)
    #expect(
      String(decoding: whole.bytes, as: UTF8.self)
        == #"{ "assets": { "b": { "document": { "assets": { "c": { "document": { "x": [1, 2] }, "folder": "d" } } }"#
        + #", "folder": "a", "transparent": true }, "z": "z.mov" }, "y": 1 }"#)
    #expect(whole.parts.map(\.pointer) == ["/assets/b/document", "/assets/b/document/assets/c/document"])
    #expect(whole.parts.map(\.path) == ["a/b.json", "a/d/c.json"])
  }

  @Test func `a document that is an asset of itself is a problem`() throws {
    let files = [
      "a.json": #"{ "assets": { "b": { "document": "b.json" } } }"#,
      "b.json": #"{ "assets": { "a": { "document": "a.json" } } }"#,
    ]
    let text = #"{ "assets": { "a": { "document": "a.json" }, "e": { "document": "edit.json" } } }"#
    let error = #expect(throws: DocumentError.self) {
      try read(files.merging(["edit.json": "{}"]) { $1 }, text)
    }
    #expect(
      error?.problems.map(\.pointer) == [
        "/assets/a/document/assets/b/document/assets/a/document", "/assets/e/document",
      ])
  }

  @Test func `every file that cannot be read is a problem`() throws {
    let error = #expect(throws: DocumentError.self) {
      try read(
        ["bad.json": "{\n  \"x\": ]"],
        #"{ "assets": { "a": { "document": "none.json" }, "b": { "document": "bad.json" }, "c": { "document": "{" } } }"#
      )
    }
    #expect(error?.problems.map(\.pointer) == ["/assets/a/document", "/assets/b/document", "/assets/c/document"])
    #expect(error?.problems[1].message.hasPrefix("bad.json:2:8: not JSON") == true)
  }

  @Test func `documents that are named again and again are too long together`() throws {
    var files: [String: String] = [:]
    for number in 0..<7 {
      let inner = (0..<10).map { #""a\#($0)": { "document": "\#(number + 1).json" }"# }.joined(separator: ", ")
      files["\(number).json"] = #"{ "assets": { \#(inner) } }"#
    }
    files["7.json"] = "{}"
    let error = #expect(throws: DocumentError.self) {
      try read(files, #"{ "assets": { "a": { "document": "0.json" } } }"#)
    }
    #expect(error?.problems.count == 1 && error?.problems[0].message.contains("more than") == true)
  }

  @Test func `a text without documents of files stays as it is`() throws {
    for text in [#"{ "assets": { "a": "b.json", "c": { "document": {} } } }"#, "[1, 2", ""] {
      let whole = try read([:], text)
      #expect(whole.bytes == Array(text.utf8) && whole.parts.isEmpty)
    }
  }
}

import CompositionModel
import EditDocument
import Foundation
import TestEdits
import TestPrograms
import Testing

/// Every example of the document's pages and of `Examples` is a valid document.
@Suite struct DocumentationTests {
  private func examples() throws -> [String] { try PublishedPage.ofDocument().flatMap { $0.blocks(of: "json") } }

  /// Media for any example: of the kind that a path's extension names, an hour long.
  private func assets(of document: ExaminedDocument) throws -> [AssetID: AssetDescription] {
    let hour = MediaTime(seconds: 3600)
    var assets: [AssetID: AssetDescription] = [:]
    for (id, path, _) in document.assetPaths {
      switch path.split(separator: ".").last {
      case "png", "jpg": assets[id] = try SyntheticAssets.still()
      case "m4a", "wav", "mp3", "flac": assets[id] = try SyntheticAssets.sound(seconds: hour)
      case "cube":
        assets[id] = AssetDescription(
          container: "cube", duration: .zero, tracks: [], colourTable: ColourTableFormat(dimensions: 3, size: 33))
      case "srt", "vtt": assets[id] = try SyntheticAssets.captions(hasStyles: false)
      case "ass": assets[id] = try SyntheticAssets.captions(hasStyles: true)
      default:
        var film = try SyntheticAssets.video(seconds: hour)
        for index in film.tracks.indices { film.tracks[index].language = "deu" }
        film.tracks += try SyntheticAssets.captions(hasStyles: false).tracks
        assets[id] = film
      }
    }
    return assets
  }

  @Test func `every example parses and lowers`() throws {
    var examples = try examples()
    #expect(examples.count >= 8)
    for name in ["first-film", "everyday-edit", "custom-transition/edit"] {
      examples.append(
        try String(
          contentsOf: PublishedPage.repository.appending(path: "Examples/\(name).json"), encoding: .utf8))
    }
    for example in examples {
      let document = try Document.parse(Array(example.utf8))
      let assets = try assets(of: document)
      let edit = try document.lower(assets: assets, output: nil)
      #expect(try edit.frameCount > 0)
      try checkRewriting(of: document.written, edit, assets: assets, output: nil)
    }
  }

  @Test func `every key is explained`() throws {
    let page = try PublishedPage.ofDocument().map(\.text).joined()
    // The problem of an unknown key lists the keys that an object may have.
    let objects = [
      "", "/tracks/0", "/tracks/0/clips/0", "/tracks/0/clips/0/ramps/0", "/videoComposition",
      "/tracks/0/clips/0/transition", "/videoComposition/transitions/0", "/videoComposition/instructions/0",
      "/videoComposition/instructions/0/layers/0",
      "/videoComposition/overlays/0", "/videoComposition/overlays/1", "/audioMix/m/0", "/export", "/export/video",
      "/export/audio", "/captions/0", "/tracks/0/clips/0/speed/0", "/tracks/1", "/tracks/1/clips/0",
    ]
    let text = """
      { "sheaf": 1, "?": 0, "assets": {},
        "tracks": [ { "?": 0, "clips": [ { "?": 0, "transition": { "?": 0 }, "ramps": [ { "?": 0 } ],
                                          "speed": [ { "?": 0 } ] } ] },
                    { "type": "subtitle", "?": 0, "clips": [ { "?": 0 } ] } ], "captions": [ { "?": 0 } ],
        "videoComposition": { "?": 0, "transitions": [ { "?": 0 } ],
          "instructions": [ { "?": 0, "layers": [ { "?": 0 } ] } ], "overlays": [ { "image": "x", "?": 0 }, { "text": "x", "?": 0 } ] },
        "audioMix": { "m": [ { "?": 0 } ] }, "export": { "?": 0, "video": { "?": 0 }, "audio": { "?": 0 } } }
      """
    let found = try problems(text).filter { $0.message.contains("unknown key '?'") }
    #expect(Set(found.map(\.pointer)) == Set(objects.map { "\($0)/?" }))
    for problem in found {
      let keys = try #require(problem.message.components(separatedBy: " are ").last)
      for key in keys.components(separatedBy: ", ") {
        #expect(page.contains("| `\(key)` |"), "\(problem.pointer): '\(key)' has no row in docs/document/")
      }
    }
  }
}

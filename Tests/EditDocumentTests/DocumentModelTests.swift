import CompositionModel
import EditDocument
import Foundation
import TestEdits
import Testing

/// A document as a Swift value: what is read of its JSON is the same, and means the same film. Every document that a
/// test lowers is compared in this way too (`checkRewriting`).
@Suite struct DocumentModelTests {
  /// The documents of the examples and of the pages.
  private func published() throws -> [String] { try PublishedDocuments.texts().filter(isDocument) }

  private func isDocument(_ text: String) -> Bool {
    let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return object?["sheaf"] != nil && object?["tracks"] != nil
  }

  /// Those that tests have kept in an earlier run. Empty: there was none.
  private func kept() throws -> [String] { try PublishedDocuments.kept() ?? [] }

  @Test func `every document of the examples and the pages equals itself when it is written and read`() throws {
    let texts = try published()
    #expect(texts.count >= 20)
    for text in texts {
      let document = try Document(json: text)
      let json = try document.json
      #expect(try Document(json: json) == document, "\(json)")
      // What is written once is written in the same way again.
      #expect(try Document(json: json).json == json)
    }
  }

  @Test func `the kept documents of the tests equal themselves when they are written and read`() throws {
    for text in try kept() {
      guard let document = try? Document(json: text) else { continue }  // Many of them are wrong.
      #expect(try Document(json: document.json) == document, "\(text)")
    }
  }

  @Test func `a document and its parts are the same after Swift's encoders`() throws {
    func coded<Value: Codable>(_ value: Value) throws -> Value {
      try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }
    for text in try published() {
      let document = try Document(json: text)
      #expect(try coded(document) == document)
      for track in document.tracks {
        #expect(try coded(track) == track)
        if case .media(let track) = track { #expect(try coded(track.clips) == track.clips) }
      }
      #expect(try coded(document.videoComposition) == document.videoComposition)
      #expect(try coded(document.videoComposition.overlays) == document.videoComposition.overlays)
      #expect(try coded(document.videoComposition.instructions) == document.videoComposition.instructions)
      #expect(try coded(document.audioMix) == document.audioMix)
      #expect(try coded(document.captions) == document.captions)
      #expect(try coded(document.export) == document.export)
    }
  }

  @Test func `a document that is made in Swift is that of its JSON`() throws {
    var clip = Document.Clip("v", use: Document.TimeRange("2..5"), at: 1)
    clip.speed = .constant(Rational(1, over: 3))
    clip.frame = Document.Rectangle(x: .percent(50), y: .pixels(0), width: .percent(50), height: .percent(50))
    clip.transform = .parts(Document.TransformParts(rotate: 12.5))
    var ramp = Document.LayerRamp(over: Document.TimeRange(from: 0, to: .frames(12)), easing: .easeOut)
    ramp.opacity = Document.Change(from: 0, to: 1)
    clip.ramps = [ramp]
    clip.filters = [Document.Filter(.blur(radius: 8)), Document.Filter(.exposure(stops: -0.5))]
    var second = Document.Clip("w")
    second.transition = Document.ClipTransition(duration: .frames(15), style: Document.TransitionStyle(.wipe))
    var film = Document()
    film.assets = ["v": "v.mov", "w": "w.mov"]
    film.tracks = [.media(Document.MediaTrack(clips: [clip, second]))]
    var title = Document.Overlay(text: "The sea")
    title.over = Document.TimeRange(from: 0, for: 2)
    film.videoComposition.overlays = [title]
    film.audioMix.tracks["music"] = Document.TrackMix(volume: .constant(0.5))
    film.export = Document.Export(to: "out.mp4")
    film.tracks.append(.media(Document.MediaTrack(.audio, id: "music")))
    let text = """
      { "sheaf": 1, "assets": { "v": "v.mov", "w": "w.mov" },
        "tracks": [
          { "clips": [
            { "asset": "v", "use": "2..5", "at": 1, "speed": "1/3", "frame": ["50%", 0, "50%", "50%"],
              "transform": { "rotate": 12.5 },
              "ramps": [ { "over": "0..12f", "opacity": [0, 1], "easing": "ease-out" } ],
              "filters": [ { "kind": "blur" }, { "kind": "exposure", "stops": -0.5 } ] },
            { "asset": "w", "transition": { "kind": "wipe", "duration": "15f" } } ] },
          { "type": "audio", "id": "music", "clips": [] } ],
        "videoComposition": { "overlays": [ { "text": "The sea", "over": "0+2" } ] },
        "audioMix": { "music": { "volume": 0.5 } }, "export": { "to": "out.mp4" } }
      """
    #expect(try Document(json: text) == film)
  }

  @Test func `a change of any kind makes another document`() throws {
    let text = try published()[1]
    let document = try Document(json: text)
    var other = document
    other.assets["another"] = "another.mov"
    #expect(other != document)
    #expect(try Document(json: other.json) == other)
  }

  @Test func `what two notations say alike is one value, which is written exactly`() throws {
    func document(_ clip: String) throws -> Document {
      try Document(
        json: #"{ "sheaf": 1, "assets": { "v": "v.mov" }, "tracks": [ { "clips": [ { "asset": "v", \#(clip) } ] } ] }"#)
    }
    for (first, second) in [
      (#""at": 0.5"#, #""at": "1/2""#), (#""at": "1:02.5""#, #""at": 62.5"#),
      (#""use": "0..0.04""#, #""use": "0..1/25""#),
      (#""speed": 0.25"#, #""speed": "1/4""#), (#""transform": { "scale": 2 }"#, #""transform": { "scale": [2, 2] }"#),
    ] {
      #expect(try document(first) == document(second))
      #expect(try Document(json: document(first).json) == document(second))
    }
    #expect(try document(#""at": "30f""#) != document(#""at": 1"#))
  }

  @Test func `numbers are written with all their digits`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let number = Double.random(in: -1000...1000, using: &random)
      let small = Double.random(in: -1...1, using: &random) * 1e-7
      var clip = Document.Clip("v")
      clip.frame = Document.Rectangle(
        x: .percent(number), y: .percent(small), width: .pixels(abs(number) + 0.1), height: .percent(abs(small) + 1e-9))
      clip.transform = .parts(Document.TransformParts(rotate: number))
      let count = Int64.random(in: 0...(1 << 40), using: &random)
      clip.at = .seconds(MediaTime(value: count, timescale: Int32.random(in: 1...(1 << 30), using: &random)))
      var film = Document()
      film.assets = ["v": "v.mov"]
      film.tracks = [.media(Document.MediaTrack(clips: [clip]))]
      #expect(try Document(json: film.json) == film)
    }
  }

  @Test func `a number that JSON cannot have is reported with its place`() throws {
    var clip = Document.Clip("v")
    clip.opacity = .nan
    var film = Document()
    film.tracks = [.media(Document.MediaTrack(clips: [clip]))]
    let error = #expect(throws: DocumentError.self) { try film.json }
    #expect(error?.problems.map(\.pointer) == ["/tracks/0/clips/0/opacity"])
  }

  @Test func `parameters that are no JSON are refused where they are`() throws {
    var instruction = Document.Instruction(over: Document.TimeRange(from: 0, to: 1))
    instruction.compositor = Document.Compositor("mix", parameters: "{")
    var film = Document()
    film.tracks = [.media(Document.MediaTrack())]
    film.videoComposition.instructions = [instruction]
    let json = try film.json
    let error = #expect(throws: DocumentError.self) { try Document(json: json) }
    #expect(
      error?.problems.map(\.pointer) == ["/videoComposition/instructions/0/compositor/parameters"])
  }
}

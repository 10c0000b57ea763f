import CompositionModel
import EditDocument
import TestEdits
import Testing

/// Documents that are valid, or nearly so, and made to exhaust time or memory.
@Suite(.timeLimit(.minutes(10))) struct HostileDocumentTests {
  private func many(_ count: Int, _ item: (Int) -> String) -> String {
    (0..<count).map(item).joined(separator: ",")
  }

  @Test func `many tracks of one clip are lowered in the time of their clips`() throws {
    let tracks = many(3000) { "{\"clips\":[{\"asset\":\"v\",\"use\":\"0..1\",\"at\":\($0)}]}" }
    let text = documentText(tracks: "[\(tracks)]")
    // Comparing every instruction with every track would take hours.
    #expect(try lowered(text).videoComposition.instructions.count == 3000)
  }

  @Test func `a stack that is too high is refused`() throws {
    let long = many(600) { _ in #"{"clips":[{"asset":"v"}]}"# }
    let cuts = many(2000) { _ in #"{"asset":"v","use":"0..1/100"}"# }
    let found = try problems(documentText(tracks: "[\(long),{\"clips\":[\(cuts)]}]"))
    #expect(found.count == 1 && found[0].message.contains("layers"))
  }

  @Test func `clips that are repeated too often together are refused once`() throws {
    let clips = many(100) { _ in #"{"asset":"v","use":"0..1/600","loop":true,"duration":16}"# }
    let found = try problems(documentText(tracks: #"[{"clips":[\#(clips)]}]"#))
    #expect(found.map { "\($0)" }.filter { $0.contains("more than 20000 times together") }.count == 1, "\(found)")
    let few = many(2) { _ in #"{"asset":"v","use":"0..1/600","loop":true,"duration":16}"# }
    #expect(try lowered(documentText(tracks: #"[{"clips":[\#(few)]}]"#)).composition.tracks[0].clips.count == 19_200)
  }

  @Test func `a long chain of ducked tracks is read in the time of its length`() throws {
    let count = 20_000
    let tracks = many(count) { #"{"id":"t\#($0)","type":"audio","clips":[]}"# }
    func mix(_ last: Int) -> String {
      many(count) { #""t\#($0)":{"duck":{"under":"t\#($0 + 1 < count ? $0 + 1 : last)"}}"# }
    }
    let text = documentText(
      tracks: #"[{"clips":[{"asset":"v"}]},\#(tracks)]"#, #""audioMix":{\#(mix(count - 3))}"#)
    // Walking from each to the end of the chain would take minutes. The last three are a circle.
    let found = try problems(text).map { "\($0)" }.filter { $0.contains("in turn") }
    #expect(found.count == 3 && found.allSatisfy { $0.contains("t1999") })
  }

  @Test func `many subtitle clips of many captions are counted without reading all`() throws {
    var assets = try standardAssets()
    assets["w"] = try SyntheticAssets.captions(hasStyles: false)
    assets["w"]?.tracks[0].captions?.events = (0..<40_000).map {
      CaptionEvent(start: 2000 + $0 / 100, end: 2001 + $0 / 100, fields: "0,0,Default,,0,0,0,,a")
    }
    let clips = many(1000) { _ in #"{"asset":"w","use":"8..8.01"}"# }
    let tracks = many(30) { #"{"id":"s\#($0)","type":"subtitle","clips":[\#(clips)]}"# }
    let text = documentText(
      tracks: #"[{"clips":[{"asset":"v","use":"0..8"}]},\#(tracks)]"#, export: #"{"to":"out.mkv"}"#)
    #expect(try lowered(text, assets: assets).captions?.count == 30_000)
  }

  @Test func `many references to missing tracks have a short report`() throws {
    let tracks = many(500) { "{\"id\":\"track\($0)\",\"clips\":[]}" }
    let transitions = many(4000) { "{\"from\":\"x\($0)\",\"to\":\"y\($0)\",\"over\":\"0..1\"}" }
    let text = documentText(tracks: "[\(tracks)]", "\"videoComposition\":{\"transitions\":[\(transitions)]}")
    #expect(try problems(text).count < 1000)
  }
}

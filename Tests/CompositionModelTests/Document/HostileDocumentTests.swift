import CompositionModel
import Testing

/// Documents that are valid, or nearly so, and made to exhaust time or memory.
@Suite(.timeLimit(.minutes(10))) struct HostileDocumentTests {
  private func many(_ count: Int, _ item: (Int) -> String) -> String {
    (0..<count).map(item).joined(separator: ",")
  }

  @Test func manyTracksOfOneClipAreLoweredInTheTimeOfTheirClips() throws {
    let tracks = many(3000) { "{\"clips\":[{\"asset\":\"v\",\"use\":\"0..1\",\"at\":\($0)}]}" }
    let text = documentText(tracks: "[\(tracks)]")
    // Comparing every instruction with every track would take hours.
    #expect(try lowered(text).videoComposition.instructions.count == 3000)
  }

  @Test func aStackThatIsTooHighIsRefused() throws {
    let long = many(600) { _ in #"{"clips":[{"asset":"v"}]}"# }
    let cuts = many(2000) { _ in #"{"asset":"v","use":"0..1/100"}"# }
    let found = try problems(documentText(tracks: "[\(long),{\"clips\":[\(cuts)]}]"))
    #expect(found.count == 1 && found[0].message.contains("layers"))
  }

  @Test func manyReferencesToMissingTracksHaveAShortReport() throws {
    let tracks = many(500) { "{\"id\":\"track\($0)\",\"clips\":[]}" }
    let transitions = many(4000) { "{\"from\":\"x\($0)\",\"to\":\"y\($0)\",\"over\":\"0..1\"}" }
    let text = documentText(tracks: "[\(tracks)]", "\"videoComposition\":{\"transitions\":[\(transitions)]}")
    #expect(try problems(text).count < 1000)
  }
}

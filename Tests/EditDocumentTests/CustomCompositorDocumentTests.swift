import CompositionModel
import EditDocument
import TestEdits
import Testing

/// Compositors of the author's own in documents.
@Suite struct CustomCompositorDocumentTests {
  private static let blinds =
    #"{"kind": "custom", "name": "blinds", "parameters": {"b": [1.50, "x\n"], "a": {"d": null, "c": true}}}"#
  private static let canonical = #"{"a":{"c":true,"d":null},"b":[1.50,"x\n"]}"#

  private func text(_ transition: String) -> String {
    documentText(
      tracks: """
        [{"id": "A", "clips": [{"asset": "v", "use": "0..6"}, {"asset": "w", "use": "0..4", "transition": \(transition)}]}]
        """)
  }

  private func instructions(_ instructions: String) -> String {
    documentText(
      tracks: """
        [{"id": "A", "clips": [{"asset": "v", "use": "0..6"}]}, {"id": "B", "clips": [{"asset": "w", "use": "0..6", "at": 4}]}]
        """, "\"videoComposition\": {\"instructions\": [\(instructions)]}")
  }

  @Test func `a transition names a compositor`() throws {
    let edit = try lowered(text(Self.blinds))
    let kinds = edit.videoComposition.instructions.flatMap(\.layers).compactMap { layer in
      if case .transition(let transition) = layer { transition.style.kind } else { nil }
    }
    #expect(kinds == [.custom(CustomCompositor(name: "blinds", parameters: Self.canonical))])
    let between = documentText(
      tracks: """
        [{"id": "A", "clips": [{"asset": "v", "use": "0..6"}]}, {"id": "B", "clips": [{"asset": "w", "use": "0..6", "at": 4}]}]
        """,
      #""videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "4..6", "kind": "custom", "name": "x.1"}]}"#
    )
    let document = try Document.parse(Array(between.utf8))
    #expect(
      document.compositors == [
        CompositorUse(compositor: CustomCompositor(name: "x.1"), pointer: "/videoComposition/transitions/0")
      ])
  }

  @Test func `an instruction has a compositor of its layers`() throws {
    let text = instructions(
      #"{"over": "0..5", "layers": [{"track": "A"}]}, "#
        + #"{"over": "5..10", "layers": [{"track": "B", "opacity": 0.5}, {"track": "A"}], "compositor": {"name": "blinds"}}"#
    )
    let edit = try lowered(text)
    let layers = edit.videoComposition.instructions.map(\.layers)
    // The second instruction is divided where a clip ends; its compositor has the time of the whole.
    #expect(edit.videoComposition.instructions.map { "\($0.over)" } == ["0..5", "5..6", "6..10"])
    let progress = Ramp(
      over: try MediaTimeRange(start: MediaTime(seconds: 5), end: MediaTime(seconds: 10)), from: 0, to: 1)
    let blinds = CustomCompositor(name: "blinds")
    let upper = TrackLayer(track: "B", opacity: try .constant(0.5))
    for (index, tracks) in [(1, ["B", "A"]), (2, ["B"])] {
      guard case .compositor(let layer) = try #require(layers[index].first), layers[index].count == 1 else {
        Issue.record("\(layers[index])")
        continue
      }
      #expect(layer.sources.map(\.track) == tracks)
      #expect(layer.progress == progress && layer.compositor == blinds)
      #expect(layer.sources.first?.opacity.ramps.map(\.to) == upper.opacity.ramps.map(\.to))
    }
    let document = try Document.parse(Array(text.utf8))
    #expect(document.compositors.map(\.pointer) == ["/videoComposition/instructions/1/compositor"])
  }

  @Test func `what is wrong with a compositor is reported at its place`() throws {
    let long = String(repeating: "x", count: 17_000)
    let transition = "/tracks/0/clips/1/transition"
    let instruction = "/videoComposition/instructions/0"
    for wrong in [
      Wrong(text("\"custom\""), transition, "needs 'name'"),
      Wrong(text(#"{"kind": "custom", "name": ""}"#), transition + "/name", "is not the name of a compositor"),
      Wrong(text(#"{"kind": "custom", "name": "ä"}"#), transition + "/name", "1 to 40 ASCII letters"),
      Wrong(text(#"{"kind": "custom", "name": "a b"}"#), transition + "/name", "\"a b\""),
      Wrong(text(#"{"kind": "custom", "name": 7}"#), transition + "/name", "7 should be a string"),
      Wrong(text(#"{"kind": "custom", "name": "a", "parameters": [1]}"#), transition + "/parameters", "an object"),
      Wrong(
        text(#"{"kind": "custom", "name": "a", "parameters": {"a": "\#(long)"}}"#), transition + "/parameters",
        "17008 bytes", "16384"),
      Wrong(
        text(#"{"kind": "custom", "name": "a", "softness": 1}"#), transition + "/softness", "is for transitions of"),
      Wrong(text(#"{"kind": "wipe", "parameters": {}}"#), transition + "/parameters", "the kind 'custom'"),
      Wrong(
        instructions(#"{"over": "0..10", "compositor": "a"}"#), instruction + "/compositor", "\"a\" is not a compositor"
      ),
      Wrong(
        instructions(#"{"over": "0..10", "compositor": {"name": "a", "revision": 2}}"#),
        instruction + "/compositor/revision", "unknown key"),
      Wrong(
        instructions(#"{"over": "0..10", "passthrough": "A", "compositor": {"name": "a"}}"#),
        instruction + "/compositor",
        "not both"),
      Wrong(
        instructions(
          #"{"over": "0..10", "layers": [{"track": "A", "blendMode": "screen"}], "compositor": {"name": "a"}}"#),
        instruction + "/layers/0/blendMode", "no 'blendMode'"),
    ] {
      let found = try problems(wrong.text)
      let problem = try #require(found.first { $0.pointer == wrong.pointer }, "\(wrong.pointer): \(found)")
      for word in wrong.words { #expect(problem.message.contains(word), "'\(problem.message)' lacks '\(word)'") }
    }
  }
}

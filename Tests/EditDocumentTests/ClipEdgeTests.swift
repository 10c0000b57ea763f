import CompositionModel
import EditDocument
import TestEdits
import Testing

/// Clips that appear from nothing and disappear, and the volume of their sound.
@Suite struct ClipEdgeTests {
  private func edit(_ clips: String, type: String = "video") throws -> Edit {
    try lowered(
      documentText(
        tracks:
          #"[{"id": "A", "type": "\#(type)"\#(type == "video" ? #", "sound": true"# : ""), "clips": [\#(clips)]}]"#))
  }

  private func ramp(_ start: String, _ end: String, _ from: Double, _ to: Double, _ easing: Easing? = nil) throws
    -> Ramp
  {
    Ramp(over: try spanning(start, end), from: from, to: to, easing: easing)
  }

  @Test func `a clip fades from nothing and to it, and so does its sound`() throws {
    let edit = try edit(
      #"{"asset": "v", "use": "0..4", "fadeIn": 1, "fadeOut": {"duration": "1/2", "curve": "equal-power"}}, {"asset": "w", "use": "0..2"}"#
    )
    #expect(stacks(edit) == ["0..1: A.B>A 0..1", "1..7/2: A", "7/2..4: A>A.B 7/2..4", "4..6: A"])
    #expect(edit.composition.track("A.B")?.clips == [])
    #expect(
      edit.audioMix.fades["A.sound"]
        == RampList([
          try ramp("0", "1", 0, 1), try ramp("7/2", "4", 1, 0, .equalPowerFall), try ramp("4", "4", 1, 1),
        ]))
    #expect(edit.audioMix.fades["A.sound.B"] == .one)
  }

  @Test func `a transition from nothing has any kind`() throws {
    let edit = try edit(
      #"{"asset": "v", "use": "0..4", "in": "wipe", "out": {"kind": "circle", "duration": "30f", "sound": "equal-power"}}"#
    )
    let styles = edit.videoComposition.instructions.flatMap(\.layers).compactMap { layer in
      if case .transition(let transition) = layer { transition.style.kind } else { nil }
    }
    #expect(styles == [.wipe(.left, softness: 0), .circle(x: 0.5, y: 0.5, softness: 0)])
    #expect(
      edit.audioMix.fades["A.sound"]?.ramps == [
        try ramp("0", "1", 0, 1), try ramp("3", "4", 1, 0, .equalPowerFall),
        try ramp("4", "4", 1, 1),
      ])
  }

  /// Each clip fades by itself beside transitions, on either lane, and the next one of a lane begins as loud as it is.
  @Test func `fades and transitions are on one track`() throws {
    let edit = try edit(
      #"{"asset": "v", "use": "0..4", "fadeIn": 1}, {"asset": "w", "use": "0..4", "transition": {"duration": 1, "sound": "equal-power"}, "fadeOut": 2}, {"asset": "v", "use": "0..1"}, {"asset": "w", "use": "0..2", "fadeIn": 2}"#
    )
    #expect(
      stacks(edit) == [
        "0..1: A.B>A 0..1", "1..3: A", "3..4: A>A.B 3..4", "4..5: A.B", "5..7: A.B>A 5..7", "7..8: A.B",
        "8..10: A>A.B 8..10",
      ])
    #expect(
      edit.audioMix.fades == [
        "A.sound": RampList([try ramp("0", "1", 0, 1), try ramp("3", "4", 1, 0, .equalPowerFall)]),
        "A.sound.B": RampList([
          try ramp("3", "4", 0, 1, .equalPowerRise), try ramp("5", "7", 1, 0), try ramp("7", "7", 1, 1),
          try ramp("8", "10", 0, 1),
        ]),
      ])
  }

  @Test func `sound alone fades, and all turns of a clip together`() throws {
    let edit = try edit(
      #"{"asset": "s", "use": "0..1", "loop": true, "duration": "7/2", "fadeIn": 2, "fadeOut": "3/2"}"#, type: "audio")
    #expect(edit.composition.track("A")?.clips.count == 4)
    #expect(
      edit.audioMix.fades["A"]
        == RampList([try ramp("0", "2", 0, 1), try ramp("2", "7/2", 1, 0), try ramp("7/2", "7/2", 1, 1)]))
    #expect(edit.audioMix.fades["A.B"] == .one)
  }

  @Test func `the volume of a clip is on its own time`() throws {
    let edit = try edit(
      #"{"asset": "s", "use": "0..2"}, {"asset": "s", "use": "4..6", "volume": "-20dB"}, {"asset": "s", "use": "6..9", "volume": [{"over": "1..end-1", "volume": [1, 0.31]}]}"#,
      type: "audio")
    let volumes = edit.composition.track("A")?.clips.map(\.volume)
    #expect(
      volumes == [nil, try RampList.constant(0.1), RampList([try ramp("5", "6", 1, 0.31)])])
  }

  @Test func `what is around a picture is scaled with the film`() throws {
    func decoration(_ scale: String) throws -> LayerDecoration? {
      let edit = try lowered(
        documentText(
          tracks:
            ##"[{"clips": [{"asset": "v", "use": "0..4", "cornerRadius": 9, "border": {"width": 5, "color": "#102030"}, "shadow": {"x": -3, "y": 8, "blur": 12}}]}]"##,
          #""videoComposition": {"scale": \#(scale)}"#))
      guard case .track(let layer) = edit.videoComposition.instructions[0].layers[0] else { return nil }
      return layer.decoration
    }
    let color = Color(red: 16, green: 32, blue: 48)
    #expect(
      try decoration("1")
        == LayerDecoration(
          cornerRadius: 9, border: LayerBorder(width: 5, color: color), shadow: TextShadow(x: -3, y: 8, blur: 12)))
    #expect(
      try decoration("0.5")
        == LayerDecoration(
          cornerRadius: 4.5, border: LayerBorder(width: 2.5, color: color), shadow: TextShadow(x: -2, y: 4, blur: 6)))
  }
}

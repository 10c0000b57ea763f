import CompositionModel
import EditDocument
import TestEdits
import Testing

/// Transitions between the clips of one track: where the clips are, what is shown, and what is heard.
@Suite struct ClipTransitionTests {
  private func edit(_ clips: String, type: String = "video", sound: Bool = false, _ others: String = "") throws -> Edit
  {
    try lowered(
      documentText(
        tracks:
          #"[{"id": "A", "type": "\#(type)"\#(type == "audio" ? "" : #", "sound": \#(sound)"#), "clips": [\#(clips)]}]"#,
        others)
    )
  }

  private func targets(_ edit: Edit) -> [TrackID: [String]] {
    Dictionary(uniqueKeysWithValues: edit.composition.tracks.map { ($0.id, $0.clips.map { "\($0.target)" }) })
  }

  private func styles(_ edit: Edit) -> [TransitionStyle] {
    edit.videoComposition.instructions.flatMap(\.layers).compactMap { layer in
      if case .transition(let transition) = layer { transition.style } else { nil }
    }
  }

  @Test func `clips start earlier by the length of their transitions`() throws {
    let slideshow = (0..<5).map { #"{"asset": "logo", "duration": 3\#($0 > 0 ? #", "transition": 1"# : "")}"# }
    let edit = try edit(slideshow.joined(separator: ", "))
    #expect(targets(edit) == ["A": ["0..3", "4..7", "8..11"], "A.B": ["2..5", "6..9"]])
    #expect(edit.composition.duration == MediaTime(seconds: 11))
    // Pass-through and transitions alternate.
    #expect(
      stacks(edit) == [
        "0..2: A", "2..3: A>A.B 2..3", "3..4: A.B", "4..5: A.B>A 4..5", "5..6: A", "6..7: A>A.B 6..7", "7..8: A.B",
        "8..9: A.B>A 8..9", "9..11: A",
      ])
    #expect(styles(edit) == Array(repeating: .dissolve, count: 4))
  }

  @Test func `a transition is a time, a kind or an object`() throws {
    let edit = try edit(
      ##"""
      {"asset": "v", "use": "0..6"}, {"asset": "w", "use": "0..6", "transition": "15f"},
      {"asset": "v", "use": "0..6", "transition": "wipe"},
      {"asset": "v", "use": "0..6", "transition": {"kind": "fade", "color": "#ff0000", "duration": "1/2"}},
      {"asset": "w", "use": "0..6", "at": 19, "transition": {"kind": "circle", "center": [0, 1], "softness": 0.5}},
      {"asset": "v", "use": "0..6", "transition": {"kind": "luma", "matte": "logo", "invert": true, "easing": "ease-in"}},
      {"asset": "v", "use": "0..6", "transition": {"kind": "push", "direction": "down", "easing": [0.1, -1, 0.2, 2]}}
      """##)
    let red = Color(red: 255, green: 0, blue: 0)
    #expect(
      styles(edit) == [
        .dissolve, TransitionStyle(.wipe(.left, softness: 0)), TransitionStyle(.fade(through: red)),
        TransitionStyle(.circle(x: 0, y: 1, softness: 0.5)),
        TransitionStyle(.luma(softness: 0, isInverted: true), easing: .easeIn),
        TransitionStyle(.push(.down), easing: .cubicBezier(x1: 0.1, y1: -1, x2: 0.2, y2: 2)),
      ])
    #expect(
      targets(edit) == [
        "A": ["0..6", "21/2..33/2", "19..25", "29..35"], "A.B": ["11/2..23/2", "16..22", "24..30"],
      ])
    let mattes = edit.videoComposition.instructions.flatMap(\.layers).compactMap { layer in
      if case .transition(let transition) = layer { transition.matte } else { nil }
    }
    #expect(mattes == ["logo"])
  }

  @Test func `a transition of whole clips joins them all`() throws {
    // The second clip is in a transition throughout.
    let edit = try edit(
      #"{"asset": "v", "use": "0..4"}, {"asset": "w", "use": "0..4", "transition": 2}, {"asset": "v", "use": "0..4", "transition": 2}"#
    )
    #expect(stacks(edit) == ["0..2: A", "2..4: A>A.B 2..4", "4..6: A.B>A 4..6", "6..8: A"])
  }

  @Test func `the turns of a repeated clip give way together`() throws {
    let edit = try edit(
      #"{"asset": "v", "use": "0..1/2", "loop": true, "duration": 2}, {"asset": "w", "use": "0..1/2", "loop": true, "duration": 3, "transition": 1}"#
    )
    #expect(targets(edit)["A"] == ["0..1/2", "1/2..1", "1..3/2", "3/2..2"])
    #expect(targets(edit)["A.B"]?.first == "1..3/2")
    #expect(
      stacks(edit) == [
        "0..1/2: A", "1/2..1: A", "1..3/2: A>A.B 1..2", "3/2..2: A>A.B 1..2", "2..5/2: A.B", "5/2..3: A.B",
        "3..7/2: A.B", "7/2..4: A.B",
      ])
  }

  @Test func `speed and the film's end count as they play`() throws {
    let edit = try lowered(
      documentText(
        tracks: """
          [{"id": "A", "clips": [{"asset": "v", "use": "0..4", "speed": 2},
            {"asset": "logo", "until": "end", "transition": "wipe"}]},
           {"id": "m", "type": "audio", "clips": [{"asset": "s", "use": "0..9"}]}]
          """))
    #expect(targets(edit)["A"] == ["0..2"])
    #expect(targets(edit)["A.B"] == ["1..9"])
  }

  @Test func `other tracks are in their place`() throws {
    let edit = try lowered(
      documentText(
        tracks: """
          [{"id": "top", "clips": [{"asset": "logo", "duration": 9}]},
           {"id": "A", "clips": [{"asset": "v", "use": "0..3"}, {"asset": "w", "use": "0..3", "transition": 1},
             {"asset": "v", "use": "0..3"}]},
           {"id": "B", "clips": [{"asset": "w", "use": "0..4", "at": 7}]}]
          """,
        #""videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "7..8"}]}"#))
    #expect(
      stacks(edit) == [
        "0..2: top, A", "2..3: top, A>A.B 2..3", "3..5: top, A.B", "5..7: top, A.B", "7..8: top, A.B>B 7..8",
        "8..9: top, B", "9..11: B",
      ])
  }

  @Test func `their sound cross-fades`() throws {
    let edit = try edit(
      #"{"asset": "v", "use": "0..4"}, {"asset": "mute", "use": "0..4", "transition": "wipe"}, {"asset": "w", "use": "0..4", "transition": 1}"#,
      sound: true, #""audioMix": {"A.sound": 0.5}"#)
    #expect(targets(edit)["A.sound"] == ["0..4", "6..10"])
    #expect(targets(edit)["A.sound.B"] == [])
    let half = edit.audioMix.volumes["A.sound"]
    #expect(try half?.value(at: .zero) == 0.5 && edit.audioMix.volumes["A.sound.B"] == half)
    #expect(
      edit.audioMix.fades == [
        "A.sound": RampList([
          Ramp(over: try spanning("3", "4"), from: 1, to: 0), Ramp(over: try spanning("6", "7"), from: 0, to: 1),
        ]),
        "A.sound.B": RampList([
          Ramp(over: try spanning("3", "4"), from: 0, to: 1), Ramp(over: try spanning("6", "7"), from: 1, to: 0),
        ]),
      ])
  }

  @Test func `a track of audio cross-fades too`() throws {
    let edit = try edit(
      #"{"asset": "s", "use": "0..4"}, {"asset": "s", "use": "9..13", "transition": 2}"#, type: "audio")
    #expect(targets(edit) == ["A": ["0..4"], "A.B": ["2..6"]])
    #expect(edit.audioMix.fades["A"] == RampList([Ramp(over: try spanning("2", "4"), from: 1, to: 0)]))
    #expect(edit.audioMix.fades["A.B"] == RampList([Ramp(over: try spanning("2", "4"), from: 0, to: 1)]))
  }

  @Test func `a track without transitions has one lane`() throws {
    let edit = try edit(#"{"asset": "v", "use": "0..4"}, {"asset": "w", "use": "0..4"}"#, sound: true)
    #expect(edit.composition.tracks.map(\.id) == ["A", "A.sound"])
    #expect(edit.audioMix.fades.isEmpty)
  }

  @Test func `a warning of a clip that nobody sees names the clip`() throws {
    let text = documentText(
      tracks: """
        [{"id": "A", "clips": [{"asset": "v", "use": "0..4"}, {"asset": "w", "use": "0..4", "transition": 1, "opacity": 0}]}]
        """)
    let document = try Document.parse(Array(text.utf8))
    let warnings = try document.lowerWithWarnings(assets: standardAssets(), output: nil).warnings
    #expect(warnings.map(\.pointer).contains("/tracks/0/clips/1"))
    #expect(!warnings.map(\.pointer).contains("/tracks/0/clips/0"))
  }

  @Test func `a matte is used`() throws {
    let text = documentText(
      tracks: """
        [{"clips": [{"asset": "v"}, {"asset": "w", "transition": {"kind": "luma", "matte": "logo"}}]}]
        """)
    let document = try Document.parse(Array(text.utf8))
    let warnings = try document.lowerWithWarnings(assets: standardAssets(), output: nil).warnings
    #expect(!warnings.map(\.pointer).contains("/assets/logo"))
  }

  /// With places that are known only in part nothing else is reported.
  @Test func `a problem of a transition does not cause others`() throws {
    let found = try problems(
      documentText(
        tracks: """
          [{"id": "A", "clips": [{"asset": "v", "use": "0..x"}, {"asset": "w", "use": "0..5", "transition": 1},
             {"asset": "w", "use": "0..5", "transition": {"duration": "x"}}, {"asset": "w", "use": "0..5"}]}]
          """))
    #expect(found.map(\.pointer) == ["/tracks/0/clips/0/use", "/tracks/0/clips/2/transition/duration"])
  }
}

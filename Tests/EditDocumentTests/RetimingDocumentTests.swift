import CompositionModel
import EditDocument
import TestEdits
import Testing

/// `reverse`, a `speed` of several points, `freeze` and `sound` of clips: what they mean and what is refused.
@Suite struct RetimingDocumentTests {
  private func text(_ clips: String, sound: Bool = false, type: String = "video") -> String {
    documentText(
      tracks: #"[{"id": "A", "type": "\#(type)"\#(sound ? #", "sound": true"# : ""), "clips": [\#(clips)]}]"#)
  }

  private func clips(_ clips: String, sound: Bool = false) throws -> [Clip] {
    try lowered(text(clips, sound: sound)).composition.tracks[0].clips
  }

  private func messages(_ clips: String, sound: Bool = false, type: String = "video") throws -> [String] {
    try problems(text(clips, sound: sound, type: type)).map { "\($0)" }
  }

  @Test func `a clip that is cut plays the end of its part when it is reversed`() throws {
    let cut = try clips(#"{"asset": "v", "use": "2..8", "reverse": true, "until": 4}"#)
    #expect("\(cut[0].source) \(cut[0].target)" == "4..8 0..4")
    #expect(try cut[0].sourceTime(at: MediaTime(seconds: 1)) == Rational(7))
    let turns = try clips(#"{"asset": "v", "use": "0..2", "reverse": true, "loop": true, "duration": 3}"#)
    #expect(turns.map { "\($0.source) \($0.target)" } == ["0..2 0..2", "1..2 2..3"])
    #expect(turns.allSatisfy { $0.retiming == Retiming(isReversed: true) })
    #expect(try clips(#"{"asset": "v", "use": "0..2", "reverse": false, "speed": 2}"#)[0].retiming == nil)
  }

  @Test func `the length of a clip follows from its speeds`() throws {
    func length(_ speed: String, _ use: String = "0..6") throws -> String {
      "\(try clips(#"{"asset": "v", "use": "\#(use)", "speed": \#(speed)}"#)[0].target.duration)"
    }
    // 0.75 of a second while it gets slower, and the rest at half speed.
    #expect(try length(#"[{"value": 1}, {"at": 1, "value": 0.5}]"#) == "23/2")
    #expect(try length(#"[{"at": 2, "value": 3}]"#) == "2")
    #expect(try length(#"[{"value": 0}, {"at": 2, "value": 0}, {"at": 3, "value": "1/3"}]"#) == "41/2")
    // The integral is 3t²/2: t = 2 at the end of the ramp.
    #expect(try length(#"[{"value": 0}, {"at": 2, "value": 6}, {"at": 3, "value": 0}]"#) == "2")
    // t²/2 = 1 at the square root of 2, which is within frame 42 of 30 a second.
    #expect(try length(#"[{"value": 0}, {"at": 4, "value": 4}]"#, "0..1") == "7/5")
  }

  @Test func `a clip of less than a frame is refused`() throws {
    let found = try messages(#"{"asset": "v", "use": "0..1/100", "speed": [{"value": 1}, {"at": 1, "value": 2}]}"#)
    #expect(found.count == 1 && found[0].contains("/speed") && found[0].contains("less than a frame"), "\(found)")
  }

  @Test func `a split curve plays as the whole did`() throws {
    let clip = try clips(
      #"{"asset": "v", "use": "0..6", "speed": [{"value": 1}, {"at": 2, "value": 0.5}], "reverse": true}"#)[0]
    var track = CompositionTrack(id: "A", type: .video, clips: [clip])
    let gap = try MediaTimeRange(start: MediaTime(seconds: 1), duration: MediaTime(seconds: 1))
    try track.insertEmpty(gap)
    #expect(track.clips.count == 2 && track.clips[1].target.start == MediaTime(seconds: 2))
    for (time, moved) in [("0", "0"), ("1/2", "1/2"), ("1", "2"), ("3/2", "5/2"), ("5", "6")] {
      let half = track.clips[moved == time ? 0 : 1]
      #expect(
        try clip.sourceTime(at: #require(MediaTime(time))) == half.sourceTime(at: #require(MediaTime(moved))),
        "at \(time) s")
    }
    try track.scale(
      MediaTimeRange(start: MediaTime(seconds: 2), duration: track.clips[1].target.duration), to: MediaTime(seconds: 20)
    )
    let end = track.clips[1]
    #expect(try end.sourceTime(at: end.target.end) == clip.sourceTime(at: clip.target.end))
  }

  @Test func `the sound of a clip follows its speeds`() throws {
    let curve = #""speed": [{"value": 1}, {"at": 1, "value": 0.5}]"#
    let speed = try SpeedCurve(points: [
      .init(at: .zero, speed: .one), .init(at: MediaTime(seconds: 1), speed: Rational(1, 2)),
    ])
    let cases: [(text: String, pitch: PitchAlgorithm?)] = [
      (text(#"{"asset": "v", "use": "0..2", \#(curve)}"#, sound: true), nil),
      (text(#"{"asset": "s", "use": "0..2", \#(curve), "pitch": "varispeed"}"#, type: "audio"), .varispeed),
    ]
    for (text, pitch) in cases {
      let tracks = try lowered(text).composition.tracks
      let clip = try #require(tracks.first { $0.type == .audio }?.clips.first)
      #expect(clip.retiming == Retiming(speed: speed) && "\(clip.target)" == "0..7/2")
      #expect(clip.pitch == pitch)
    }
  }

  @Test func `what cannot be played is refused with what is allowed`() throws {
    let curve = #""speed": [{"value": 1}, {"at": 1, "value": 0.5}]"#
    let cases: [(clip: String, sound: Bool, words: [String])] = [
      (#"{"asset": "v", "use": "0..2", "speed": []}"#, false, ["/tracks/0/clips/0/speed", "0 points", "1 to 1000"]),
      (#"{"asset": "v", "use": "0..2", "speed": [{"at": 1}]}"#, false, ["speed/0", "needs 'value'"]),
      (#"{"asset": "v", "use": "0..2", "speed": [{"value": -1}]}"#, false, ["-1 should be a number from 0 to 100"]),
      (
        #"{"asset": "v", "use": "0..2", "speed": [{"value": 1}, {"value": 2}]}"#, false,
        ["speed/1", "in order of time"]
      ),
      (
        #"{"asset": "v", "use": "0..2", "speed": [{"value": 1}, {"at": 1, "value": 0}]}"#, false,
        ["ends at 0", "'duration'"]
      ),
      (
        #"{"asset": "v", "use": "0..2", \#(curve), "duration": 9}"#, false,
        ["duration", "plays 4.75 s of media", "2 s"]
      ),
      (#"{"asset": "v", "use": "0..2", \#(curve), "loop": true}"#, false, ["speed", "repeated has one speed"]),
      (
        #"{"asset": "v", "use": "0..2", "speed": [{"at": "1/999999937", "value": "1/999999893"}, {"at": 2, "value": 1}]}"#,
        false, ["too finely divided"]
      ),
      (#"{"asset": "logo", "duration": 2, "reverse": true}"#, false, ["reverse", "still picture"]),
      (#"{"asset": "v", "freeze": 1}"#, false, ["freeze", "'duration' or 'until'"]),
      (#"{"asset": "v", "freeze": 60, "duration": 1}"#, false, ["freeze", "60 s"]),
      (#"{"asset": "v", "freeze": 1, "use": "0..2", "duration": 1}"#, false, ["freeze", "'use'"]),
      (#"{"asset": "v", "use": "0..2", "sound": "off"}"#, false, ["keep, drop"]),
    ]
    for (clip, sound, words) in cases {
      let found = try messages(clip, sound: sound)
      #expect(found.count == 1 && words.allSatisfy { found[0].contains($0) }, "\(clip): \(found)")
    }
    #expect(try messages(#"{"asset": "v", "use": "0..2", \#(curve), "sound": "drop"}"#, sound: true).isEmpty)
    #expect(try messages(#"{"asset": "mute", "use": "0..2", \#(curve)}"#, sound: true).isEmpty)
    #expect(try messages(#"{"asset": "s", "use": "0..2", "sound": "drop"}"#, type: "audio").count == 1)
  }
}

import TestEdits
import Testing

@testable import CompositionModel
@testable import EditDocument

/// Times that count from the end, from clips and from markers.
@Suite struct TimeOriginTests {
  private func targets(_ edit: Edit, _ track: TrackID) -> [String] {
    edit.composition.track(track)?.clips.map { "\($0.target)" } ?? []
  }

  /// A document with two video tracks, `A` and `B`, and one of sound, `S`.
  private func text(
    a: String = #"{"asset": "v", "use": "0..10"}"#, b: String = "", s: String = "", _ others: String = ""
  ) -> String {
    documentText(
      tracks: """
        [{"id": "A", "clips": [\(a)]}, {"id": "B", "clips": [\(b)]}, {"id": "S", "type": "audio", "clips": [\(s)]}]
        """, others)
  }

  private func messages(_ text: String) throws -> [String] {
    try problems(text).map { "\($0.pointer): \($0.message)" }
  }

  // MARK: Notation

  @Test(arguments: [
    "end", "end-2", "end+0.5", "end-90f", "clip:intro.start", "clip:intro.end+1/3", "clip:cold-open.end-7/30",
    "clip:Ärger_2.start", "marker:drop", "marker:drop-1", "marker:a-b-c+3f",
  ])
  func `a time with an origin is what is written of it`(_ text: String) throws {
    let time = try Document.Time(text: text)
    #expect(time.text == text)
    #expect(try Document.Time(text: time.text) == time)
  }

  @Test func `the parts of a time with an origin are those that are written`() throws {
    #expect(try Document.Time(text: "end") == .end())
    #expect(try Document.Time(text: "end-2") == .end(plus: -2))
    #expect(try Document.Time(text: "clip:a-b.end+1:02.5") == .end(ofClip: "a-b", plus: .seconds(at("125/2"))))
    #expect(try Document.Time(text: "clip:a.start-90f") == .start(ofClip: "a", plus: .frames(-90)))
    #expect(try Document.Time(text: "marker:b-1") == .marker("b", plus: -1))
  }

  @Test(arguments: [
    "end-", "end+", "end--1", "end+-1", "end 2", "ends", "End", "clip:", "clip:a", "clip:a.", "clip:a.middle",
    "clip:.end",
    "clip:1.end", "clip:a-1.end", "clip:a b.end", "clip:a.end.start", "marker:", "marker:1", "marker:a.b", "marker:-a",
    "marker:a-", "2+end", "-end", "end-2-1", "end-end",
  ])
  func `what is no time with an origin is refused`(_ text: String) {
    #expect(throws: TimeNotationError.notATime) { try Document.Time(text: text) }
  }

  @Test func `a range may count from origins on both sides, and lasts a plain time`() throws {
    #expect(try Document.TimeRange(text: "end-2..end") == Document.TimeRange(from: .end(plus: -2), to: .end()))
    #expect(try Document.TimeRange(text: "marker:b+1+2") == Document.TimeRange(from: .marker("b", plus: 1), for: 2))
    #expect(try Document.TimeRange(text: "clip:a.end+2") == Document.TimeRange(from: .end(ofClip: "a"), for: 2))
    #expect(
      try Document.TimeRange(text: "clip:a.start-1..clip:b.end+1/2")
        == Document.TimeRange(from: .start(ofClip: "a", plus: -1), to: .end(ofClip: "b", plus: .seconds(at("1/2")))))
    for text in ["4+end", "end-2+end", "end..", "..end"] {
      #expect(throws: TimeNotationError.self) { try Document.TimeRange(text: text) }
    }
  }

  // MARK: The end

  @Test func `in use and freeze the end is that of the asset`() throws {
    let edit = try lowered(
      text(a: #"{"asset": "v", "use": "end-2..end"}, {"asset": "v", "freeze": "end-1/30", "duration": 1}"#))
    #expect(edit.composition.track("A")?.clips.map { "\($0.source)" } == ["58..60", "1799/30..1799/30"])
    #expect(
      try messages(text(a: #"{"asset": "v", "use": "end-61..end"}"#))
        == ["/tracks/0/clips/0/use: 'end-61' is -1, before 0, where nothing can start"])
    #expect(try messages(text(a: #"{"asset": "v", "use": "end-1..end+1"}"#)).count == 1)
  }

  @Test func `in the ramps of a clip the end is its own`() throws {
    let ramps = #""ramps": [{"over": "0..1", "opacity": [0, 1]}, {"over": "end-2..end", "opacity": [1, 0]}]"#
    let filters = #""filters": [{"kind": "exposure", "stops": [{"over": "end-1..end", "value": [0, 1]}]}]"#
    let edit = try lowered(text(a: #"{"asset": "v", "use": "0..10", "at": 5, \#(ramps), \#(filters)}"#))
    let other = try lowered(
      text(a: #"{"asset": "v", "use": "0..10", "at": 5, \#(ramps), \#(filters)}"#)
        .replacing("end-2..end", with: "8..10").replacing("end-1..end", with: "9..10"))
    #expect(edit == other)
    #expect(
      try messages(text(a: #"{"asset": "v", "use": "0..1", \#(ramps)}"#)).count == 1)
  }

  @Test func `in overlays, ramps of the mix, filters, chapters and the export the end is the film's`() throws {
    let others = """
      "videoComposition": {
        "overlays": [{"text": "A", "over": "end-3..end", "ramps": [{"over": "end-1..end", "opacity": [1, 0]}]}],
        "filters": [{"kind": "exposure", "stops": [{"over": "end-2..end", "value": [0, -2]}]}] },
      "audioMix": {"S": [{"over": "end-2..end", "volume": [1, 0]}]}
      """
    func film(_ write: (String) -> String) throws -> Edit {
      try lowered(
        write(
          documentText(
            tracks: """
              [{"id": "A", "clips": [{"asset": "v", "use": "0..10"}],
                "filters": [{"kind": "exposure", "stops": [{"over": "end-4..end", "value": [0, 1]}]}]},
               {"id": "S", "type": "audio", "clips": [{"asset": "s", "until": "end"}]}]
              """, others,
            export: """
              {"to": "a.mp4", "timeRange": "end-5..end-1",
               "chapters": [{"at": 0, "title": "A"}, {"at": "end-2", "title": "B"}]}
              """)))
    }
    let counted = try film { $0 }
    let plain = try film { text in
      var text = text
      for (written, time) in [
        (#"end-3..end", "ramps": [{"over": "end-1..end"#, #"7..10", "ramps": [{"over": "2..3"#),
        ("end-2..end", "8..10"), ("end-4..end", "6..10"), ("end-5..end-1", "5..9"), ("end-2", "8"),
      ] { text = text.replacing(written, with: time) }
      return text
    }
    #expect(counted == plain)
    #expect(counted.export.timeRange == (try spanning("5", "9")))
  }

  @Test func `until may be before the film's end, and not after it`() throws {
    let edit = try lowered(text(s: #"{"asset": "s", "until": "end-2"}"#))
    #expect(targets(edit, "S") == ["0..8"])
    #expect(
      try messages(text(s: #"{"asset": "s", "until": "end+2"}"#))
        == ["/tracks/2/clips/0/until: 12 is after the end of the film, at 10, which the other clips set"])
  }

  @Test func `a clip that ends with the film may start from its end`() throws {
    let edit = try lowered(text(b: #"{"asset": "w", "at": "end-3", "until": "end"}"#))
    #expect(targets(edit, "B") == ["7..10"])
    let found = try messages(text(b: #"{"asset": "w", "use": "0..3", "at": "end-3"}"#))
    #expect(
      found == [
        "/tracks/1/clips/0/at: this time depends on itself: the clip /tracks/1/clips/0 depends on the film's end, which "
          + "depends on the clip /tracks/1/clips/0; the film ends with its last clip, except for a clip whose 'until' "
          + "counts from the end"
      ])
  }

  // MARK: Clips and markers

  @Test func `clips are placed from clips of other tracks and of their own, in any order`() throws {
    let edit = try lowered(
      text(
        a: #"{"asset": "v", "use": "0..2", "at": "clip:b.end-1/2"}, {"asset": "v", "use": "0..3", "name": "a2"}"#,
        b: """
          {"asset": "w", "use": "0..4", "at": "clip:first.end", "name": "b"},
          {"asset": "w", "use": "0..1", "at": 0, "name": "first"}
          """,
        s: #"{"asset": "s", "at": "clip:a2.start", "until": "clip:a2.end+1"}"#))
    #expect(targets(edit, "B") == ["0..1", "1..5"])
    #expect(targets(edit, "A") == ["9/2..13/2", "13/2..19/2"])
    #expect(targets(edit, "S") == ["13/2..21/2"])
  }

  @Test func `a marker is a time of its own, of a clip, or of another marker`() throws {
    let edit = try lowered(
      text(
        a: #"{"asset": "v", "use": "0..10", "name": "main"}"#,
        b:
          #"{"asset": "w", "use": "0..1", "at": "marker:drop"}, {"asset": "w", "use": "0..1", "at": "marker:later-1/2"}"#,
        """
        "markers": {"later": "marker:drop+3", "drop": "clip:main.start+2", "tail": "end-1", "fixed": "30f"},
        "videoComposition": {
          "overlays": [{"text": "A", "over": "marker:tail..end"}, {"text": "B", "over": "marker:fixed+1"}]}
        """))
    #expect(targets(edit, "B") == ["2..3", "9/2..11/2"])
    #expect(edit.videoComposition.overlays.map { "\($0.over)" } == ["9..10", "1..2"])
  }

  @Test func `transitions between tracks, ramps, captions and instructions count from clips`() throws {
    func film(_ time: (String) -> String) throws -> Edit {
      try lowered(
        text(
          a: #"{"asset": "v", "use": "0..10", "name": "a"}"#,
          b: #"{"asset": "w", "use": "0..10", "at": "\#(time("clip:a.end-2"))", "name": "b"}"#,
          s: #"{"asset": "s", "use": "0..18"}"#,
          """
          "videoComposition": {"transitions": [{"from": "A", "to": "B", "over": "\(time("clip:b.start..clip:a.end"))"}]},
          "audioMix": {"S": [{"at": "\(time("clip:b.start"))", "volume": 0.5}]}
          """))
    }
    let times = ["clip:a.end-2": "8", "clip:b.start..clip:a.end": "8..10", "clip:b.start": "8"]
    let (counted, plain) = (try film { $0 }, try film { times[$0] ?? $0 })
    #expect(counted.videoComposition == plain.videoComposition)
    #expect(counted.audioMix == plain.audioMix)
    #expect(counted.composition == plain.composition)
  }

  @Test func `a length that changes moves what counts from it`() throws {
    func starts(_ use: String) throws -> [String] {
      let edit = try lowered(
        text(
          a: #"{"asset": "v", "use": "\#(use)", "name": "intro"}, {"asset": "v", "use": "0..5"}"#,
          b: #"{"asset": "w", "use": "0..3", "at": "clip:intro.end"}"#))
      return [targets(edit, "A")[1], targets(edit, "B")[0]]
    }
    #expect(try starts("0..4") == ["4..9", "4..7"])
    #expect(try starts("0..9/2") == ["9/2..19/2", "9/2..15/2"])
  }

  @Test func `unknown names are problems with what was meant`() throws {
    #expect(
      try messages(
        text(
          a: #"{"asset": "v", "use": "0..2", "name": "intro"}, {"asset": "v", "use": "0..1", "at": "clip:intor.end"}"#,
          b: """
            {"asset": "w", "use": "0..1", "at": "marker:intro"}, {"asset": "w", "use": "0..1", "at": "clip:drop.end"}
            """,
          """
          "markers": {"drop": 1},
          "videoComposition": {"overlays": [{"text": "A", "over": "marker:drip..clip:x.end"}]}
          """)) == [
          "/tracks/0/clips/1/at: there is no clip 'intor' (did you mean 'intro'?)",
          "/tracks/1/clips/0/at: there is no marker 'intro'; 'intro' is a clip: write \"clip:intro.start\" or "
            + "\"clip:intro.end\"",
          "/tracks/1/clips/1/at: there is no clip 'drop'; 'drop' is a marker: write \"marker:drop\"",
          "/videoComposition/overlays/0/over: there is no marker 'drip' (did you mean 'drop'?)",
          "/videoComposition/overlays/0/over: there is no clip 'x'; declared are 'intro'",
        ])
    #expect(
      try messages(text(b: #"{"asset": "w", "use": "0..1", "at": "clip:a.end"}"#))
        == ["/tracks/1/clips/0/at: there is no clip 'a': no clip has a 'name'"])
  }

  @Test func `names that are taken or cannot be are problems`() throws {
    let found = try messages(
      text(
        a: #"{"asset": "v", "use": "0..1", "name": "a"}, {"asset": "v", "use": "0..1", "name": "a"}"#,
        b: #"{"asset": "w", "use": "0..1", "name": "part-1"}"#, #""markers": {"1st": 2}"#))
    #expect(
      found.map { String($0.prefix(75)) }
        == [
          "/markers/1st: '1st' cannot be the name of a marker: it has letters, digits,",
          "/tracks/0/clips/1/name: there is another clip 'a' (/tracks/0/clips/0); ever",
          "/tracks/1/clips/0/name: 'part-1' cannot be a name: it has letters, digits, ",
        ].map { String($0.prefix(75)) })
  }

  @Test func `circles are problems that name their members`() throws {
    let found = try messages(
      text(
        a: #"{"asset": "v", "use": "0..1", "at": "clip:b.end", "name": "a"}"#,
        b: #"{"asset": "w", "use": "0..1", "at": "marker:m", "name": "b"}, {"asset": "nope", "name": "c"}"#,
        s: #"{"asset": "s", "at": "clip:self.end", "name": "self"}"#, #""markers": {"m": "clip:a.start+1"}"#))
    #expect(
      found.filter { $0.contains("depends") } == [
        "/markers/m: this time depends on itself: the marker 'm' depends on the clip 'a' (/tracks/0/clips/0), which "
          + "depends on the clip 'b' (/tracks/1/clips/0), which depends on the marker 'm'",
        "/tracks/2/clips/0/at: this time depends on itself: the clip 'self' (/tracks/2/clips/0) depends on the clip 'self' "
          + "(/tracks/2/clips/0)",
      ])
    // What has no place is examined all the same.
    #expect(found.contains { $0.hasPrefix("/tracks/1/clips/1/asset") })
  }

  @Test func `a long circle is reported shortly`() throws {
    let clips = (0..<30).map {
      #"{"asset": "v", "use": "0..1", "at": "clip:c\#(($0 + 1) % 30).end", "name": "c\#($0)"}"#
    }
    let found = try messages(text(a: clips.joined(separator: ", ")))
    #expect(found.count == 1 && found[0].contains("with 22 more between"))
  }

  @Test func `a time that is no time here says why`() throws {
    func message(_ clip: String, _ others: String = "") throws -> String {
      try messages(text(a: #"{"asset": "v", "name": "a", \#(clip)}"#, others)).joined(separator: "\n")
    }
    #expect(try message(#""use": "0..clip:a.end""#).contains("'clip:a.end' is on the film's timeline"))
    #expect(try message(#""duration": "end-2""#).contains("here a time counts from 0, and not from 'end'"))
    #expect(try message(#""at": "clip:a""#).contains(#"write "clip:a.start" or "clip:a.end""#))
    #expect(try message(#""at": "a.end+1""#).contains(#"write "clip:a.end+1""#))
    #expect(
      try message(#""filters": [{"kind": "exposure", "stops": [{"over": "0..clip:a.end", "value": [0, 1]}]}]"#)
        .contains("times here count from the start of the clip"))
    #expect(
      try message(#""at": 0"#, #""videoComposition": {"overlays": [{"text": "A", "over": "clip:a"}]}"#)
        .contains(#"write "clip:a.start..clip:a.end""#))
  }

  @Test func `what makes clips follow each other elsewhere has a hint`() throws {
    let found = try messages(text(a: #"{"asset": "v", "id": "a", "ripple": true}"#))
    #expect(found.contains { $0.contains("unknown key 'id' (did you mean 'name'?)") })
    #expect(found.contains { $0.contains(#"unknown key 'ripple' (a clip without 'at' follows"#) })
  }

  @Test func `a range that ends before it starts as the film is now is a problem`() throws {
    #expect(
      try messages(text(#""videoComposition": {"overlays": [{"text": "A", "over": "end-2..5"}]}"#))
        == [
          "/videoComposition/overlays/0/over: the range end-2..5 ends before it starts, as the film is now"
        ])
  }

  // MARK: Order

  @Test func `a clip waits for the one before it if it can, so that rounded places meet`() throws {
    // The end of the first clip is rounded, and the second is written at the same place in decimals.
    let a = ["2000/999", "56/29", "100001/44100", "115991/48000"].map { #"{"asset": "v", "use": "0..\#($0)"}"# }
      .joined(separator: ", ")
    let plain = try lowered(text(a: a + #", {"asset": "v", "use": "0..1", "at": "\#(try roundedEnd(a))"}"#))
    let counted = try lowered(
      text(
        a: a + #", {"asset": "v", "use": "0..1", "at": "\#(try roundedEnd(a))", "name": "last"}"#,
        b: #"{"asset": "w", "use": "0..1", "at": "clip:last.end"}"#))
    #expect(targets(plain, "A") == targets(counted, "A"))
    #expect(plain.composition.track("A")?.clips.last?.target.start.hasBeenRounded == true)
  }

  /// Where a clip would follow, to nine decimals.
  private func roundedEnd(_ clips: String) throws -> String {
    let edit = try lowered(text(a: clips))
    let nanoseconds = try (edit.composition.duration.exact * Rational(1_000_000_000)).rounded
    return "\(nanoseconds / 1_000_000_000).\(String("\(1_000_000_000 + nanoseconds % 1_000_000_000)".dropFirst()))"
  }

  @Test func `chains of many clips are placed in the order of their dependence`() throws {
    // Each clip starts where one of the other track ends, and the first as written is the last.
    let count = 400
    func clips(_ track: String, _ other: String) -> String {
      (0..<count).reversed().map { number in
        let place = "\"clip:\(other)\(track == "a" ? number - 1 : number).end\""
        let at = track == "a" && number == 0 ? "0" : place
        return #"{"asset": "v", "use": "0..1/30", "at": \#(at), "name": "\#(track)\#(number)"}"#
      }.joined(separator: ", ")
    }
    let edit = try lowered(text(a: clips("a", "b"), b: clips("b", "a")))
    #expect(edit.composition.duration == (try at("\(2 * count)/30")))
    #expect(targets(edit, "B").first == "1/30..1/15")
  }

  @Test func `templates fill in the parts of times`() throws {
    let template = """
      { "sheaf": 1, "parameters": { "fade": { "type": "time", "default": 2 }, "who": { "type": "text", "default": "a" },
          "start": { "type": "time", "default": "clip:a.end-1" } },
        "assets": { "v": "v.mov" },
        "tracks": [ { "clips": [ { "asset": "v", "use": "0..10", "name": "a" } ] },
                    { "clips": [ { "asset": "v", "use": "0..1", "at": "{{start}}" } ] } ],
        "videoComposition": { "overlays": [ { "text": "A", "over": "end-{{fade}}..clip:{{who}}.end" } ] },
        "export": { "to": "a.mp4" } }
      """
    let document = try Document(template: template, values: ["fade": "7/2"])
    #expect(document.videoComposition.overlays[0].over == Document.TimeRange("end-7/2..clip:a.end"))
    guard case .media(let track) = document.tracks[1] else {
      Issue.record("the second track is of pictures")
      return
    }
    #expect(track.clips[0].at == .end(ofClip: "a", plus: -1))
  }
}

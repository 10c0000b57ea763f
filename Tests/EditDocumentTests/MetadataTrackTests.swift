import CompositionModel
import EditDocument
import TestEdits
import TestPrograms
import Testing

/// Metadata tracks, and what they drive.
struct MetadataTrackTests {
  private static let clip = #"{"clips": [{"asset": "v", "use": "0..6"}]}"#

  private func document(_ values: String, track: String = "", composition: String) -> String {
    documentText(
      tracks: "[\(Self.clip), {\"id\": \"speed\", \"type\": \"metadata\"\(track), \"values\": [\(values)]}]",
      "\"videoComposition\": {\"renderSize\": [320, 180], \"frameDuration\": \"1/10\", \(composition)}")
  }

  private func overlay(_ text: String, over: String? = nil) -> String {
    let over = over.map { ", \"over\": \"\($0)\"" } ?? ""
    return "\"overlays\": [{\"text\": \(text), \"size\": 20, \"opacity\": 0.5\(over)}]"
  }

  private func texts(_ text: String) throws -> [(over: String, text: String)] {
    try lowered(text).videoComposition.overlays.map { overlay in
      guard case .text(let text) = overlay.content else { return (overlay.over.description, "") }
      return (overlay.over.description, text.text)
    }
  }

  @Test func `a text is shown for as long as its value lasts`() throws {
    let values = #"{"at": 4, "value": "C"}, {"over": "1..2", "value": "A"}, {"over": "2..3", "value": "B"}"#
    let all = try texts(document(values, composition: overlay(#"{"track": "speed", "prefix": "<", "suffix": ">"}"#)))
    #expect(all.map(\.over) == ["1..2", "2..3", "4..6"])
    #expect(all.map(\.text) == ["<A>", "<B>", "<C>"])
    let part = try texts(document(values, composition: overlay(#"{"track": "speed"}"#, over: "3/2..9/2")))
    #expect(part.map(\.over) == ["3/2..2", "2..3", "4..9/2"])
    #expect(part.map(\.text) == ["A", "B", "C"])
  }

  /// If the texts that the numbers may become are too many, those of the frames have fonts, and they alone.
  @Test(
    arguments: [
      (
        #"{"at": 0, "value": 0}, {"at": 2, "value": 99.5}, {"at": 5, "value": -3}"#, #", "interpolation": "linear""#,
        nil
      ),
      (#"{"at": "17f", "value": 50}, {"at": "1/3", "value": 0}"#, #", "interpolation": "linear""#, "1/7..4"),
      (#"{"over": "1..7/2", "value": [100, 0]}, {"over": "4+10", "value": [0, 100]}"#, "", "5f+3"),
    ] as [(String, String, String?)])
  func `only the texts of frames count if there are too many`(values: String, track: String, over: String?) throws {
    let text = document(
      values, track: track, composition: overlay(#"{"track": "speed", "decimals": 3}"#, over: over))
    let shown = Set(try texts(text).map(\.text))
    let requested = try Document.examine([UInt8](text.utf8)).fontRequests.map(\.text)
    #expect(shown.count > 10 && shown.isSubset(of: requested))
    // Beyond the film's end the numbers may go on.
    #expect(requested.count <= 150)
    let media = text.replacing(#""frameDuration": "1/10", "#, with: "")
    let found = try problems(media)
    #expect(found.count == 1 && found[0].message.contains("more than 5000 different texts"))
    #expect(found.first?.message.contains("'frameRate'") == true)
  }

  @Test func `more than enough frames are refused`() throws {
    let values = #"{"at": 0, "value": 0}, {"at": 600, "value": 100}"#
    let found = try problems(
      document(
        values, track: #", "interpolation": "linear""#, composition: overlay(#"{"track": "speed", "decimals": 3}"#)))
    #expect(found.map(\.pointer) == ["/videoComposition/overlays/0/text"])
    #expect(found.first?.message.contains("'frameRate'") == false)
  }

  @Test func `a number is rounded and never minus zero`() throws {
    let values = """
      {"at": 0, "value": -0.04}, {"at": 1, "value": 2.25}, {"at": 2, "value": -12.35}, {"at": 3, "value": 1e9},
      {"at": 4, "value": 7}
      """
    let decimal = try texts(document(values, composition: overlay(#"{"track": "speed", "decimals": 1}"#)))
    #expect(decimal.map(\.text) == ["0.0", "2.3", "-12.4", "1000000000.0", "7.0"])
    let whole = try texts(document(values, composition: overlay(#"{"track": "speed", "suffix": " km/h"}"#)))
    #expect(whole.map(\.text) == ["0 km/h", "2 km/h", "-12 km/h", "1000000000 km/h", "7 km/h"])
  }

  /// A countdown and a stopwatch show each number equally long, at any rate; to the nearest number, the first one and
  /// the last one are shown for half as long.
  @Test(arguments: [10, 24, 25, 30]) func `a countdown shows each number equally long`(rate: Int) throws {
    func shown(_ value: String, _ rounding: String, decimals: Int = 0) throws -> [String] {
      let text = document(
        #"{"over": "0..6", "value": \#(value)}"#,
        composition: overlay(#"{"track": "speed", "decimals": \#(decimals), "rounding": "\#(rounding)"}"#)
      ).replacing(#""frameDuration": "1/10""#, with: #""frameRate": \#(rate)"#)
      return try texts(text).map { "\($0.over) \($0.text)" }
    }
    #expect(try shown("[6, 0]", "up") == ["0..1 6", "1..2 5", "2..3 4", "3..4 3", "4..5 2", "5..6 1"])
    #expect(try shown("[0, 6]", "down") == ["0..1 0", "1..2 1", "2..3 2", "3..4 3", "4..5 4", "5..6 5"])
    #expect(try shown("[3, -3]", "up") == ["0..1 3", "1..2 2", "2..3 1", "3..4 0", "4..5 -1", "5..6 -2"])
    #expect(
      try shown("[0.6, 0]", "up", decimals: 1)
        == ["0..1 0.6", "1..2 0.5", "2..3 0.4", "3..4 0.3", "4..5 0.2", "5..6 0.1"])
    let nearest = try shown("[6, 0]", "nearest")
    #expect(nearest.count == 7 && nearest[3].hasSuffix(" 3"))
    if rate == 10 { #expect(nearest[0] == "0..3/5 6" && nearest[1] == "3/5..8/5 5" && nearest[6] == "28/5..6 0") }
  }

  /// Against the value of each frame, for numbers that rise, fall and stay, between frames too.
  @Test(arguments: 0..<12) func `a number that changes is written anew at frames`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func number() -> Double { (Double.random(in: -9...9, using: &random) * 100).rounded() / 100 }
    let isLinear = seed % 2 == 1
    let cuts = Set((0..<4).map { _ in Int64.random(in: 0..<97, using: &random) }).sorted()
    var samples: [(time: MediaTime, from: Double, to: Double)] = cuts.map { cut in
      let from = number()
      return (MediaTime(value: cut, timescale: 17), from, from)
    }
    let values = samples.map { #"{"at": "\#($0.time)", "value": \#($0.from)}"# }.joined(separator: ", ")
    if isLinear { for index in samples.indices.dropLast() { samples[index].to = samples[index + 1].from } }
    let edit = try lowered(
      document(
        values, track: isLinear ? #", "interpolation": "linear""# : "",
        composition: overlay(#"{"track": "speed", "decimals": 1}"#)))
    let overlays = edit.videoComposition.overlays
    for (before, after) in zip(overlays, overlays.dropFirst()) {
      #expect(before.over.end <= after.over.start)
      #expect(before.content != after.content || before.over.end < after.over.start)
    }
    for frame in 0..<60 {
      let time = MediaTime(value: Int64(frame), timescale: 10)
      let shown = overlays.filter { $0.over.contains(time) }
      guard let index = samples.lastIndex(where: { $0.time <= time }) else {
        #expect(shown.isEmpty)
        continue
      }
      let sample = samples[index]
      let end = index + 1 < samples.count ? samples[index + 1].time : MediaTime(seconds: 6)
      let part = try ((time - sample.time) / (end - sample.time)).approximate
      let tenths = Int(((sample.from + (sample.to - sample.from) * part) * 10).rounded(.toNearestOrAwayFromZero))
      let expected = "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
      #expect(shown.count == 1)
      guard case .text(let text)? = shown.first?.content else { continue }
      #expect(text.text == expected, "frame \(frame)")
      #expect(shown[0].opacity == 0.5 && text.size == 20)
    }
  }

  /// The fonts of each text are found before the film is planned.
  @Test func `every text that is shown has its fonts found`() throws {
    for track in ["", #", "interpolation": "linear""#] {
      let values = #"{"at": 3, "value": 1.5}, {"at": 1, "value": 4}, {"over": "4..5", "value": [2, -3]}"#
      let text = document(
        values, track: track, composition: overlay(#"{"track": "speed", "decimals": 1, "suffix": "x"}"#))
      let found = Set(try Document.parse(Array(text.utf8)).fontRequests)
      let shown = try lowered(text).videoComposition.overlays.compactMap { overlay -> FontRequest? in
        if case .text(let text) = overlay.content { text.fontRequest } else { nil }
      }
      #expect(shown.count > 10)
      #expect(found.isSuperset(of: shown))
      #expect(found.count <= 71)
    }
  }

  @Test func `a compositor is given the tracks that it names`() throws {
    let edit = try lowered(
      document(
        #"{"at": 1, "value": 2}, {"over": "2..3", "value": [4, 6]}"#,
        composition: """
          "instructions": [{"over": "0..6", "layers": [{"track": "video1"}],
            "compositor": {"name": "gauge", "metadata": ["speed"]}}]
          """))
    let track = try #require(edit.metadata?.first)
    #expect(edit.metadata?.count == 1 && track.id == "speed")
    func value(_ tenths: Int64) throws -> Double? {
      try track.value(at: MediaTime(value: tenths, timescale: 10))?.number
    }
    #expect(try [0, 9, 10, 19, 20, 25, 29, 30, 59].map(value) == [nil, nil, 2, 2, 4, 5, 5.8, nil, nil])
    guard case .compositor(let layer)? = edit.videoComposition.instructions.first?.layers.first else {
      Issue.record("no compositor")
      return
    }
    #expect(layer.compositor.metadata == ["speed"])
    // Without a compositor the tasks have nothing of it.
    #expect(
      try lowered(document(#"{"at": 1, "value": 2}"#, composition: overlay(#"{"track": "speed"}"#))).metadata == nil)
  }

  @Test func `the numbers of a track are an opacity and a rotation`() throws {
    let values = #"{"over": "1..2", "value": [0, 1]}, {"over": "2..3", "value": 0.5}, {"at": 4, "value": 0.25}"#
    let edit = try lowered(
      document(
        values,
        composition: """
          "overlays": [{"image": "logo", "over": "1/2..6", "opacity": {"track": "speed"}, "rotate": {"track": "speed"}}]
          """))
    let overlay = try #require(edit.videoComposition.overlays.first)
    guard case .turn(let turns)? = overlay.geometry?.transform else {
      Issue.record("no transform")
      return
    }
    let expected: [(tenths: Int64, opacity: Double, rotation: Double)] = [
      (0, 0, 0), (10, 0, 0), (15, 0.5, 0.5), (20, 0.5, 0.5), (29, 0.5, 0.5), (30, 0, 0.5), (39, 0, 0.5),
      (40, 0.25, 0.25), (59, 0.25, 0.25),
    ]
    for (tenths, opacity, rotation) in expected {
      let time = MediaTime(value: tenths, timescale: 10)
      #expect(try overlay.opacity * overlay.ramps.value(at: time) == opacity, "\(tenths)")
      #expect(try turns.value(at: time)?.rotation == rotation, "\(tenths)")
    }
  }

  @Test func `the film is not longer for its metadata`() throws {
    let edit = try lowered(
      document(
        #"{"over": "0..100", "value": "x"}, {"at": 200, "value": "y"}"#, composition: overlay(#"{"track": "speed"}"#)))
    #expect(edit.composition.duration == MediaTime(seconds: 6))
    #expect(edit.videoComposition.overlays.map(\.over.end) == [MediaTime(seconds: 6)])
  }

  @Test func `a track that nothing uses is a warning`() throws {
    let text = document(#"{"at": 0, "value": 1}"#, composition: #""filters": []"#)
    let warnings = try Document.parse(Array(text.utf8)).lowerWithWarnings(assets: standardAssets(), output: nil)
      .warnings
    #expect(warnings.map(\.description).contains("/tracks/1: nothing uses the metadata track 'speed'"))
  }

  private static func track(_ values: String, _ others: String = "") -> String {
    documentText(
      tracks: #"[\#(clip), {"id": "m", "type": "metadata"\#(others), "values": [\#(values)]}]"#,
      #""videoComposition": {"overlays": [{"text": {"track": "m"}, "size": 9}]}"#)
  }

  private static func text(_ text: String, _ values: String = #"{"at": 0, "value": 1}"#) -> String {
    documentText(
      tracks: #"[\#(clip), {"id": "m", "type": "metadata", "values": [\#(values)]}]"#,
      #""videoComposition": {"overlays": [{"text": {"track": "m"}}, {"text": \#(text)}]}"#)
  }

  private static func number(_ overlay: String, _ values: String = #"{"at": 0, "value": 1}"#) -> String {
    documentText(
      tracks: #"[\#(clip), {"id": "m", "type": "metadata", "values": [\#(values)]}]"#,
      #""videoComposition": {"overlays": [{"image": "logo", \#(overlay)}]}"#)
  }

  @Test(arguments: [
    Wrong(
      number(#""opacity": {"track": "m"}"#, #"{"at": 0, "value": 1}, {"at": 1, "value": 1.5}"#),
      "/videoComposition/overlays/0/opacity/track", "has 1.5 (/tracks/1/values/1); from 0 to 1"),
    Wrong(
      number(#""opacity": {"track": "m"}"#, #"{"at": 0, "value": "x"}"#),
      "/videoComposition/overlays/0/opacity/track", "has texts; a number is needed"),
    Wrong(
      number(#""opacity": {"track": "m"}, "ramps": [{"over": "0..1", "opacity": [0, 1]}]"#),
      "/videoComposition/overlays/0/ramps/0", "there can be no ramp of it"),
    Wrong(
      number(#""opacity": 0.5, "rotate": {"track": "m"}, "transform": {"scale": 2}"#),
      "/videoComposition/overlays/0/rotate", "not both"),
    Wrong(
      number(#""rotate": {"track": "m", "unit": "deg"}"#), "/videoComposition/overlays/0/rotate/unit",
      "the keys of a number of a metadata track are track"),
    Wrong(track("").replacing(#""id": "m", "#, with: ""), "/tracks/1", "a metadata track needs 'id'"),
    Wrong(
      track("").replacing(#""values": []"#, with: #""values": [], "clips": []"#), "/tracks/1/clips",
      "a metadata track has 'values'"),
    Wrong(track(#"{"value": 1}"#), "/tracks/1/values/0", "needs 'at', a time, or 'over', a range"),
    Wrong(track(#"{"at": 0}"#), "/tracks/1/values/0", "needs 'value'"),
    Wrong(track(#"{"at": 0, "over": "0..1", "value": 1}"#), "/tracks/1/values/0/at", "a value has 'over'", "not both"),
    Wrong(track(#"{"at": 0, "value": [1, 2]}"#), "/tracks/1/values/0/value", "should be a number or a text"),
    Wrong(track(#"{"over": "0..1", "value": [1]}"#), "/tracks/1/values/0/value", "at the end of 'over'"),
    Wrong(track(#"{"over": "2..1", "value": 1}"#), "/tracks/1/values/0/over", "ends before it starts"),
    Wrong(track(#"{"at": 0, "value": 2e9}"#), "/tracks/1/values/0/value", "from -1000000000 to 1000000000"),
    Wrong(track(#"{"at": 0, "value": true}"#), "/tracks/1/values/0/value", "true should be a number or a text"),
    Wrong(
      track(#"{"at": 0, "value": 1}, {"at": 1, "value": "x"}"#), "/tracks/1/values/1/value", "numbers", "is a text"),
    Wrong(
      track(#"{"over": "0..2", "value": 1}, {"over": "1..3", "value": 2}"#), "/tracks/1/values/1",
      "the value at 1..3 overlaps the one at 0..2", "a track has one value at a time"),
    Wrong(
      track(#"{"at": 0, "value": "x"}"#, #", "interpolation": "linear""#), "/tracks/1/interpolation",
      "texts cannot be interpolated"),
    Wrong(track("", #", "interpolation": "cubic""#), "/tracks/1/interpolation", "'cubic'", "linear"),
    Wrong(
      track("").replacing(#"{"track": "m"}"#, with: #"{"track": "M"}"#), "/videoComposition/overlays/0/text/track",
      "there is no metadata track 'M'", "did you mean 'm'?"),
    Wrong(
      track("").replacing(#"{"track": "m"}"#, with: #"{"track": "video1"}"#),
      "/videoComposition/overlays/0/text/track", "track 'video1' is not a metadata track"),
    Wrong(
      text(#"{"track": "m", "rounding": "ceil"}"#), "/videoComposition/overlays/1/text/rounding", "nearest", "up"),
    Wrong(
      text(#"{"track": "m", "rounding": "up"}"#, #"{"at": 0, "value": "x"}"#),
      "/videoComposition/overlays/1/text/rounding", "has texts"),
    Wrong(text(#"{"track": "m", "decimals": 7}"#), "/videoComposition/overlays/1/text/decimals", "from 0 to 6"),
    Wrong(text(#"{"track": "m", "format": "%d"}"#), "/videoComposition/overlays/1/text/format", "'prefix'"),
    Wrong(
      text(#"{"track": "m", "decimals": 1}"#, #"{"at": 0, "value": "x"}"#),
      "/videoComposition/overlays/1/text/decimals", "has texts"),
    Wrong(
      text(#"{"track": "m", "decimals": 3}"#, #"{"over": "0..1", "value": [0, 100]}"#),
      "/videoComposition/overlays/1/text", "more than 5000 different texts", "fewer 'decimals'"),
    Wrong(
      documentText(
        tracks: "[\(clip)]",
        #""videoComposition": {"instructions": [{"over": "0..6", "compositor": {"name": "a", "metadata": ["m"]}}]}"#),
      "/videoComposition/instructions/0/compositor/metadata/0", "the document has no metadata track"),
    Wrong(
      documentText(
        tracks:
          #"[{"clips": [{"asset": "v", "use": "0..2"}, {"asset": "v", "use": "0..2", "transition": {"kind": "dissolve", "metadata": []}}]}]"#
      ), "/tracks/0/clips/1/transition/metadata", "'metadata' is for transitions of the kind 'custom'"),
  ])
  func everyMistakeIsReportedWithItsPlace(_ wrong: Wrong) throws {
    let found = try problems(wrong.text)
    #expect(found.map(\.pointer) == [wrong.pointer], "\(found)")
    for word in wrong.words { #expect(found.first?.message.contains(word) == true, "\(found) lacks '\(word)'") }
  }

  /// Nothing is computed for each overlay, each value and each text of a document that wants too many.
  @Test func `a hostile document is read in a short time`() throws {
    let values = (0..<2000).map { #"{"at": \#($0), "value": \#($0 % 50)}"# }.joined(separator: ",")
    let overlays = Array(repeating: #"{"text": {"track": "m"}}"#, count: 3000).joined(separator: ",")
    let found = try problems(
      documentText(
        tracks: #"[\#(Self.clip), {"id": "m", "type": "metadata", "values": [\#(values)]}]"#,
        #""videoComposition": {"overlays": [\#(overlays)]}"#))
    #expect(found.count > 400)
    #expect(found.contains { $0.message.contains("at most 100 overlays") })
  }
}

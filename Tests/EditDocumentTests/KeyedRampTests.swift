import CompositionModel
import TestEdits
import Testing

@testable import EditDocument

/// Ramps of several values, and those that are repeated.
@Suite struct KeyedRampTests {
  private func text(_ ramp: String, mix: String = "") -> String {
    """
    { "sheaf": 1, "assets": { "v": "v.mov" },
      "tracks": [ { "id": "a", "clips": [ { "asset": "v", "use": "1..9", "at": 2, "ramps": [ \(ramp) ] } ] } ],
      "audioMix": { \(mix) }, "export": { "to": "out.mkv" } }
    """
  }

  private func opacity(_ ramp: String) throws -> RampList {
    let edit = try lowered(text(ramp))
    let layer = try #require(edit.videoComposition.instructions.last?.layers.first?.tracks.first)
    return layer.opacity
  }

  private func ramp(_ start: String, _ end: String, _ from: Double, _ to: Double, _ easing: Easing? = nil) throws
    -> Ramp
  {
    Ramp(over: try MediaTimeRange(start: at(start), end: at(end)), from: from, to: to, easing: easing)
  }

  @Test func `values follow each other evenly, or at their times`() throws {
    #expect(
      try opacity(#"{ "over": "1..4", "opacity": [0.1, 0.9, 0.3, 1], "easing": "ease-in" }"#).ramps == [
        ramp("3", "4", 0.1, 0.9, .easeIn), ramp("4", "5", 0.9, 0.3, .easeIn),
        ramp("5", "6", 0.3, 1, .easeIn),
      ])
    #expect(
      try opacity(#"{ "over": "1..5", "opacity": [0.2, 0.7, 0.4], "keyTimes": [0, 0.125, 1] }"#).ramps == [
        ramp("3", "7/2", 0.2, 0.7), ramp("7/2", "7", 0.7, 0.4),
      ])
  }

  @Test func `a ramp is repeated within its time, and goes back`() throws {
    #expect(
      try opacity(#"{ "over": "0..3", "opacity": [0.25, 0.75], "repeat": 3 }"#).ramps == [
        ramp("2", "3", 0.25, 0.75), ramp("3", "4", 0.25, 0.75), ramp("4", "5", 0.25, 0.75),
      ])
    #expect(
      try opacity(
        #"{ "over": "0..4", "opacity": [0.1, 0.6, 0.9], "keyTimes": [0, 0.25, 1], "repeat": 2, "autoreverse": true }"#
      ).ramps == [
        ramp("2", "9/4", 0.1, 0.6), ramp("9/4", "3", 0.6, 0.9), ramp("3", "15/4", 0.9, 0.6),
        ramp("15/4", "4", 0.6, 0.1),
        ramp("4", "17/4", 0.1, 0.6), ramp("17/4", "5", 0.6, 0.9), ramp("5", "23/4", 0.9, 0.6),
        ramp("23/4", "6", 0.6, 0.1),
      ])
  }

  @Test func `places, sounds and filters have such ramps too`() throws {
    let edit = try lowered(
      text(
        #"{ "over": "0..2", "transform": [{}, { "rotate": 30 }, { "rotate": -30 }] }"#,
        mix: #""a.sound": [ { "over": "2..4", "volume": ["-6dB", 0.25, 1], "repeat": 2 } ]"#))
    let layer = try #require(edit.videoComposition.instructions.last?.layers.first?.tracks.first)
    guard case .turn(let turns)? = layer.geometry?.transform else {
      Issue.record("\(String(describing: layer.geometry))")
      return
    }
    #expect(turns.ramps.suffix(2).map(\.from.rotation) == [0, 30] && turns.ramps.last?.to.rotation == -30)
    #expect(turns.ramps.suffix(2).map(\.over.start) == [try at("2"), try at("3")])
    let volume = try #require(edit.audioMix.volumes.values.first)
    let second = try at("3")
    #expect(volume.ramps.map(\.to) == [0.25, 1, 0.25, 1] && volume.ramps[2].over.start == second)
    let filtered = try lowered(
      text(
        #"{ "at": 0, "opacity": 1 } ], "filters": [ { "kind": "blur", "radius": [ { "over": "0..3", "value": [1, 5, 2, 9] } ] }"#
      ))
    let filters = try #require(filtered.videoComposition.instructions.last?.layers.first?.tracks.first?.filters)
    #expect(filters.count == 1 && "\(filters)".contains("9.0"))
  }

  @Test func `what is wrong is said`() throws {
    func found(_ ramp: String) throws -> [String] { try problems(text(ramp)).map(\.pointer) }
    let place = "/tracks/0/clips/0/ramps/0"
    #expect(try found(#"{ "over": "0..3", "opacity": [0, 1, 2] }"#) == [place + "/opacity/2"])
    #expect(try found(#"{ "over": "0..3", "opacity": [0.5] }"#) == [place + "/opacity"])
    #expect(try found(#"{ "over": "0..3", "opacity": [0, 1], "keyTimes": [0, 0.5, 1] }"#) == [place + "/opacity"])
    for times in ["[0.1, 1]", "[0, 0.9]", "[0, 0.6, 0.5, 1]", "[0]", "[0, 2]", "1"] {
      #expect(
        try found(#"{ "over": "0..3", "opacity": [0, 1], "keyTimes": \#(times) }"#).first == place + "/keyTimes",
        "\(times)")
    }
    for key in [#""repeat": 2"#, #""autoreverse": true"#, #""keyTimes": [0, 1]"#] {
      #expect(try !found(#"{ "at": 1, "opacity": 0.5, \#(key) }"#).isEmpty)
    }
    #expect(try found(#"{ "over": "0..3", "opacity": [0, 1], "repeat": 0 }"#) == [place + "/repeat"])
    let many = (0..<70).map {
      #"{ "over": "\#($0)/10..\#($0 + 1)/10", "opacity": [0, 1], "repeat": 1000, "autoreverse": true }"#
    }
    #expect(try problems(text(many.joined(separator: ", "))).contains { $0.message.contains("more than 100000 steps") })
  }

  @Test func `it is written as it is read`() throws {
    let read = try Document(
      json: text(
        #"{ "over": "0..2", "transform": [{}, { "rotate": 30 }, {}], "keyTimes": [0, 0.2, 1], "repeat": 2, "easing": "hold" }"#,
        mix: #""a.sound": [ { "over": "2..4", "volume": [0, 0.25, 1], "autoreverse": true } ]"#))
    #expect(try Document(json: read.json) == read)
    let json = try read.json
    #expect(json.contains("keyTimes") && json.contains("autoreverse"))
  }
}

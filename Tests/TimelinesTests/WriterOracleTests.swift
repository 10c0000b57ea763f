import CompositionModel
import EditDocument
import Foundation
import TestPrograms
import Testing

@testable import Timelines

/// What is written, as opentimelineio's adapters read it.
@Suite(.enabled(if: !QuickTests.areRun)) struct WriterOracleTests {
  /// A clip, in frames.
  private struct Shown: Equatable {
    var name: String
    var place: Int
    var duration: Int
    /// Nil: at another speed, of which one adapter knows nothing.
    var start: Int?
  }

  private func written(_ format: TimelineFormat, _ name: String) throws -> (timeline: Timeline, oracle: OTIOOracle) {
    let document = try Document(json: #require(RoundTripTests.documents[format]))
    var exporter = TimelineOfDocument(document, for: format)
    let timeline = try exporter.timeline(named: "edit")
    let folder = try TemporaryFolder()
    let file = try folder.write(Data(TimelineFile.write(timeline, as: format).bytes), name)
    return (timeline, try OTIOOracle(of: file, rate: "25"))
  }

  private func shown(_ track: OTIOOracle.Track, startsAtOtherSpeeds: Bool) throws -> [Shown] {
    try track.items.compactMap { item in
      guard let place = item.place, let used = item.used, item.type != "Gap", item.isBlack != true else { return nil }
      let isNatural = item.warp == 1
      return Shown(
        name: item.name, place: Int(place.start[0]), duration: Int(place.duration[0]),
        start: isNatural || startsAtOtherSpeeds ? Int(try #require(used.start.first)) : nil)
    }
  }

  @Test func `an EDL has each clip at its frame, with its speed and its transition`() throws {
    let (timeline, oracle) = try written(.editDecisionList, "edit.edl")
    #expect(oracle.tracks.map(\.name) == ["V", "A1"])
    #expect(seconds(oracle.duration) == (try timeline.duration.approximate))
    // Each ends where the transition to the next one begins.
    #expect(
      try shown(oracle.tracks[0], startsAtOtherSpeeds: true) == [
        Shown(name: "one", place: 25, duration: 75, start: 50),
        Shown(name: "two", place: 100, duration: 100, start: 25),
        Shown(name: "two", place: 225, duration: 45, start: 0), Shown(name: "one", place: 275, duration: 25, start: 50),
        Shown(name: "one", place: 300, duration: 15, start: 20), Shown(name: "two", place: 315, duration: 50, start: 0),
      ])
    #expect(
      try shown(oracle.tracks[1], startsAtOtherSpeeds: true) == [
        Shown(name: "song", place: 0, duration: 65, start: 0), Shown(name: "song", place: 65, duration: 50, start: 250),
      ])
    let clips = oracle.tracks[0].items.filter { $0.used != nil && $0.type != "Gap" && $0.isBlack != true }
    #expect(clips.map(\.warp) == [1, 1, 0.5, 0, -2, 1])
    let transitions = oracle.tracks[0].items.filter { $0.type == "Transition" }
    #expect(transitions.map(\.after) == [25, 10, 5, 10].map { [$0, 25] })
    #expect(transitions.last?.name.hasPrefix("SMPTE_Wipe") == true)
    #expect(oracle.tracks[1].items[1].after == [10, 25])
  }

  @Test func `FCPXML has each clip at its frame, in lanes`() throws {
    let (timeline, oracle) = try written(.finalCutPro, "edit.fcpxml")
    #expect(seconds(oracle.duration) == (try timeline.duration.approximate))
    let lanes = ["0", "1", "-1"].compactMap { lane in oracle.tracks.first { $0.name == lane } }
    try #require(lanes.count == 3 && oracle.tracks.count == 3 && timeline.tracks.count == 3)
    for (track, lane) in zip(timeline.tracks, lanes) {
      var (place, expected) = (Rational.zero, [Shown]())
      for item in track.items {
        if case .clip(let clip) = item {
          func frames(_ time: Rational) throws -> Int { Int(try (time * Rational(25)).floor) }
          let start = clip.motion == .speed(.one) ? try frames(clip.start) : 0
          expected.append(
            Shown(name: clip.name, place: try frames(place), duration: try frames(clip.duration), start: start))
        }
        place = try place + item.duration
      }
      #expect(try shown(lane, startsAtOtherSpeeds: false) == expected, "\(lane.name)")
    }
  }

  private static let timecodes: [(String, Bool)] = TestExtent.of(
    [("24000/1001", false), ("30000/1001", true)],
    whole: [("25", false), ("24000/1001", false), ("30000/1001", true), ("30000/1001", false), ("60000/1001", true)])

  /// The number of a picture as a timecode, as opentimelineio writes it.
  @Test(arguments: timecodes)
  func `the timecode of a frame is opentimelineio's`(rate: String, drops: Bool) throws {
    let exact = try #require(TimelineRates.rate(rate))
    let nominal = Int(exact.rounded)
    var frames = [0, 1, 1799, 1800, 1801, 17981, 17982, 17983, 3599, 3600, 107_891, 107_892]
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 { frames.append(Int.random(in: 0..<(nominal * 86_000), using: &random)) }
    let script = """
      import opentimelineio as otio, sys
      rate = eval(sys.argv[1])
      for frame in sys.argv[3:]:
          print(otio.opentime.RationalTime(int(frame), rate).to_timecode(rate, sys.argv[2] == "true"))
      """
    let python = OTIOOracle.repository.appending(path: ".build/http-tools/bin/python").path
    let result = try Tool.result(of: python, ["-c", script, rate, "\(drops)"] + frames.map(String.init))
    try #require(result.status == 0, "\(result.log)")
    let expected = String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(frames.map { Timecode(frame: $0, rate: exact, dropsFrames: drops)?.text } == expected)
    // And back.
    #expect(expected.map { Timecode($0, rate: exact)?.frame } == frames)
  }
}

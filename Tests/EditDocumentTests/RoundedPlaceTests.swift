import EditDocument
import Foundation
import TestEdits
import TestPrograms
import Testing

@testable import CompositionModel

/// Clips one after the other whose durations have no common fine fraction of a second.
@Suite struct RoundedPlaceTests {
  private static let four = ["2000/999", "56/29", "100001/44100", "115991/48000"]
  private static let tick = Rational(1, over: MediaTime.roundingTimescale)

  private func assets(_ durations: [String]) throws -> [AssetID: AssetDescription] {
    var assets: [AssetID: AssetDescription] = [:]
    for (number, duration) in durations.enumerated() {
      assets["a\(number)"] = try SyntheticAssets.video(seconds: at(duration))
    }
    return assets
  }

  private func document(_ clips: [String], export: String = #"{ "to": "f.mkv" }"#, others: String = "") -> String {
    let assets = (0..<4).map { "\"a\($0)\": \"a\($0).mov\"" }.joined(separator: ", ")
    return """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [{ "id": "A", "sound": true, "clips": [\(clips.joined(separator: ", "))] }]\(others), "export": \(export) }
      """
  }

  /// The nearest multiple of a tick, halves up, computed without `Rational.rounded`.
  private func nearest(_ time: Rational) throws -> Rational {
    let twice = try (time / Self.tick) * Rational(2) + .one
    return try Rational((twice * Rational(1, over: 2)).floor) * Self.tick
  }

  @Test func `a place that does not fit is the nearest that does, and what follows is placed from there`() throws {
    let clips = (0..<4).map { "{ \"asset\": \"a\($0)\" }" }
    let edit = try lowered(document(clips), assets: try assets(Self.four))
    let targets = edit.composition.tracks[0].clips.map(\.target)
    #expect(targets.map { "\($0.start)" }.prefix(3) == ["0", "2000/999", "113944/28971"])
    // Its denominator is 141957900. With the fourth clip it is 22713264000, which is more than 32 bits hold.
    let third = try Rational(2000, 999) + Rational(56, 29) + Rational(100_001, 44100)
    #expect(try targets[3].start.exact == third && !targets[3].start.hasBeenRounded)
    let exact = try third + Rational(115_991, 48000)
    #expect(try targets[3].end.exact == nearest(exact) && targets[3].end.hasBeenRounded)
    #expect(try targets[3].end.exact != exact && targets[3].end.timescale == MediaTime.roundingTimescale)
    // The speed of none is changed.
    for track in edit.composition.tracks {
      #expect(track.clips.allSatisfy { $0.source.duration == $0.target.duration })
    }
    #expect(edit.composition.roundedPlaces == nil)
    let five = try lowered(document(clips + [clips[0]]), assets: try assets(Self.four))
    #expect(five.composition.roundedPlaces?.map(\.clip) == [4, 4])
    #expect(five.composition.roundedPlaces?.map(\.track) == ["A", "A.sound"])
    #expect(five.composition.tracks[0].clips[4].target.start == targets[3].end)
  }

  @Test func `a thousand clips are within a microsecond of the exact sum, without a gap`() throws {
    var random = SeededRandom(seed: 34)
    var (clips, exact): ([String], Rational) = ([], .zero)
    var ends: [Rational] = []
    // The exact sum needs more than 128 bits, so it is kept in parts of 2^-80 s, each rounded down.
    let fine = Int128(1) << 80
    var (sum, count) = (Int128(0), 0)
    for _ in 0..<1000 {
      let denominator = Int64.random(in: 1...192_000, using: &random)
      let numerator = max(1, Int64.random(in: denominator / 20...denominator, using: &random))
      clips.append("{ \"asset\": \"a0\", \"use\": \"1/7+\(numerator)/\(denominator)\" }")
      sum += Int128(numerator) * fine / Int128(denominator)
      count += 1
      exact = try Rational(sum / (fine >> 40), 1 << 40)
      ends.append(exact)
    }
    let edit = try lowered(document(clips), assets: try assets(["60", "1", "1", "1"]))
    let placed = edit.composition.tracks[0].clips
    #expect(placed.count == 1000)
    var place = MediaTime.zero
    for (clip, exact) in zip(placed, ends) {
      #expect(clip.target.start == place && clip.source.duration == clip.target.duration)
      #expect(clip.target.end.isPlace)
      place = clip.target.end
      let difference = try place.exact - exact
      #expect(difference < Rational(1, over: 1_000_000) && Rational(-1, over: 1_000_000) < difference)
    }
    #expect(edit.composition.tracks[1].clips.map(\.target) == placed.map(\.target))
    #expect((edit.composition.roundedPlaces?.count ?? 0) > 1900)
  }

  @Test func `a range whose end has been rounded is the same after it was written and read`() throws {
    let start = try MediaTime(place: Rational(1_234_567_891, 705_600_000))
    let range = try MediaTimeRange(placing: start, lasting: at("2000/999"))
    #expect(try range.endsRounded && range.duration == at("2000/999"))
    let json = try JSONEncoder().encode(range)
    #expect(String(decoding: json, as: UTF8.self).contains("\"end\""))
    #expect(try JSONDecoder().decode(MediaTimeRange.self, from: json) == range)
    let moved = try range.shifted(by: at("-1001/30000"))
    #expect(try JSONDecoder().decode(MediaTimeRange.self, from: JSONEncoder().encode(moved)) == moved)
    let plain = try JSONEncoder().encode(try spanning("1/3", "2"))
    #expect(!String(decoding: plain, as: UTF8.self).contains("end"))
    for end in ["1", "3", "-5", "inf", "99999999999999999999999999999999999999/7"] {
      let hostile = Data(#"{"start":"0","duration":"2","end":"\#(end)"}"#.utf8)
      #expect(throws: (any Error).self) { try JSONDecoder().decode(MediaTimeRange.self, from: hostile) }
    }
  }

  @Test func `a time of its own that is a rounded end but for rounding is that end`() throws {
    let clips = (0..<4).map { "{ \"asset\": \"a\($0)\" }" }
    let assets = try assets(Self.four)
    let end = try lowered(document(clips), assets: assets).composition.tracks[0].end
    // A tick before it and after it: neither an overlap nor a gap.
    for difference in ["-1/705600000", "0", "1/705600000"] {
      let next = "{ \"asset\": \"a0\", \"at\": \"\(try end + at(difference))\" }"
      let edit = try lowered(document(clips + [next]), assets: assets)
      #expect(edit.composition.tracks[0].clips[4].target.start == end)
    }
    let far = "{ \"asset\": \"a0\", \"at\": \"\(try end - at("1/1000"))\" }"
    #expect(try problems(document(clips + [far]), assets: assets).contains { $0.message.contains("overlap") })
  }

  @Test func `clips that are cut, repeated, retimed or joined by a transition are placed where they fit`() throws {
    let first = (0..<4).map { "{ \"asset\": \"a\($0)\" }" }
    let assets = try assets(Self.four)
    for clip in [
      #"{ "asset": "a0", "speed": "10001/10007" }"#, #"{ "asset": "a0", "speed": 1.000000000000000003 }"#,
      #"{ "asset": "a0", "reverse": true }"#,
      #"{ "asset": "a0", "until": 10 }"#, #"{ "asset": "a0", "loop": true, "until": 12 }"#,
      #"{ "asset": "a0", "transition": "1/3" }"#, #"{ "asset": "a0", "duration": "7919/7907" }"#,
      #"{ "asset": "a0", "use": "1/7919..4/7907", "duration": "100/7901" }"#,
    ] {
      let edit = try lowered(document(first + [clip, #"{ "asset": "a1" }"#]), assets: assets)
      for track in edit.composition.tracks {
        for clip in track.clips { #expect(clip.target.start.isPlace && clip.target.end.isPlace) }
      }
      let clips = edit.composition.tracks.filter { $0.type == .video }.flatMap(\.clips)
        .sorted { $0.target.start < $1.target.start }
      if !clip.contains("transition") {
        for (clip, next) in zip(clips, clips.dropFirst()) { #expect(clip.target.end == next.target.start) }
      }
      for part in clips where part.retiming == nil && !clip.contains("speed") && !clip.contains("duration") {
        #expect(part.source.duration == part.target.duration)
      }
    }
  }

  // MARK: Editing

  private func range(_ number: Int, _ assets: [AssetID: AssetDescription]) throws -> AssetRange {
    try AssetRange(whole: "a\(number)", contents: try #require(assets["a\(number)"]))
  }

  @Test func `edits of a composition place clips as a document does`() throws {
    let assets = try assets(Self.four)
    var composition = Composition()
    for number in [0, 1, 2, 3, 0, 1] { try composition.insert(try range(number, assets)) }
    let clips = [0, 1, 2, 3, 0, 1].map { "{ \"asset\": \"a\($0)\" }" }
    let edit = try lowered(document(clips), assets: assets)
    #expect(composition.tracks.map { $0.clips.map(\.target) } == edit.composition.tracks.map { $0.clips.map(\.target) })
    #expect(composition.tracks[0].clips[4].target.start.hasBeenRounded)
    #expect(!composition.tracks[0].clips[3].target.start.hasBeenRounded)
    #expect(composition.duration.hasBeenRounded)
    // What is computed from such a time has the flag too, and the flag changes no comparison.
    #expect(try (composition.duration + .zero).hasBeenRounded)
    #expect(MediaTime(composition.duration.description) == composition.duration)
  }

  @Test func `every edit keeps clips together, at their speed, and in places that fit`() throws {
    let assets = try assets(Self.four)
    var random = SeededRandom(seed: 9)
    for _ in 0..<20 {
      var track = CompositionTrack(id: "A", type: .video)
      var length = Rational.zero
      for _ in 0..<12 {
        let number = Int.random(in: 0..<4, using: &random)
        try track.insert(try range(number, assets))
      }
      for _ in 0..<8 {
        let end = try track.end.exact
        let time = try MediaTime(end * Rational(Int32.random(in: 0...99, using: &random), over: 101)).place
        let short = MediaTime(value: Int64.random(in: 1...9_973, using: &random), timescale: 9_967)
        length = end
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try track.insert(try range(1, assets), at: time)
        case 1:
          try track.remove(try MediaTimeRange(start: time, duration: short))
          length = try length - short.exact
        case 2:
          try track.insertEmpty(try MediaTimeRange(start: time, duration: short))
          length = try length + short.exact
        default: try track.insert([try range(0, assets), try range(3, assets)], at: time)
        }
      }
      for (clip, next) in zip(track.clips, track.clips.dropFirst()) {
        #expect(clip.target.end <= next.target.start)
      }
      for clip in track.clips {
        #expect(clip.source.duration == clip.target.duration && clip.target.start.isPlace && clip.target.end.isPlace)
        #expect(try clip.target == MediaTimeRange(placing: clip.target.start, lasting: clip.target.duration))
        let asset = try #require(assets[clip.asset])
        #expect(.zero <= clip.source.start && clip.source.end <= asset.duration)
      }
    }
  }

  @Test func `a time that is an edit point but for rounding cuts nothing off`() throws {
    let assets = try assets(Self.four)
    var track = CompositionTrack(id: "A", type: .video)
    for number in [0, 1, 2, 3, 0] { try track.insert(try range(number, assets)) }
    let sum = try Self.four.reduce(Rational.zero) { try $0 + at($1).exact }
    try track.insert(try range(1, assets), at: try MediaTime(sum))
    #expect(track.clips.map(\.asset) == ["a0", "a1", "a2", "a3", "a1", "a0"])
    try track.remove(try MediaTimeRange(start: MediaTime(sum), end: track.clips[5].target.start))
    #expect(track.clips.map(\.asset) == ["a0", "a1", "a2", "a3", "a0"])
    let place = track.clips[4].target.start
    try track.scale(try MediaTimeRange(start: place, end: track.end), to: MediaTime(seconds: 2))
    #expect(track.clips.count == 5 && track.clips[4].target.duration == MediaTime(seconds: 2))
  }

  // MARK: Extremes

  @Test func `arithmetic on extreme times never traps`() throws {
    let texts = [
      "0", "1", "-1", "1/3", "9223372036854775807", "-9223372036854775808", "1/2147483647", "1/9223372036854775807",
      "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728",
      "-170141183460469231731687303715884105727/9223372036854775807", "170141183460469231731687303715884105727/2",
      "invalid", "+inf", "-inf",
    ]
    let times = try texts.map { try #require(MediaTime($0)) }
    var results = 0
    func attempt<Value>(_ compute: () throws(TimeError) -> Value) {
      do throws(TimeError) {
        _ = try compute()
        results += 1
      } catch {}
    }
    for a in times {
      _ = (a.value, a.timescale, a.approximateSeconds, a.description, a.hashValue, a.isPlace, seconds(a))
      attempt { () throws(TimeError) in try a.exact }
      attempt { () throws(TimeError) in try a.place }
      for scale in [Int32.min, -1, 0, 1, 705_600_000, .max] {
        attempt { () throws(TimeError) in try a.rescaled(to: scale) }
      }
      if let exact = try? a.exact {
        _ = (exact.floor, exact.ceiling, exact.rounded, exact.approximate, -exact, exact.description)
        attempt { () throws(TimeError) in try MediaTime(place: exact) }
        attempt { () throws(TimeError) in try MediaTime(stored: exact) }
      }
      for b in times {
        _ = (a < b, a == b, a <= b)
        attempt { () throws(TimeError) in try a + b }
        attempt { () throws(TimeError) in try a - b }
        attempt { () throws(TimeError) in try a / b }
        attempt { () throws(TimeError) in try a * (b / b) }
        attempt { () throws(TimeError) in try a.isNear(b) }
        attempt { () throws(TimeError) in try MediaTimeRange(start: a, duration: b).endsRounded }
        attempt { () throws(TimeError) in try MediaTimeRange(start: a, end: b).shifted(by: b) }
        attempt { () throws(TimeError) in try MediaTimeRange(placing: a, lasting: b).part(from: a, to: b) }
      }
    }
    for integer in [Int128.min, .max, 0] { _ = (-Rational(integer), Rational(integer).floor) }
    _ = Rational(UInt128.max)
    #expect(results > 100)
  }
}

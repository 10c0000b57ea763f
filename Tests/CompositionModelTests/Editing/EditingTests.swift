import CompositionModel
import TestEdits
import TestPrograms
import Testing

@Suite struct EditingTests {
  private func piece(_ asset: AssetID, _ start: String, _ end: String) throws -> AssetRange {
    AssetRange(asset: asset, contents: try #require(try standardAssets()[asset]), range: try spanning(start, end))
  }

  /// `asset source@target` of every clip.
  private func shown(_ track: CompositionTrack?) -> [String] {
    track?.clips.map { "\($0.asset) \($0.source)@\($0.target)" } ?? []
  }

  private func track(_ pieces: AssetRange...) throws -> CompositionTrack {
    var track = CompositionTrack(id: "A", type: .video)
    try track.insert(pieces)
    return track
  }

  @Test func `tracks are added, named and removed`() throws {
    var composition = Composition()
    #expect(try composition.addTrack(.video) == "video1")
    #expect(try composition.addTrack(.audio) == "audio1")
    #expect(try composition.addTrack(.video, id: "video3") == "video3")
    #expect(try composition.addTrack(.video) == "video4")
    #expect(throws: EditingError.trackExists("audio1")) { try composition.addTrack(.audio, id: "audio1") }
    #expect(throws: EditingError.unsupportedTrack(.subtitle)) { try composition.addTrack(.subtitle) }
    try composition.removeTrack("video1")
    #expect(throws: EditingError.unknownTrack("video1")) { try composition.removeTrack("video1") }
    #expect(composition.tracks.map(\.id) == ["audio1", "video3", "video4"])
  }

  /// Players play one language of a dubbed film, and all tracks of a recorder that are enabled.
  @Test(
    arguments: [
      ("mov", [(true, 1), (false, 1)], [1]), ("mov", [(false, 1), (true, 1)], [2]),
      ("mov", [(true, 1), (true, 1)], [1]),
      ("mov", [(true, nil), (true, nil), (false, nil)], [1, 2]), ("mov", [(false, nil), (false, nil)], [1]),
      ("matroska", [(true, nil), (true, nil)], [1]), ("mpegts", [(true, nil), (true, nil)], [1]),
    ] as [(String, [(Bool, Int?)], [Int])])
  func `an asset that is inserted whole sounds as players play it`(
    container: String, tracks: [(isEnabled: Bool, group: Int?)], played: [Int]
  ) throws {
    var asset = try SyntheticAssets.video()
    asset.container = container
    let sound = try #require(asset.tracks.last)
    asset.tracks = [asset.tracks[0]]
    for (number, track) in tracks.enumerated() {
      var description = sound
      (description.index, description.isEnabled) = (number + 1, track.isEnabled)
      description.alternateGroup = track.group
      asset.tracks.append(description)
    }
    var composition = Composition()
    try composition.insert(AssetRange(asset: "a", contents: asset, range: try spanning("0", "2")))
    #expect(composition.tracks.filter { $0.type == .audio }.flatMap(\.clips).map(\.sourceTrack) == played)
  }

  @Test func `an invalid time appends and a later one leaves a gap`() throws {
    var track = try track(try piece("v", "0", "2"))
    try track.insert(try piece("w", "1", "3/2"))
    try track.insert(try piece("v", "5", "6"), at: try at("4"))
    #expect(shown(track) == ["v 0..2@0..2", "w 1..3/2@2..5/2", "v 5..6@4..5"])
  }

  @Test func `an insertion splits what plays and moves the rest`() throws {
    var track = try track(try piece("v", "0", "4"), try piece("w", "0", "1"))
    try track.insert(try piece("w", "10", "11"), at: try at("1"))
    #expect(shown(track) == ["v 0..1@0..1", "w 10..11@1..2", "v 1..4@2..5", "w 0..1@5..6"])
    try track.insertEmpty(try spanning("3", "7/2"))
    #expect(shown(track) == ["v 0..1@0..1", "w 10..11@1..2", "v 1..2@2..3", "v 2..4@7/2..11/2", "w 0..1@11/2..13/2"])
  }

  @Test func `several ranges are inserted together or not at all`() throws {
    var track = try track(try piece("v", "0", "4"))
    let before = track
    #expect(throws: EditingError.self) {
      try track.insert([try piece("w", "0", "1"), try piece("w", "59", "61")], at: try at("1"))
    }
    #expect(throws: EditingError.noTrack(.video, of: "s")) { try track.insert(try piece("s", "0", "1")) }
    #expect(throws: EditingError.self) { try track.insert(try piece("v", "1", "1")) }
    #expect(throws: EditingError.outsideTimeline(MediaTime(seconds: -1))) {
      try track.insert(try piece("v", "0", "1"), at: MediaTime(seconds: -1))
    }
    #expect(throws: EditingError.outsideTimeline(.positiveInfinity)) {
      try track.insert(try piece("v", "0", "1"), at: .positiveInfinity)
    }
    #expect(track == before)
  }

  @Test func `removing a range cuts what it meets and pulls the rest in`() throws {
    var track = try track(try piece("v", "0", "4"), try piece("w", "0", "2"))
    try track.remove(try spanning("3", "5"))
    #expect(shown(track) == ["v 0..3@0..3", "w 1..2@3..4"])
    try track.remove(try spanning("1", "2"))
    #expect(shown(track) == ["v 0..1@0..1", "v 2..3@1..2", "w 1..2@2..3"])
    try track.remove(try spanning("0", "100"))
    #expect(track.clips.isEmpty)
  }

  @Test func `scaling a range changes its speed and its gaps`() throws {
    var track = try track(try piece("v", "0", "4"))
    try track.insert(try piece("w", "0", "1"), at: try at("5"))
    try track.insert(try piece("v", "9", "10"), at: try at("6"))
    try track.scale(try spanning("3", "6"), to: try at("6"))
    #expect(shown(track) == ["v 0..3@0..3", "v 3..4@3..5", "w 0..1@7..9", "v 9..10@9..10"])
    try track.scale(try spanning("3", "9"), to: try at("3"))
    #expect(shown(track) == ["v 0..3@0..3", "v 3..4@3..4", "w 0..1@5..6", "v 9..10@6..7"])
    #expect(throws: EditingError.self) { try track.scale(try spanning("3", "9"), to: .zero) }
  }

  @Test func `what changes over a clip moves with it`() throws {
    var track = try track(try piece("v", "0", "4"), try piece("w", "0", "2"))
    let pan = RampList([
      Ramp(over: try spanning("4", "9/2"), from: -1, to: 1), Ramp(over: try spanning("5", "6"), from: 1, to: 0),
    ])
    track.clips[1].pan = pan
    track.clips[0].pan = try .constant(0.5)
    try track.insertEmpty(try spanning("0", "3"))
    #expect(track.clips.map(\.pan) == [try .constant(0.5), try pan.shifted(by: try at("3"))])
    try track.remove(try spanning("0", "3"))
    #expect(track.clips.map(\.pan) == [try .constant(0.5), pan])
    try track.scale(try spanning("2", "6"), to: try at("8"))
    #expect(shown(track) == ["v 0..2@0..2", "v 2..4@2..6", "w 0..2@6..10"])
    #expect(track.clips[1].pan == (try .constant(0.5)))
    #expect(track.clips[2].pan?.ramps.map { "\($0.over)" } == ["6..7", "8..10"])
  }

  @Test func `a split clip of changed speed plays as before`() throws {
    var track = try track(try piece("v", "0", "3"))
    try track.scale(try spanning("0", "3"), to: try at("7"))
    let whole = try #require(track.clips.first)
    try track.insertEmpty(try spanning("5", "6"))
    try track.remove(try spanning("5", "6"))
    #expect(track.clips.count == 2)
    for eighth in Int64(0)..<56 {
      let time = MediaTime(value: eighth, timescale: 8)
      let clip = try #require(track.clips.first { $0.target.contains(time) })
      #expect(try clip.sourceTime(at: time) == whole.sourceTime(at: time))
    }
  }

  @Test func `a still is split into stills`() throws {
    var track = try track(try piece("logo", "0", "5"))
    try track.remove(try spanning("2", "3"))
    #expect(shown(track) == ["logo 0..0@0..2", "logo 0..0@2..4"])
  }

  @Test func `an asset is inserted with all its tracks and pushes all`() throws {
    var composition = Composition()
    try composition.insert(try piece("v", "0", "4"))
    try composition.addTrack(.audio, id: "music")
    try composition.editTrack("music") { track in
      try track.insert(AssetRange(whole: "s", contents: try described { try SyntheticAssets.sound() }))
    }
    try composition.insert(try piece("mute", "1", "2"), at: try at("2"))
    #expect(composition.tracks.map(\.id) == ["video1", "audio1", "music"])
    #expect(shown(composition.track("video1")) == ["v 0..2@0..2", "mute 1..2@2..3", "v 2..4@3..5"])
    #expect(shown(composition.track("audio1")) == ["v 0..2@0..2", "v 2..4@3..5"])
    #expect(shown(composition.track("music")) == ["s 0..2@0..2", "s 2..60@3..61"])
    try composition.insert(try piece("w", "0", "1"))
    #expect(composition.duration == MediaTime(seconds: 62))
    try composition.remove(try spanning("0", "61"))
    #expect(composition.tracks.map(\.clips.count) == [1, 1, 0] && composition.duration == MediaTime(seconds: 1))
  }

  /// A clip of 10 s whose pan is 0.25, goes from left to right over 2..8, and is set to the centre at 9.
  private func panned(_ easing: Easing?) throws -> CompositionTrack {
    var track = try track(try piece("v", "0", "10"))
    track.clips[0].pan = RampList(
      try RampList.constant(0.25).ramps + [
        Ramp(over: try spanning("2", "8"), from: -1, to: 1, easing: easing),
        Ramp(over: try spanning("9", "9"), from: 0, to: 0),
      ])
    return track
  }

  @Test(
    arguments: [
      (nil, 1e-12), (.easeIn, 1e-9), (.easeOut, 1e-9), (.easeInOut, 1e-9), (.hold, 1e-12),
      (.cubicBezier(x1: 0.3, y1: -0.5, x2: 0.6, y2: 1.7), 1e-9),
      // Parts of this one are several curves each, as not every part has allowed control points. It is vertical at 5 s.
      (.cubicBezier(x1: 1, y1: 0, x2: 0, y2: 1), 5e-3),
    ] as [(Easing?, Double)])
  func `a cut through a clip splits the ramps of its pan`(_ easing: Easing?, _ tolerance: Double) throws {
    let whole = try #require(try panned(easing).clips[0].pan)
    for cut in ["1", "2", "16/3", "77/10", "9", "19/2"] {
      var track = try panned(easing)
      try track.insertEmpty(try MediaTimeRange(start: at(cut), duration: at("5")))
      #expect(track.clips.count == 2)
      for (clip, shift) in zip(track.clips, [MediaTime.zero, try at("5")]) {
        let pan = try #require(clip.pan)
        for ramp in pan.ramps where ramp.over.start != RampList.earliest {
          #expect(clip.target.contains(ramp.over))
        }
        for number in 0..<30 {
          let time = try clip.target.start + clip.target.duration * Rational(Int32(number), over: 30)
          let (found, expected) = (try pan.value(at: time), try whole.value(at: time - shift))
          #expect(abs(found - expected) <= tolerance, "\(cut): \(found) and not \(expected) at \(time)")
        }
      }
    }
    var removed = try panned(easing)
    try removed.remove(try spanning("3", "5"))
    let pan = try #require(removed.clips[1].pan)
    #expect(try abs(pan.value(at: at("7/2")) - whole.value(at: at("11/2"))) <= tolerance)
    #expect(try abs(pan.value(at: at("9/2")) - whole.value(at: at("13/2"))) <= tolerance)
    var scaled = try panned(easing)
    try scaled.scale(try spanning("4", "6"), to: try at("1"))
    let fast = try #require(scaled.clips[1].pan)
    #expect(try abs(fast.value(at: at("17/4")) - whole.value(at: at("9/2"))) <= tolerance)
  }

  private func described(_ make: () throws -> AssetDescription) throws(EditingError) -> AssetDescription {
    do { return try make() } catch { throw .time(.notNumeric) }
  }

  @Test func `what cannot be kept exactly changes nothing`() throws {
    var composition = Composition()
    try composition.insert(try piece("v", "0", "4"))
    let before = composition
    #expect(throws: EditingError.time(.overflow)) {
      try composition.insertEmpty(try MediaTimeRange(start: .zero, end: MediaTime(value: .max, timescale: 1)))
    }
    #expect(composition == before)
  }

  @Test func `a compatible track has room`() throws {
    var composition = Composition()
    try composition.insert(try piece("v", "0", "4"))
    #expect(composition.compatibleTrack(.video) == "video1")
    #expect(composition.compatibleTrack(.video, over: try spanning("3", "5")) == nil)
    #expect(composition.compatibleTrack(.video, over: try spanning("4", "5")) == "video1")
    #expect(Composition().compatibleTrack(.audio) == nil)
  }

  @Test func `random edits keep clips apart and in order`() throws {
    var random = SeededRandom(seed: 10)
    func time(_ limit: Int64) -> MediaTime {
      MediaTime(value: Int64.random(in: 0...limit, using: &random), timescale: 6)
    }
    for _ in 0..<60 {
      var composition = Composition()
      for _ in 0..<15 {
        let range = try MediaTimeRange(start: time(60), duration: MediaTime(value: 1, timescale: 6) + time(30))
        let before = composition.duration
        switch Int.random(in: 0...4, using: &random) {
        case 0, 1:
          try composition.insert(
            AssetRange(asset: "v", contents: try SyntheticAssets.video(), range: range), at: time(60))
        case 2:
          try composition.remove(range)
          let cut = try range.intersection(MediaTimeRange(start: .zero, end: before))
          // A gap that the cut leaves at the end is no part of the film.
          #expect(try composition.duration <= before - (cut?.duration ?? .zero) || before <= range.end)
        case 3:
          try composition.insertEmpty(range)
          #expect(try composition.duration == (range.start < before ? before + range.duration : before))
        default: try composition.scale(range, to: try MediaTime(seconds: 1) + time(6))
        }
        for track in composition.tracks {
          for (clip, next) in zip(track.clips, track.clips.dropFirst()) {
            #expect(clip.target.end <= next.target.start)
          }
          #expect(track.clips.allSatisfy { !$0.target.isEmpty && .zero <= $0.target.start })
        }
      }
    }
  }
}

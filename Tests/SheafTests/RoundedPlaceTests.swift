import Sheaf
import TestPrograms
import Testing

import struct CompositionModel.Ramp

/// Edits whose clips have places that do not fit a 64-bit count of 1/timescale seconds.
@Suite(.ownThreads) struct RoundedPlaceTests {
  private func time(_ value: Int64, _ timescale: Int32) -> MediaTime { MediaTime(value: value, timescale: timescale) }

  @Test func `an edit says which places it has rounded`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    for end in [time(2000, 999), time(56, 29), time(100_001, 44100), time(115_991, 48000), time(1, 2)] {
      try edit.composition.insert(shot.range(from: .zero, to: end))
    }
    let clips = edit.composition.tracks[0].clips
    #expect(clips.map(\.target.start.hasBeenRounded) == [false, false, false, false, true])
    #expect(clips[4].target.start.timescale == MediaTime.roundingTimescale)
    #expect(edit.composition.duration.hasBeenRounded)
    // The clip whose end has been rounded still plays all of its part, at its own speed.
    #expect(clips.allSatisfy { $0.source.duration == $0.target.duration })
    edit.export.path = "film.mkv"
    #expect(edit.validate(against: DescribedMedia.all).isEmpty)
    #expect(try Edit(document: edit.document(), assets: DescribedMedia.all) == edit)
  }

  @Test func `what edits have cut and moved is read from its document as it was`() throws {
    var random = SeededRandom(seed: 12)
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    for _ in 0..<12 {
      var edit = Edit(assets: ["shot": "shot.mov"])
      edit.export.path = "film.mkv"
      for _ in 0..<10 {
        let timescale = Int32.random(in: 1...192_000, using: &random)
        try edit.composition.insert(
          shot.range(
            from: .zero, to: time(Int64(timescale) + Int64.random(in: 1...Int64(timescale), using: &random), timescale))
        )
      }
      for _ in 0..<6 {
        let place = edit.composition.tracks[0].clips[Int.random(in: 0..<4, using: &random)].target.start
        let inside = try place + time(Int64.random(in: 0...900, using: &random), 1001)
        let length = time(Int64.random(in: 200...900, using: &random), 997)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try edit.composition.remove(MediaTimeRange(start: inside, duration: length))
        case 1: try edit.composition.insertEmpty(MediaTimeRange(start: inside, duration: length))
        case 2: try edit.composition.scale(MediaTimeRange(start: inside, duration: length), to: time(1, 3))
        default: try edit.composition.insert(shot.range(from: .zero, to: length), at: inside)
        }
      }
      #expect(edit.validate(against: DescribedMedia.all).isEmpty)
      let read = try Edit(document: edit.document(), assets: DescribedMedia.all)
      for (found, track) in zip(read.composition.tracks, edit.composition.tracks) {
        #expect(found.clips.map(\.target.start) == track.clips.map(\.target.start))
        #expect(found.clips.map(\.target.duration) == track.clips.map(\.target.duration))
        #expect(found.clips.map(\.source) == track.clips.map(\.source))
      }
    }
  }

  @Test func `a pan whose clip is cut is written within its parts`() throws {
    var edit = Edit(assets: ["shot": "shot.mov"])
    edit.export.path = "film.mkv"
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    try edit.composition.insert(shot.range(from: .zero, to: time(10, 1)))
    let over = try MediaTimeRange(start: time(1, 1), end: time(9, 1))
    for easing in [nil, .easeInOut, .cubicBezier(x1: 1, y1: 0, x2: 0, y2: 1)] as [Easing?] {
      var cut = edit
      cut.composition.tracks[1].clips[0].pan = RampList(
        try RampList.constant(-1).ramps + [Ramp(over: over, from: -1, to: 1, easing: easing)])
      try cut.composition.insertEmpty(MediaTimeRange(start: time(4, 1), duration: time(2, 1)))
      try cut.composition.remove(MediaTimeRange(start: time(7, 1), duration: time(1, 1)))
      #expect(cut.composition.tracks[1].clips.count == 3)
      #expect(cut.validate(against: DescribedMedia.all).isEmpty)
      // A document has no value of its own before the first ramp, which is what that starts with.
      let read = try Edit(document: cut.document(), assets: DescribedMedia.all).composition.tracks[1].clips
      #expect(read.map(\.target) == cut.composition.tracks[1].clips.map(\.target))
      for (found, clip) in zip(read, cut.composition.tracks[1].clips) {
        let pan = try #require(found.pan)
        for number in 0..<30 {
          let place = try clip.target.start + time(Int64(number), 15)
          guard let first = pan.ramps.first, first.over.start <= place else { continue }
          let (found, expected) = (try pan.value(at: place), try clip.pan?.value(at: place))
          #expect(found == expected, "\(found) at \(place)")
        }
      }
    }
  }

  @Test func `a range that ends before it starts and what is no address are refused with what is wrong`() throws {
    let shot = AssetSource(id: "shot", contents: DescribedMedia.video(seconds: 60))
    #expect(throws: EditingError.endsBeforeStart(time(3, 1), end: time(1, 1))) {
      try shot.range(from: time(3, 1), to: time(1, 1))
    }
    #expect("\(EditingError.endsBeforeStart(time(3, 1), end: time(1, 1)))".contains("from 3 to 1"))
    #expect(throws: EditingError.self) { try shot.range(from: .invalid, to: time(1, 1)) }
    for address in ["::::", "a:b:c", "http://farm:7433", "farm example"] {
      #expect(throws: SheafError.self) { try Farm(address) }
    }
    _ = try Farm("::1")
  }
}

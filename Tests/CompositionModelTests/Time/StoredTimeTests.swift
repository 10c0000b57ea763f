import CompositionModel
import Testing

struct StoredTimeTests {
  @Test
  func `thirty frames a second in Matroska's milliseconds show each frame once`() throws {
    let stored = (0..<300).map { (Double($0) * 1000 / 30).rounded() }.map { Int64($0) }
    let millisecond = MediaTime(value: 1, timescale: 1000)
    for frame in stored.indices {
      let tick = try StoredTime.lastTick(
        dueAt: Rational(Int128(frame), 30), timebase: millisecond, origin: 0, isRounded: true)
      #expect(stored.lastIndex { $0 <= tick } == frame)
    }
  }

  /// The first frame is a whole number of frames after the file's zero, as in a part cut out of a longer recording.
  @Test(arguments: [(30, 1), (30000, 1001), (24000, 1001), (60, 1), (60000, 1001), (144, 1)])
  func `frames that start at a rounded time are each shown once`(rate: (Int128, Int128)) throws {
    let millisecond = MediaTime(value: 1, timescale: 1000)
    for offset in 0..<20 {
      let stored = try (0..<300).map { frame in
        Int64(try (Rational(Int128(frame + offset) * 1000 * rate.1, rate.0)).rounded)
      }
      for frame in stored.indices {
        let tick = try StoredTime.lastTick(
          dueAt: Rational(Int128(frame) * rate.1, rate.0), timebase: millisecond, origin: stored[0], isRounded: true)
        #expect(stored.lastIndex { $0 <= tick } == frame, "offset \(offset)")
      }
    }
  }

  /// Each frame is shown from its true time on and not before, at any output rate, however it was rounded.
  @Test(arguments: [(25, 1), (30, 1), (30000, 1001), (24000, 1001), (60, 1), (333, 1)])
  func `a hidden cadence is followed exactly`(rate: (Int128, Int64)) throws {
    let millisecond = MediaTime(value: 1, timescale: 1000)
    let exact = try Rational(rate.0, Int128(rate.1))
    for origin in [0, 33, -20] as [Int64] {
      let stored = try (0..<200).map { try Int64((Rational($0 * 1000) / exact).rounded) + origin }
      let cadence = StoredTime.Cadence(first: stored[0], rate: try MediaTime(exact))
      for step in 0..<1500 {
        let time = try Rational(Int128(step) * 1001, 240_000)
        let tick = try StoredTime.lastTick(
          dueAt: time, timebase: millisecond, origin: origin, isRounded: true, cadence: cadence)
        let due = try min(Int((time * exact).floor), stored.count - 1)
        #expect(stored.lastIndex { $0 <= tick } == due, "\(time) s, origin \(origin)")
      }
    }
  }

  @Test
  func `exact timestamps are due at their time and not before`() throws {
    let timebase = MediaTime(value: 1, timescale: 30)
    #expect(try StoredTime.lastTick(dueAt: Rational(59, 60), timebase: timebase, origin: 7, isRounded: false) == 36)
    #expect(try StoredTime.lastTick(dueAt: Rational(60, 60), timebase: timebase, origin: 7, isRounded: false) == 37)
    #expect(try StoredTime.lastTick(dueAt: Rational(-1, 60), timebase: timebase, origin: 0, isRounded: false) == -1)
  }

  /// A cut at a time that the file stores for a frame, and one at the frame's true time.
  @Test(
    arguments: [
      (24000, 1001), (25, 1), (30000, 1001), (30, 1), (48, 1), (50, 1), (60000, 1001), (60, 1),
    ] as [(Int128, Int64)])
  func `a cut at a frame's stored or true time starts with that frame`(rate: (Int128, Int64)) throws {
    let exact = try Rational(rate.0, Int128(rate.1))
    for origin in [0, 21, -20] as [Int64] {
      let stored = try (0..<300).map { try Int64((Rational($0 * 1000) / exact).rounded) + 21 }
      let track = try roundedTrack(stored, rate: MediaTime(exact), origin: origin)
      let first = try MediaTime(value: stored[0] - origin, timescale: 1000).exact
      for frame in 0..<250 {
        let asStored = MediaTime(value: stored[frame] - origin, timescale: 1000)
        let due = try MediaTime(first + Rational(Int128(frame)) / exact)
        for start in [asStored, due] {
          let shown = try track.shown(MediaTimeRange(start: start, duration: MediaTime(seconds: 1)))
          #expect(shown.duration == MediaTime(seconds: 1))
          #expect(shown.start == max(start, due))
          for next in 0..<12 {
            let tick = try StoredTime.lastTick(
              dueAt: shown.start.exact + Rational(Int128(next)) / exact, timebase: track.timebase, origin: origin,
              isRounded: true, cadence: track.video?.cadence)
            #expect(stored.lastIndex { $0 <= tick } == frame + next, "\(start) s, origin \(origin)")
          }
        }
      }
    }
  }

  @Test
  func `a part that starts between stored times is not moved`() throws {
    let stored = (0..<100).map { Int64((Double($0) * 1000 / 30).rounded()) }
    let track = try roundedTrack(stored, rate: MediaTime(seconds: 30), origin: 0)
    for start in [MediaTime(value: 34, timescale: 1000), MediaTime(value: 331, timescale: 10_000), .zero] {
      let use = try MediaTimeRange(start: start, duration: MediaTime(seconds: 1))
      #expect(try track.shown(use) == use)
    }
  }

  private func roundedTrack(_ stored: [Int64], rate: MediaTime, origin: Int64) throws -> TrackDescription {
    TrackDescription(
      index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: 1000), origin: origin,
      hasRoundedTimes: true, range: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 20)),
      video: VideoFormat(
        size: PixelSize(width: 64, height: 48), pixelFormat: "yuv420p", nominalFrameRate: rate,
        frames: FrameTimes(stored), keyframes: [], cadence: StoredTime.Cadence(first: stored[0], rate: rate)))
  }
}

import CompositionModel
import EditDocument
import Testing

/// SMPTE ST 12: of 30 and 60 frames a second, numbers are left out so that the timecode keeps the time of day.
@Suite struct TimecodeTests {
  @Test(arguments: [
    ("01:00:00:00", "25", 0, "01:00:00:00"), ("01:00:00:00", "25", 26, "01:00:01:01"),
    ("23:59:59:24", "25", 1, "00:00:00:00"), ("00:00:59;29", "30000/1001", 1, "00:01:00;02"),
    ("00:09:59;29", "30000/1001", 1, "00:10:00;00"), ("00:00:00;00", "30000/1001", 17982, "00:10:00;00"),
    ("00:00:00;00", "30000/1001", 107892, "01:00:00;00"), ("00:00:59;59", "60000/1001", 1, "00:01:00;04"),
    ("00:00:59:29", "30000/1001", 1, "00:01:00:00"), ("10:11:12:13", "24000/1001", 12, "10:11:13:01"),
    ("23:59:59;29", "30000/1001", 1, "00:00:00;00"),
  ])
  func `a cut begins with the timecode of its first picture`(
    start: String, rate: String, frames: Int, expected: String
  ) throws {
    let rate = try #require(MediaTime(notation: rate))
    var track = TrackDescription(
      index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: 90000),
      range: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 86400)), metadata: ["timecode": start])
    track.video = VideoFormat(
      size: PixelSize(width: 64, height: 48), pixelFormat: "yuv420p", nominalFrameRate: rate, frames: FrameTimes([0]),
      keyframes: [])
    let time = try MediaTime(Rational(frames) / rate.exact)
    #expect(try track.timecode(at: time) == expected)
  }

  @Test func `what is no timecode stays as it is`() throws {
    var track = TrackDescription(
      index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: 90000),
      range: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 10)), metadata: ["timecode": "25:61:00:99"])
    #expect(try track.timecode(at: MediaTime(seconds: 1)) == "25:61:00:99")
    track.metadata = [:]
    #expect(try track.timecode(at: MediaTime(seconds: 1)) == nil)
  }
}

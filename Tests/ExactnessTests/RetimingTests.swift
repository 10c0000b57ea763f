import CompositionModel
import Digest
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Clips that are played backwards or at a speed that changes: each frame is one of `ffmpeg`'s decode of the whole
/// file, at any segmentation, and each sample too.
@Suite struct RetimingTests {
  /// A file of pictures, or of samples, and what ffmpeg decodes of it.
  private struct Media {
    let folder: TemporaryFolder
    let path: String
    let asset: AssetDescription
    var hashes: [String] = []
    var samples: [Int32] = []

    init(_ name: String, _ arguments: [String], hasSound: Bool = false) throws {
      folder = try TemporaryFolder()
      path = folder.path(name)
      _ = try Tool.ffmpeg(arguments + [path])
      asset = try AssetProbe.probe(openSource(path), name: path)
      if asset.defaultTrack(.video) != nil {
        let size = 96 * 64 * 3 / 2
        let data = try Tool.ffmpeg([
          "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-",
        ])
        hashes = stride(from: 0, to: data.count, by: size).map { start in
          SHA256Digest.of([UInt8](data[(data.startIndex + start)..<(data.startIndex + start + size)])).hex
        }
      }
      if hasSound {
        samples = try Tool.ffmpeg(["-i", path, "-map", "0:a", "-c:a", "pcm_s24le", "-f", "s24le", "-"]).samples24
      }
    }

    func film(_ clips: String, rate: String = "1/30", segment: String?, sound: Bool = false) throws -> InProcessFilm {
      let document = """
        { "sheaf": 1, "assets": { "a": "a" }, "tracks": [ { "sound": \(sound), "clips": [\(clips)] } ],
          "videoComposition": { "renderSize": [96, 64], "frameDuration": "\(rate)" },
          "export": { "to": "film.mkv", "video": { "codec": "ffv1" }\(sound ? #", "audio": { "codec": "pcm", "sampleRate": 48000, "channels": 2, "bitDepth": 24 }"# : "") } }
        """
      var random = SeededRandom(seed: 3)
      return try InProcessFilm(document, of: path, asset, segmentDuration: segment, random: &random)
    }
  }

  private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30:duration=3", "-pix_fmt", "yuv420p"]

  @Test(arguments: [
    ("bframes.mp4", ["-c:v", "libx264", "-g", "25", "-bf", "3"]),
    ("long.mkv", ["-c:v", "libx264", "-g", "300", "-bf", "2"]),
    ("open.ts", ["-c:v", "mpeg2video", "-g", "12", "-bf", "2"]),
    ("intra.mov", ["-c:v", "prores_ks", "-profile:v", "0", "-pix_fmt", "yuv422p10le"]),
  ])
  func `a reversed clip shows the frames of the clip in the opposite order`(_ name: String, _ codec: [String]) throws {
    let media = try Media(name, Self.picture + codec)
    guard name != "intra.mov" else {
      // Its pictures are converted: forwards and backwards are compared.
      let forwards = try media.film(#"{ "asset": "a" }"#, segment: nil)
      let backwards = try media.film(#"{ "asset": "a", "reverse": true }"#, segment: "7f")
      #expect(backwards.frames == forwards.frames.reversed())
      return
    }
    try #require(media.hashes.count == 90 && Set(media.hashes).count == 90)
    for segment in [nil, "5f", "17f"] {
      let film = try media.film(#"{ "asset": "a", "use": "0.5..2.5", "reverse": true }"#, segment: segment)
      #expect(film.frames == media.hashes[15..<75].reversed(), "segments of \(segment ?? "the default length")")
    }
  }

  @Test func `backwards at another speed and rate, the last frame before the mirrored time is shown`() throws {
    let media = try Media("a.mp4", Self.picture + ["-c:v", "libx264", "-g", "20", "-bf", "3"])
    let cases = [
      (Rational(1, over: 3), Rational(1, over: 30)), (Rational(5, over: 2), Rational(1, over: 25)),
      (Rational(4, over: 3), Rational(1, over: 48)),
    ]
    for (speed, rate) in cases {
      let film = try media.film(
        #"{ "asset": "a", "use": "0.21..2.8", "speed": "\#(speed)", "reverse": true }"#, rate: "\(rate)", segment: "9f")
      #expect(film.segmentCount > 2)
      for (index, hash) in film.frames.enumerated() {
        let mirrored = try Rational(14, over: 5) - Rational(index) * rate * speed
        let shown = Int(try (mirrored * Rational(30)).ceiling) - 1
        #expect(hash == media.hashes[shown], "frame \(index) at \(speed) times the speed")
      }
    }
  }

  @Test func `the frames that are kept are bounded, and more passes give the same`() throws {
    let fixture = try Media("long.mp4", Self.picture + ["-c:v", "libx264", "-g", "300", "-bf", "3"])
    let track = try #require(fixture.asset.defaultTrack(.video))
    var video = try #require(track.video)
    video.frames = FrameTimes([])
    let source = PlannedSource(
      digest: "d", track: track.index, codec: track.codec, timebase: track.timebase, origin: track.origin,
      decodeFrom: nil, video: video)
    let liveness = Liveness()
    let small = ReversedFrames(source, input: try openSource(fixture.path), liveness: liveness, limit: 10 * 96 * 64 * 2)
    let times = FrameTimes(try #require(track.video).frames.times).times
    for (index, time) in times.enumerated().reversed() {
      let frame = try small.frame(at: time).frame
      #expect(frame.pts == time && SHA256Digest.of(frame.pixels).hex == fixture.hashes[index], "frame \(index)")
    }
    // Nine of ten frames are not kept in the first pass, but none is decoded alone.
    #expect(liveness.count < 90 * 2 * 14)
  }

  @Test func `the speed follows a curve exactly`() throws {
    let media = try Media("a.mp4", Self.picture + ["-c:v", "libx264", "-g", "20", "-bf", "3"])
    // From natural speed to a quarter in the first second, frozen from 1.5 s to 2 s, and then twice as fast.
    let speed = """
      [ { "value": 1 }, { "at": 1, "value": 0.25 }, { "at": 1.5, "value": 0 }, { "at": 2, "value": 0 },
        { "at": "21/10", "value": 2 } ]
      """
    func played(_ time: Double) -> Double {
      // Midpoints of many short steps: the integral of a function that is linear between the points is exact.
      let points: [(Double, Double)] = [(0, 1), (1, 0.25), (1.5, 0), (2, 0), (2.1, 2), (100, 2)]
      var total = 0.0
      for (a, b) in zip(points, points.dropFirst()) where time > a.0 {
        let end = min(time, b.0)
        total += (end - a.0) * (a.1 + a.1 + (b.1 - a.1) * (end - a.0) / (b.0 - a.0)) / 2
      }
      return total
    }
    for isReversed in [false, true] {
      for segment in [nil, "6f", "11f"] {
        let film = try media.film(
          #"{ "asset": "a", "use": "0.2..2.9", "speed": \#(speed), "reverse": \#(isReversed) }"#, segment: segment)
        #expect(film.frames.count == 92)
        for (index, hash) in film.frames.enumerated() {
          let source = isReversed ? 2.9 - played(Double(index) / 30) : 0.2 + played(Double(index) / 30)
          let place = source * 30
          // Where a double cannot decide, either is right.
          let shown = isReversed ? Int(place.rounded(.up)) - 1 : Int(place.rounded(.down))
          let isSure = abs(place - place.rounded()) > 1e-9
          #expect(
            hash == media.hashes[shown]
              || (!isSure && hash == media.hashes[Int(place.rounded()) - (isReversed ? 1 : 0)]),
            "frame \(index) at \(source) s")
        }
      }
    }
  }

  @Test func `a frozen picture is the one that is shown at its time`() throws {
    let media = try Media("a.mp4", Self.picture + ["-c:v", "libx264", "-g", "20", "-bf", "3"])
    let film = try media.film(
      """
      { "asset": "a", "use": "0..1" }, { "asset": "a", "freeze": 1, "duration": 0.5 }, { "asset": "a", "use": "1..2" }
      """, segment: "10f")
    let expected = media.hashes[0..<30] + Array(repeating: media.hashes[30], count: 15) + media.hashes[30..<60]
    #expect(film.frames == Array(expected))
  }

  @Test func `deinterlacing has the same neighbours backwards`() throws {
    let media = try Media(
      "fields.mkv",
      Self.picture + ["-vf", "tinterlace=interleave_top", "-c:v", "libx264", "-g", "10", "-flags", "+ildct+ilme"])
    let forwards = try media.film(#"{ "asset": "a", "deinterlace": true }"#, rate: "1/15", segment: nil)
    let backwards = try media.film(
      #"{ "asset": "a", "deinterlace": true, "reverse": true }"#, rate: "1/15", segment: "7f")
    #expect(forwards.frames.count == backwards.frames.count && Set(forwards.frames).count > 30)
    #expect(backwards.frames == forwards.frames.reversed())
  }

  @Test func `a reversed clip has its samples in the opposite order`() throws {
    let sound = ["-f", "lavfi", "-i", "anoisesrc=r=48000:a=0.5:d=3:seed=5"]
    let media = try Media(
      "a.mkv",
      Array(Self.picture.prefix(4)) + sound + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-c:a", "flac", "-ac", "2"],
      hasSound: true)
    let film = try media.film(
      #"{ "asset": "a", "use": "0.5..2.5", "reverse": true }"#, segment: "20f", sound: true)
    let frames = (24_000..<120_000).reversed().flatMap { [media.samples[2 * $0], media.samples[2 * $0 + 1]] }
    // A comparison of so many numbers that differ would take minutes.
    let isReversed = film.samples == frames
    #expect(isReversed)
    let silent = try media.film(
      #"{ "asset": "a", "use": "0..1" }, { "asset": "a", "use": "0..1", "reverse": true, "sound": "drop" }"#,
      segment: nil, sound: true)
    #expect(silent.samples.count == 2 * 96_000)
    let isForwards = silent.samples.prefix(96_000) == media.samples.prefix(96_000)
    #expect(isForwards)
    #expect(silent.samples.dropFirst(96_000).allSatisfy { $0 == 0 })
  }

  @Test func `sound follows a speed that changes, forwards and backwards`() throws {
    // A click every tenth of a second.
    let sound = ["-f", "lavfi", "-i", "aevalsrc='if(eq(mod(n,4800),2400),0.9,0)':s=48000:d=3"]
    let media = try Media(
      "a.mkv",
      Array(Self.picture.prefix(4)) + sound + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-c:a", "flac", "-ac", "2"],
      hasSound: true)
    let speed = #"[ { "value": 1 }, { "at": 1, "value": 0.25 }, { "at": 2, "value": 2 } ]"#
    func played(_ time: Double) -> Double {
      if time < 1 { return time - 0.375 * time * time }
      let later = min(time, 2) - 1
      return 0.625 + 0.25 * later + 0.875 * later * later + 2 * max(0, time - 2)
    }
    for isReversed in [false, true] {
      let film = try media.film(
        #"{ "asset": "a", "use": "0.2..2.9", "speed": \#(speed), "reverse": \#(isReversed), "pitch": "varispeed" }"#,
        segment: "20f", sound: true)
      let left = stride(from: 0, to: film.samples.count, by: 2).map { film.samples[$0] }
      var heard: [Int] = []
      for (index, sample) in left.enumerated() where sample > 1_000_000 {
        // The highest of each click, which is as wide as it is slow.
        guard let last = heard.last, index - last < 200 else {
          heard.append(index)
          continue
        }
        if sample > left[last] { heard[heard.count - 1] = index }
      }
      // Backwards a sample is heard where its end is mirrored.
      let clicks = (0..<30).map { Double($0 * 4800 + 2400) / 48000 }.filter { (0.2..<2.9).contains($0) }
      let due = clicks.map { isReversed ? 2.9 - $0 - 1.0 / 48000 : $0 - 0.2 }.sorted().map { time in
        left.indices.first { played(Double($0) / 48000) >= time } ?? left.count
      }
      #expect(heard.count == due.count, "\(isReversed)")
      #expect(zip(heard, due).allSatisfy { abs($0 - $1) <= 1 }, "\(zip(heard, due).map { $0 - $1 })")
    }
  }
}

import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Pictures of sound, judged by sounds whose times and frequencies are known.
@Suite struct WaveformTests {
  private static let (width, height) = (320, 180)

  /// A film of black with the sound of a file.
  private struct Film {
    let sound: AssetDescription
    let input: any ByteSource

    /// - Parameters:
    ///   - expression: Of ffmpeg's `aevalsrc`, by the time `t`.
    ///   - codec: Arguments of ffmpeg.
    init(_ expression: String, seconds: Int, _ codec: [String] = ["-c:a", "pcm_s16le"], as name: String = "a.wav")
      throws
    {
      let folder = try TemporaryFolder()
      let path = folder.path(name)
      let rate = name == "a.wav" ? 48_000 : 44_100
      _ = try Tool.ffmpeg(
        ["-f", "lavfi", "-i", "aevalsrc=\(expression):s=\(rate):d=\(seconds)"] + codec + [path])
      sound = try AssetProbe.probe(openSource(path), name: name)
      input = MemorySource([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
    }

    /// The luma of each frame, row by row.
    func frames(
      _ overlay: String, clip: String = #"{ "asset": "s", "at": 0 }"#, seconds: Int = 6, segment: String? = nil
    ) throws -> [[UInt8]] {
      let document = """
        { "sheaf": 1, "assets": { "s": "s.wav", "black": { "color": "#000000" } },
          "tracks": [ { "clips": [ { "asset": "black", "duration": \(seconds) } ] },
                      { "id": "voice", "type": "audio", "clips": [ \(clip) ] } ],
          "videoComposition": { "renderSize": [320, 180], "frameRate": 30, "overlays": [ \(overlay) ] },
          "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv444p" } } }
        """
      let edit = try Document.parse(Array(document.utf8)).lower(assets: ["s": sound], output: nil)
      let plan = try RenderPlanner.plan(
        edit, assets: ["s": PlannedAsset(description: sound, digest: "s")], fonts: [:],
        segmentDuration: segment.flatMap { MediaTime(notation: $0, frameDuration: MediaTime(value: 1, timescale: 30)) })
      var frames: [[UInt8]] = []
      for segment in plan.segments {
        let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
        #expect(Set(task.otherDigests).isSubset(of: ["s"]))
        let maker = try FrameMaker(task, inputs: ["s": input])
        for index in 0..<task.frameCount {
          frames.append([UInt8](try maker.frame(index).pixels.prefix(WaveformTests.width * WaveformTests.height)))
        }
      }
      return frames
    }
  }

  /// How many pixels of each column are lit.
  private func heights(_ frame: [UInt8]) -> [Int] {
    (0..<Self.width).map { x in (0..<Self.height).count { frame[$0 * Self.width + x] > 128 } }
  }

  private static let bursts = [1.0..<1.5, 3.0..<3.25, 4.0..<4.05]
  private static let burst =
    "0.5*sin(2*PI*440*t)*(between(t\\,1\\,1.49999)+between(t\\,3\\,3.24999)+between(t\\,4\\,4.04999))"

  /// A bar is high if its time has a part of a burst. Its time follows from its place: the middle is the frame's time.
  private func check(
    _ frame: [UInt8], at time: Double, window: Double, bars: Int, bursts: [Range<Double>], _ note: String
  ) {
    let heights = heights(frame)
    let step = Double(Self.width) / Double(bars)
    let first = ((time - window / 2) * Double(bars) / window).rounded(.down)
    for number in 0...bars {
      let start = (first + Double(number)) * window / Double(bars)
      let middle = (start - (time - window / 2)) / window * Double(Self.width) + step / 2
      // Bars whose middle is seen, and that are not just at the edge of a burst.
      guard middle > 2, middle < Double(Self.width) - 2 else { continue }
      let own = start + 0.001..<start + window / Double(bars) - 0.001
      let isHeard = bursts.contains { $0.overlaps(own) }
      let height = heights[Int(middle)]
      // Half of full scale is half of the height of 100 pixels; silence has 2.
      #expect(isHeard ? (48...52).contains(height) : height <= 3, "\(note): bar \(number) has \(height) pixels")
    }
  }

  @Test func `the bars of each frame are those of the sound around its time`() throws {
    let film = try Film(Self.burst, seconds: 6)
    let overlay = #"{ "waveform": { "track": "voice", "window": 1, "bars": 40, "gap": 0.5 }, "height": 100 }"#
    let frames = try film.frames(overlay)
    #expect(frames.count == 180)
    for index in stride(from: 0, to: 180, by: 7) {
      check(
        frames[index], at: Double(index) / 30, window: 1, bars: 40, bursts: Self.bursts, "frame \(index)")
    }
    // The middle is the frame's own time: it lights up with the burst and goes out with it.
    let lit = frames.indices.filter { heights(frames[$0])[(Self.width / 2 - 4)...(Self.width / 2 + 4)].max()! > 40 }
    #expect(lit.first.map { (29...31).contains($0) } == true && lit.contains(44) && !lit.contains(60), "\(lit)")
    for segment in TestExtent.of(["50f"], whole: ["7f", "50f"]) {
      #expect(try film.frames(overlay, segment: segment) == frames)
    }
  }

  @Test func `a clip that is cut and moved is seen where it is heard`() throws {
    let film = try Film(Self.burst, seconds: 6)
    let frames = try film.frames(
      #"{ "waveform": { "track": "voice", "window": 1, "bars": 40, "gap": 0.5 }, "height": 100 }"#,
      clip: #"{ "asset": "s", "use": "2.9..6", "at": 1.5 }"#)
    // 2.9 s of the file are at 1.5 s.
    let bursts = Self.bursts.dropFirst().map { $0.lowerBound - 1.4..<$0.upperBound - 1.4 }
    for index in stride(from: 0, to: 180, by: 11) {
      check(frames[index], at: Double(index) / 30, window: 1, bars: 40, bursts: Array(bursts), "frame \(index)")
    }
  }

  @Test func `the sound of an asset begins with its overlay`() throws {
    let film = try Film(Self.burst, seconds: 6)
    let frames = try film.frames(
      #"{ "waveform": { "asset": "s", "window": 1, "bars": 40, "gap": 0.5 }, "height": 100, "over": "0.5..5" }"#)
    for index in stride(from: 15, to: 150, by: 13) {
      let time = Double(index) / 30 - 0.5
      check(frames[index], at: time, window: 1, bars: 40, bursts: Self.bursts, "frame \(index)")
    }
    #expect(frames[14] == frames[179] && heights(frames[14]).allSatisfy { $0 == 0 })
  }

  /// Decoding begins elsewhere in each segment, the sound is coded with loss, and its rate is changed.
  @Test func `a frame has the same bars at any cut of the film`() throws {
    let seconds = TestExtent.of(5, whole: 13)
    let film = try Film(
      "0.4*sin(2*PI*(200+50*t)*t)*(0.6+0.4*sin(5*t))", seconds: seconds, ["-c:a", "aac", "-b:a", "96k"], as: "a.m4a")
    for style in [#""style": "bars""#, #""style": "line", "window": 0.05"#, #""style": "spectrum", "bars": 24"#] {
      let overlay = "{ \"waveform\": { \"track\": \"voice\", \(style) }, \"height\": 120 }"
      let whole = try film.frames(overlay, seconds: seconds)
      #expect(Set(whole).count > seconds * 300 / 13, "\(style)")
      for segment in TestExtent.of(["61f"], whole: ["61f", "149f"]) {
        let cut = try film.frames(overlay, seconds: seconds, segment: segment)
        let other = whole.indices.filter { whole[$0] != cut[$0] }
        #expect(other.isEmpty, "\(style): frames \(other) in segments of \(segment)")
      }
    }
  }

  @Test func `the highest bar of a spectrum has the frequency that is heard`() throws {
    let film = try Film("0.5*sin(2*PI*if(lt(t\\,2)\\,220\\,if(lt(t\\,4)\\,1000\\,5000))*t)", seconds: 6)
    let frames = try film.frames(
      #"{ "waveform": { "track": "voice", "style": "spectrum", "bars": 20, "gap": 0 }, "height": 180 }"#)
    for (index, frequency) in [(30, 220.0), (90, 1000), (150, 5000)] {
      let heights = heights(frames[index])
      let place = log(frequency / 50) / log(12_000 / 50) * Double(Self.width)
      let highest = heights.max() ?? 0
      let columns = heights.indices.filter { heights[$0] > highest - 3 }
      #expect(columns.contains { abs(Double($0) - place) <= 16 }, "\(frequency) Hz: \(columns), not \(place)")
      // -6 dB, of 60; between two parts of the transform the window shows up to 1.42 dB less.
      #expect((157...163).contains(highest), "\(frequency) Hz: \(highest)")
      #expect(heights.count { $0 < 60 } > 200)
    }
  }

  @Test func `a line goes through the samples`() throws {
    let film = try Film("0.5*sin(2*PI*10*t)", seconds: 6)
    let frames = try film.frames(
      #"{ "waveform": { "track": "voice", "style": "line", "window": 0.1, "lineWidth": 2 }, "height": 160 }"#)
    for index in [30, 77] {
      let frame = frames[index]
      for x in stride(from: 10, to: 310, by: 9) {
        let time = Double(index) / 30 + (Double(x) + 0.5) / 320 * 0.1 - 0.05
        let y = 90 - 0.5 * sin(2 * .pi * 10 * time) * 80
        let lit = (0..<Self.height).filter { frame[$0 * Self.width + x] > 128 }
        #expect(
          lit.contains { abs(Double($0) + 0.5 - y) <= 1.5 } && lit.count <= 6, "frame \(index), \(x): \(lit), \(y)")
      }
    }
  }

  @Test func `the volume is seen, a gain is added, and what is turned is drawn turned`() throws {
    // An even number of rows around the middle, of which none is lit in part.
    let film = try Film("0.26", seconds: 6)
    func height(_ keys: String, _ others: String = "", clip: String = "") throws -> [Int] {
      let frames = try film.frames(
        "{ \"waveform\": { \"track\": \"voice\", \"bars\": 10\(keys) }, \"height\": 100\(others) }",
        clip: "{ \"asset\": \"s\", \"at\": 0\(clip) }")
      return heights(frames[90]).sorted()
    }
    #expect(try height("").last == 26)
    #expect(try height(#", "gain": 6.0206"#).last == 52)
    #expect(try height(#", "gain": "20dB""#).last == 100)
    #expect(try height("", clip: #", "volume": 0.5"#).last.map { (12...13).contains($0) } == true)
    let turned = try height("", #", "rotate": 90, "width": 100"#)
    #expect(turned.last.map { $0 > 50 } == true && turned.count { $0 > 0 } == 26)
  }
}

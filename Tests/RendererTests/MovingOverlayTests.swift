import CompositionModel
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Videos with alpha and animated pictures as overlays. ffmpeg's `overlay` filter is the reference.
@Suite struct MovingOverlayTests {
  private static let size = PixelSize(width: 160, height: 120)

  /// How ffmpeg makes a file with alpha, and how it decodes one with its alpha.
  struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var encoder: [String]
    var decoder: [String] = []

    var testDescription: String { name }
  }

  static let kinds = [
    Kind(name: "prores.mov", encoder: ["-c:v", "prores_ks", "-profile:v", "4444", "-pix_fmt", "yuva444p10le"]),
    Kind(
      name: "vp9.webm",
      encoder: ["-c:v", "libvpx-vp9", "-pix_fmt", "yuva420p", "-crf", "10", "-b:v", "0", "-cpu-used", "8"],
      decoder: ["-c:v", "libvpx-vp9"]),
    Kind(
      name: "vp8.webm", encoder: ["-c:v", "libvpx", "-pix_fmt", "yuva420p", "-b:v", "2M", "-auto-alt-ref", "0"],
      decoder: ["-c:v", "libvpx"]),
    Kind(name: "png.mov", encoder: ["-c:v", "png", "-pix_fmt", "rgba"]),
    Kind(name: "qtrle.mov", encoder: ["-c:v", "qtrle", "-pix_fmt", "argb"]),
    Kind(name: "ffv1.mkv", encoder: ["-c:v", "ffv1", "-pix_fmt", "yuva444p"]),
    Kind(name: "picture.apng", encoder: ["-plays", "0"]),
    Kind(name: "picture.gif", encoder: ["-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse"]),
  ]

  /// A soft disc that moves over transparency, ten frames a second for a second; its transparent pixels are green.
  private static func disc(_ kind: Kind, in fixture: inout VideoFixture) throws -> Int {
    let disc =
      "color=c=black:s=80x60:r=10:d=1,format=rgba,"
      + "geq=r='if(gt(alpha(X,Y),0),200,0)':g='if(lt(hypot(X-20-N*4,Y-30),22),120,255)':b=40:"
      + "a='255*clip((22-hypot(X-20-N*4,Y-30))/6,0,1)'"
    return try fixture.make(kind.name, ["-f", "lavfi", "-i", disc] + kind.encoder)
  }

  /// All frames at 10 a second, packed, in 4:4:4.
  private static func frames(_ fixture: VideoFixture, _ video: PlannedOverlayVideo, at place: (x: Int, y: Int)) throws
    -> [[UInt8]]
  {
    let overlay = PlannedOverlay(
      content: .video(video), frames: [0..<10], placement: .point(x: place.x, y: place.y), opacity: 1, ramps: .one)
    var task = fixture.task(
      [.clip(try fixture.clip(0))], size: size, format: .yuv444p, frameCount: 10, overlays: [overlay])
    task.format.frameDuration = MediaTime(value: 1, timescale: 10)
    return try fixture.frames(task)
  }

  @Test(arguments: TestExtent.of([kinds[2], kinds[4], kinds[6], kinds[7]], whole: kinds))
  func `a video with alpha is laid over as by ffmpeg`(kind: Kind) throws {
    var fixture = try VideoFixture()
    _ = try fixture.make(
      "below.mov", ["-f", "lavfi", "-i", "testsrc2=s=160x120:r=10:d=1", "-c:v", "ffv1", "-pix_fmt", "yuv444p"])
    let disc = try Self.disc(kind, in: &fixture)
    #expect(fixture.sources[disc].video.hasAlpha)
    let whole = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let made = try Self.frames(
      fixture, PlannedOverlayVideo(source: disc, sourceRange: whole, start: .zero), at: (x: 33, y: 21))
    let (mean, worst, changed) = try Self.difference(made, kind, fixture, at: "x=33:y=21")
    #expect(changed > 10_000 && mean < 1, "\(mean) on average, \(worst) at most, \(changed) changed")
  }

  @Test(arguments: TestExtent.of([kinds[0], kinds[1]], whole: [kinds[0], kinds[1], kinds[7]]))
  func `a clip with alpha shows the track below as by ffmpeg`(kind: Kind) throws {
    var fixture = try VideoFixture()
    _ = try fixture.make(
      "below.mov", ["-f", "lavfi", "-i", "testsrc2=s=160x120:r=10:d=1", "-c:v", "ffv1", "-pix_fmt", "yuv444p"])
    let disc = try Self.disc(kind, in: &fixture)
    var task = fixture.task(
      [.clip(try fixture.clip(disc, fit: .none)), .clip(try fixture.clip(0))], size: Self.size, format: .yuv444p,
      frameCount: 10)
    task.format.frameDuration = MediaTime(value: 1, timescale: 10)
    for layer in task.spans[0].layers.indices {
      guard case .clip(var clip) = task.spans[0].layers[layer] else { continue }
      clip.sourceRange = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
      clip.targetRange = clip.sourceRange
      task.spans[0].layers[layer] = .clip(clip)
    }
    let (mean, worst, changed) = try Self.difference(fixture.frames(task), kind, fixture, at: "x=40:y=30")
    #expect(changed > 10_000 && mean < 1, "\(mean) on average, \(worst) at most, \(changed) changed")
  }

  /// The difference from ffmpeg's frames, over the samples that the upper picture changes. ffmpeg rounds alpha and
  /// colours to 8 bits before it mixes.
  private static func difference(
    _ made: [[UInt8]], _ kind: Kind, _ fixture: VideoFixture, at place: String
  ) throws -> (mean: Double, worst: Int, changed: Int) {
    let expected = try Tool.ffmpeg(
      ["-i", fixture.folder.path("below.mov")] + kind.decoder + [
        "-i", fixture.folder.path(kind.name), "-filter_complex", "[0][1]overlay=\(place):format=yuv444", "-pix_fmt",
        "yuv444p", "-f", "rawvideo", "-",
      ])
    let below = try Tool.ffmpeg(["-i", fixture.folder.path("below.mov"), "-f", "rawvideo", "-"])
    let count = size.width * size.height * 3
    try #require(expected.count >= 10 * count && made.count == 10)
    var (sum, worst, changed) = (0, 0, 0)
    for (index, frame) in made.enumerated() {
      for at in 0..<count {
        let difference = abs(Int(frame[at]) - Int(expected[index * count + at]))
        sum += difference
        worst = max(worst, difference)
        if below[index * count + at] != frame[at] { changed += 1 }
      }
    }
    return (Double(sum) / Double(max(1, changed)), worst, changed)
  }

  /// The colours of transparent pixels do not show at the edges of a video that is scaled down: a white disc over
  /// white.
  @Test func `scaling a video with alpha leaves no halo`() throws {
    var fixture = try VideoFixture()
    let disc =
      "color=c=black:s=120x120:r=10:d=0.3,format=rgba,geq=r='255*lt(hypot(X-60,Y-60),50)':"
      + "g='255*lt(hypot(X-60,Y-60),50)':b='255*lt(hypot(X-60,Y-60),50)':a='255*lt(hypot(X-60,Y-60),50)'"
    let source = try fixture.make("disc.mov", ["-f", "lavfi", "-i", disc, "-c:v", "qtrle", "-pix_fmt", "argb"])
    let video = PlannedOverlayVideo(
      source: source, sourceRange: try MediaTimeRange(start: .zero, duration: MediaTime(value: 3, timescale: 10)),
      start: .zero, width: 37)
    let overlay = PlannedOverlay(
      content: .video(video), frames: [0..<3], placement: .point(x: 5, y: 5), opacity: 1, ramps: .one)
    let task = fixture.task(
      [], size: PixelSize(width: 64, height: 48), frameCount: 3, background: .white, overlays: [overlay])
    for frame in try fixture.frames(task) {
      #expect(frame.prefix(64 * 48).allSatisfy { $0 >= 234 })
      #expect(frame.dropFirst(64 * 48).allSatisfy { abs(Int($0) - 128) <= 1 })
    }
  }

  /// An opaque video at even and at odd pixels.
  @Test(arguments: [(20, 10), (21, 11), (-8, 100)]) func `a video without alpha covers what is below`(
    place: (x: Int, y: Int)
  ) throws {
    var fixture = try VideoFixture()
    _ = try fixture.make(
      "below.mov", ["-f", "lavfi", "-i", "color=c=black:s=160x120:r=10:d=1", "-c:v", "ffv1", "-pix_fmt", "yuv420p"])
    let source = try fixture.make(
      "over.mov", ["-f", "lavfi", "-i", "color=c=white:s=100x80:r=10:d=1", "-c:v", "ffv1", "-pix_fmt", "yuv420p"])
    let whole = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let video = PlannedOverlayVideo(source: source, sourceRange: whole, start: .zero, width: 50)
    let overlay = PlannedOverlay(
      content: .video(video), frames: [0..<2], placement: .point(x: place.x, y: place.y), opacity: 0.3, ramps: .one)
    let task = fixture.task(
      [.clip(try fixture.clip(0))], size: Self.size, frameCount: 2, overlays: [overlay])
    let frame = PackedFrame(try fixture.frame(task), Self.size)
    for y in 0..<120 {
      for x in 0..<160 {
        let isInside = x >= place.x && x < place.x + 50 && y >= place.y && y < place.y + 40
        #expect(abs(frame[0, x, y] - (isInside ? 82 : 16)) <= 1, "\(x), \(y)")
      }
    }
  }

  /// Decoding anew from segment to segment, in the middle of a turn, and after the last.
  @Test func `the film is the same cut into 1, 7 and 40 segments`() throws {
    let folder = try TemporaryFolder()
    let ofDisc = Self.kinds[1].encoder + ["-g", "9"]
    let files: [(AssetID, String, [String])] = [
      ("bg", "bg.png", ["-f", "lavfi", "-i", "testsrc2=s=96x72", "-frames:v", "1"]),
      (
        "disc", "disc.webm",
        ["-f", "lavfi", "-i", "color=c=red@0.6:s=40x30:r=25:d=1.4,format=rgba,hue=h=200*t"] + ofDisc
      ),
      ("gif", "sticker.gif", ["-f", "lavfi", "-i", "testsrc2=s=24x18:r=10:d=0.7"]),
    ]
    var assets: [AssetID: PlannedAsset] = [:]
    var inputs: [String: any ByteSource] = [:]
    for (id, name, arguments) in files {
      let path = folder.path(name)
      _ = try Tool.ffmpeg(arguments + [path])
      let description = try AssetProbe.probe(openSource(path), name: id)
      assets[id] = PlannedAsset(description: description, digest: id)
      inputs[id] = try openSource(path)
    }
    #expect(assets["disc"]?.description.duration == MediaTime(value: 7, timescale: 5))
    let whole = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 4))
    func video(_ id: AssetID, turns: Int?, from: Int64 = 0) throws -> OverlayContent {
      let duration = try #require(assets[id]?.description.duration)
      let source = try MediaTimeRange(start: MediaTime(value: from, timescale: 10), end: duration)
      return .video(OverlayVideo(asset: id, sourceTrack: 0, source: source, turns: turns))
    }
    let overlays = [
      Overlay(content: try video("gif", turns: nil), over: whole, placement: .point(x: 3, y: 4)),
      Overlay(
        content: try video("disc", turns: 2, from: 3),
        over: try MediaTimeRange(start: MediaTime(value: 1, timescale: 2), end: MediaTime(value: 7, timescale: 2)),
        placement: .point(x: 30, y: 20)),
      Overlay(content: try video("disc", turns: nil), over: whole, placement: .point(x: 51, y: 41), opacity: 0.5),
    ]
    let clip = Clip(
      asset: "bg", sourceTrack: 0, source: try MediaTimeRange(start: .zero, duration: .zero), target: whole)
    let encoder = VideoSettings(
      codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 30, pixelFormat: .yuv420p,
      colour: ColourTags())
    let edit = Edit(
      composition: Composition(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])]),
      videoComposition: VideoComposition(
        renderSize: PixelSize(width: 96, height: 72), frameDuration: MediaTime(value: 1, timescale: 50),
        instructions: [Instruction(over: whole, background: .black, layers: [.track(TrackLayer(track: "A"))])],
        overlays: overlays), audioMix: AudioMix(),
      export: ExportSettings(path: "film.mkv", container: .mkv, video: encoder, audio: nil))
    var films: [[[UInt8]]] = []
    for (frames, count) in [(200, 1), (29, 7), (5, 40)] as [(Int64, Int)] {
      let plan = try RenderPlanner.plan(
        edit, assets: assets, segmentDuration: MediaTime(value: frames, timescale: 50))
      #expect(plan.segments.count == count)
      films.append(
        try plan.segments.flatMap { segment in
          let maker = try FrameMaker(segment.task, inputs: inputs)
          return try (0..<segment.task.frameCount).map { try maker.frame($0).packed }
        })
    }
    #expect(films[0].count == 200 && films[0] == films[1] && films[0] == films[2])
    #expect(Set(films[0]).count > 80)
  }
}

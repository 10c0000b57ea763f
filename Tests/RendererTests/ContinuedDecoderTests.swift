import CompositionModel
import Media
import RenderTasks
import SheafCompositing
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Clips of one track after one another in a segment: where the decoder of one goes on for the next, the pictures are
/// those of a decoder of its own.
@Suite struct ContinuedDecoderTests {
  private static let size = PixelSize(width: 96, height: 64)

  /// A segment that shows ranges of a file's frames, each as a source of its own, and the frames of the file.
  private struct Film {
    var fixture: VideoFixture
    var task: VideoTask
    var frames: [[UInt8]]

    /// - Parameters:
    ///   - shown: The numbers of the source's frames, at 30 frames a second.
    ///   - starts: Whether decoding may begin at keyframes.
    init(_ options: [String], interlaced: Bool = false, starts: Bool = true, shown: [Range<Int>]) throws {
      fixture = try VideoFixture()
      let path = fixture.folder.path("s.mp4")
      _ = try Tool.ffmpeg(
        ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30:duration=4", "-pix_fmt", "yuv420p"] + options + [path])
      frames = try fixture.decoded(path, format: "yuv420p", size: ContinuedDecoderTests.size)
      let video = try #require(
        AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
      var (spans, count): ([Span], Int) = ([], 0)
      for range in shown {
        let index = try fixture.add(path)
        let first = video.frames.times[range.lowerBound]
        let keyframe = video.keyframes.lastIndex { $0.pts <= first }
        let digest = fixture.sources[0].digest
        fixture.change(index) {
          $0.digest = digest
          if starts, let keyframe {
            $0.decodeFrom = video.keyframes[keyframe]
            $0.video.keyframes = video.keyframes
          }
          $0.deinterlacing = interlaced ? .all : nil
        }
        var clip = try fixture.clip(
          index, from: MediaTime(value: Int64(range.lowerBound), timescale: 30),
          frames: count..<(count + range.count))
        clip.fit = .fill
        spans.append(Span(frames: count..<(count + range.count), background: .black, layers: [.clip(clip)]))
        count += range.count
      }
      task = fixture.task([], size: ContinuedDecoderTests.size, frameCount: count)
      task.spans = spans
      task.sources = fixture.sources
    }

    /// The frames, and how many steps were taken for them: packets that were read and pictures that were decoded.
    func made() throws -> (frames: [[UInt8]], steps: UInt64) {
      let liveness = Liveness()
      let maker = try FrameMaker(
        task, inputs: fixture.inputs, compositors: .none, liveness: liveness, damage: nil)
      let frames = try (0..<task.frameCount).map { try maker.frame($0).packed }
      return (frames, liveness.count)
    }

    /// The same, each span from a maker of its own.
    func madeApart() throws -> (frames: [[UInt8]], steps: UInt64) {
      let liveness = Liveness()
      var frames: [[UInt8]] = []
      for span in task.spans {
        let maker = try FrameMaker(
          task, inputs: fixture.inputs, compositors: .none, liveness: liveness, damage: nil)
        for index in span.frames { frames.append(try maker.frame(index).packed) }
      }
      return (frames, liveness.count)
    }
  }

  private static let x264 = ["-c:v", "libx264", "-preset", "veryfast", "-g", "40", "-bf", "3"]

  /// Forwards in a group of pictures, into the next one, back, to the same frame again, and to the end.
  @Test(arguments: [true, false]) func `the pictures are those of the source`(starts: Bool) throws {
    let shown = [3..<8, 12..<15, 30..<38, 38..<45, 60..<62, 20..<22, 25..<26, 25..<28, 110..<120]
    let film = try Film(Self.x264, starts: starts, shown: shown)
    let (made, steps) = try film.made()
    #expect(made == shown.flatMap { $0.map { film.frames[$0] } })
    let apart = try film.madeApart()
    #expect(apart.frames == made && steps < apart.steps)
  }

  @Test func `a near clip is decoded once, and one behind a start from there`() throws {
    let near = try Film(Self.x264, shown: [2..<10, 20..<30])
    let alone = try Film(Self.x264, shown: [2..<30])
    #expect(try near.made().steps <= alone.made().steps)
    // From frame 10 to 100 there are two starts, at 40 and 80.
    let far = try Film(Self.x264, shown: [2..<10, 100..<104])
    #expect(try far.made().steps == far.madeApart().steps)
  }

  @Test func `deinterlaced pictures are the same too`() throws {
    let film = try Film(Self.x264 + ["-flags", "+ilme+ildct"], interlaced: true, shown: [2..<6, 9..<13, 13..<16])
    #expect(try film.made().frames == film.madeApart().frames)
  }

  @Test func `tracks in turn each go on`() throws {
    var film = try Film(Self.x264, shown: [2..<6, 3..<7, 8..<12, 9..<13])
    // The second and the fourth are of another file.
    let path = film.fixture.folder.path("other.mp4")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc=size=96x64:rate=30:duration=2", "-pix_fmt", "yuv420p"] + Self.x264 + [path])
    let other = try film.fixture.add(path)
    let frames = try film.fixture.decoded(path, format: "yuv420p", size: Self.size)
    for index in [1, 3] { film.task.sources[index] = film.fixture.sources[other] }
    let (made, steps) = try film.made()
    let right = [(2..<6, film.frames), (3..<7, frames), (8..<12, film.frames), (9..<13, frames)]
    #expect(made == right.flatMap { range, of in range.map { of[$0] } })
    #expect(try steps < film.madeApart().steps)
  }
}

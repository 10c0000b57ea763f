import CompositionModel
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Transitions against filters of ffmpeg that do the same, in 4:4:4, to which its `xfade` converts everything. The
/// pictures are blurred: where an edge or a picture may be a pixel away, that changes little.
@Suite struct TransitionOracleTests {
  /// The size of the pictures: a whole multiple of the number of frames, so that they move by whole pixels.
  private static let size = PixelSize(width: 90, height: 120)
  private static let count = 30

  struct Case: Sendable, CustomTestStringConvertible {
    var kind: TransitionKind
    var filter: String
    /// The most that the mean difference of a frame may be, in codes.
    var bound = 1.0

    var testDescription: String { "\(kind)" }
  }

  private static func blend(_ expression: String) -> String { "[0][1]blend=all_expr='if(\(expression),B,A)'" }

  static let cases: [Case] = [
    // xfade cuts the fraction off, so that it is half a code below on average.
    Case(kind: .dissolve, filter: "[0][1]xfade=transition=fade:duration=1:offset=0"),
    // Its edges are at whole pixels, up to one before ours, and not antialiased.
    Case(kind: .wipe(.left, softness: 0), filter: "[0][1]xfade=transition=wipeleft:duration=1:offset=0"),
    Case(kind: .wipe(.right, softness: 0), filter: "[0][1]xfade=transition=wiperight:duration=1:offset=0"),
    Case(kind: .wipe(.up, softness: 0), filter: "[0][1]xfade=transition=wipeup:duration=1:offset=0"),
    Case(kind: .wipe(.down, softness: 0), filter: "[0][1]xfade=transition=wipedown:duration=1:offset=0"),
    // xfade's slides, which move both pictures, are a pixel behind in some frames: a position in floats just below a
    // whole one is cut. Here the pictures lie side by side, and a window moves over them.
    Case(kind: .push(.left), filter: "[0][1]hstack,crop=90:120:'3*n':0", bound: 0),
    Case(kind: .push(.right), filter: "[1][0]hstack,crop=90:120:'90-3*n':0", bound: 0),
    Case(kind: .push(.up), filter: "[0][1]vstack,crop=90:120:0:'4*n'", bound: 0),
    Case(kind: .push(.down), filter: "[1][0]vstack,crop=90:120:0:'120-4*n'", bound: 0),
    // overlay counts its frames from 1.
    Case(kind: .slide(.left), filter: "[0][1]overlay=x='W-3*(n-1)':y=0:format=yuv444", bound: 0),
    Case(kind: .slide(.right), filter: "[0][1]overlay=x='3*(n-1)-W':y=0:format=yuv444", bound: 0),
    Case(kind: .slide(.up), filter: "[0][1]overlay=y='H-4*(n-1)':x=0:format=yuv444", bound: 0),
    Case(kind: .slide(.down), filter: "[0][1]overlay=y='4*(n-1)-H':x=0:format=yuv444", bound: 0),
    // xfade's circleopen has an edge half as wide as the frame's diagonal, and its diagonals are not straight: the
    // shapes are written out. blend counts its frames from 1.
    Case(
      kind: .circle(x: 0.5, y: 0.5, softness: 0),
      filter: blend("lt(hypot(X+0.5-W/2,Y+0.5-H/2),hypot(W/2,H/2)*(N-1)/30)")),
    Case(kind: .wipe(.downRight, softness: 0), filter: blend("lt((X+0.5)/W+(Y+0.5)/H,2*(N-1)/30)")),
    Case(kind: .wipe(.upLeft, softness: 0), filter: blend("gt((X+0.5)/W+(Y+0.5)/H,2-2*(N-1)/30)")),
    Case(kind: .wipe(.upRight, softness: 0), filter: blend("lt((X+0.5)/W+1-(Y+0.5)/H,2*(N-1)/30)")),
    Case(kind: .wipe(.downLeft, softness: 0), filter: blend("gt((X+0.5)/W+1-(Y+0.5)/H,2-2*(N-1)/30)")),
    // xfade's fadeblack mixes the fades out and in; the fade filters do one after the other.
    Case(
      kind: .fade(through: .black),
      filter:
        "[0]fade=t=out:st=0:d=0.5,trim=end_frame=15[a];[1]fade=t=in:st=0.5:d=0.5,trim=start_frame=15,setpts=PTS-STARTPTS[b];"
        + "[a][b]concat"),
  ]

  private static let chosen = TestExtent.of([0, 3, 6, 12, 13, 15, 18].map { cases[$0] }, whole: cases)

  @Test(arguments: chosen)
  func `a transition is that of ffmpeg`(_ example: Case) throws {
    var fixture = try VideoFixture()
    let source = "testsrc2=size=90x120:rate=30:duration=1.5"
    func make(_ name: String, _ filters: String) throws -> Int {
      try fixture.make(
        name,
        [
          "-f", "lavfi", "-i", "\(source),\(filters),gblur=sigma=4,format=yuv444p", "-c:v", "ffv1", "-color_range",
          "tv",
        ])
    }
    let (a, b) = (try make("a.mov", "null"), try make("b.mov", "hflip,vflip"))
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let task = fixture.task(
      [
        .transition(
          from: try fixture.clip(a), to: try fixture.clip(b), progress: Ramp(over: over, from: 0, to: 1),
          style: TransitionStyle(example.kind), matte: nil)
      ], size: Self.size, format: .yuv444p)
    let made = try fixture.frames(task)
    let data = try Tool.ffmpeg([
      "-i", fixture.folder.path("a.mov"), "-i", fixture.folder.path("b.mov"), "-filter_complex", example.filter,
      "-fps_mode", "passthrough", "-frames:v", "\(Self.count)", "-pix_fmt", "yuv444p", "-f", "rawvideo", "-",
    ])
    let bytes = 3 * Self.size.width * Self.size.height
    try #require(data.count == bytes * Self.count && made.count == Self.count)
    for (index, frame) in made.enumerated() where index % 3 == 0 {
      let expected = [UInt8](data[(index * bytes)..<((index + 1) * bytes)])
      let sum = zip(frame, expected).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
      let mean = Double(sum) / Double(bytes)
      #expect(mean <= example.bound, "frame \(index): \(mean)")
    }
  }
}

import CompositionModel
import RenderTasks
import Testing

@testable import Renderer

@Suite struct FrameStackTests {
  static let second = MediaTime(seconds: 1)

  static func source(_ width: Int = 1280, _ height: Int = 720, hasAlpha: Bool = false) throws -> PlannedSource {
    PlannedSource(
      digest: "", track: 0, codec: "h264", timebase: MediaTime(value: 1, timescale: 90_000), origin: 0, decodeFrom: nil,
      video: VideoFormat(
        size: PixelSize(width: width, height: height), pixelFormat: "yuv420p", hasAlpha: hasAlpha,
        nominalFrameRate: MediaTime(seconds: 30), frames: FrameTimes([]), keyframes: []))
  }

  static func clip(_ source: Int, opacity: RampList = .one, fit: Fit = .contain) throws -> ClipLayer {
    let range = try MediaTimeRange(start: .zero, duration: second)
    return ClipLayer(source: source, sourceRange: range, targetRange: range, fit: fit, opacity: opacity)
  }

  static func stack(
    _ layers: [PlannedLayer], frame: Int = 0, sources: [PlannedSource], overlays: [PlannedOverlay] = []
  ) throws -> FrameStack {
    let span = Span(frames: 0..<30, background: .black, layers: layers)
    return try planner([span], sources: sources, overlays: overlays).stack(frame: frame, in: span)
  }

  /// Whether the lowest layer of a stack hides the background.
  static func hasBase(_ stack: FrameStack, sources: [PlannedSource]) throws -> Bool {
    try planner([], sources: sources).hidesAllBelow(#require(stack.layers.first))
  }

  private static func planner(
    _ spans: [Span], sources: [PlannedSource], overlays: [PlannedOverlay] = []
  ) throws -> StackPlanner {
    let format = try YCbCrMatrixTests.format()
    let task = VideoTask(
      format: format, renditions: [], frameCount: 30, spans: spans, overlays: overlays, sources: sources)
    return StackPlanner(task)
  }

  @Test func `layers hidden by an opaque one are left out`() throws {
    let sources = [try Self.source(), try Self.source(), try Self.source(640, 480), try Self.source(hasAlpha: true)]
    let below = PlannedLayer.clip(try Self.clip(1))
    func shown(_ top: ClipLayer) throws -> FrameStack { try Self.stack([.clip(top), below], sources: sources) }
    #expect(try shown(Self.clip(0)).layers.flatMap(\.clips).map(\.source) == [0])
    #expect(try Self.hasBase(shown(Self.clip(0)), sources: sources))
    // Letterboxed, with alpha, or faded: the layer below shows.
    #expect(try shown(Self.clip(2)).layers.flatMap(\.clips).map(\.source) == [1, 2])
    #expect(try shown(Self.clip(2, fit: .cover)).layers.flatMap(\.clips).map(\.source) == [2])
    #expect(try shown(Self.clip(3)).layers.flatMap(\.clips).map(\.source) == [1, 3])
    for (opacity, weight) in [(0.3, 4915), (0.5, 8192), (0.875, 14336)] {
      let faded = try shown(Self.clip(0, opacity: .constant(opacity)))
      #expect(faded.layers.flatMap(\.clips).map(\.weight) == [16384, weight])
    }
    #expect(try shown(Self.clip(0, opacity: .constant(0))).layers.flatMap(\.clips).map(\.source) == [1])
  }

  @Test func `the weights of a dissolve sum up to one`() throws {
    let sources = [try Self.source(), try Self.source()]
    let ramp = Ramp(over: try MediaTimeRange(start: .zero, duration: Self.second), from: 0, to: 1)
    let layer = PlannedLayer.dissolve(from: try Self.clip(0), to: try Self.clip(1), progress: ramp)
    for frame in 1..<30 {
      let stack = try Self.stack([layer], frame: frame, sources: sources)
      let weights = stack.layers.flatMap(\.clips).map(\.weight)
      #expect(weights == [16384 - weights[1], Int((Double(frame) / 30 * 16384).rounded())])
      #expect(try Self.hasBase(stack, sources: sources))
    }
    #expect(try Self.stack([layer], frame: 0, sources: sources).layers.flatMap(\.clips).map(\.source) == [0])
    // With one side in a gap, the other has its own share only.
    let half = PlannedLayer.dissolve(from: nil, to: try Self.clip(1), progress: ramp)
    let stack = try Self.stack([half], frame: 7, sources: sources)
    #expect(stack.layers.flatMap(\.clips).map(\.weight) == [3823])
    #expect(try !Self.hasBase(stack, sources: sources))
  }

  @Test func `overlays show in their frames and first on top`() throws {
    func overlay(_ frames: [Range<Int>], opacity: Double, alpha: UInt8 = 255) -> PlannedOverlay {
      PlannedOverlay(
        content: .text(
          StyledText(text: "x", size: 20, color: Color(red: 0, green: 0, blue: 0, alpha: alpha)),
          TextFonts(fonts: [], runs: [])),
        frames: frames, placement: .point(x: 0, y: 0), opacity: opacity, ramps: .one)
    }
    let overlays = [overlay([0..<10, 20..<30], opacity: 1), overlay([5..<30], opacity: 0.5, alpha: 51)]
    func shown(_ frame: Int) throws -> [StackOverlay] {
      try Self.stack([], frame: frame, sources: [], overlays: overlays).overlays
    }
    #expect(try shown(0) == [StackOverlay(index: 0, weight: 16384)])
    #expect(try shown(5) == [StackOverlay(index: 1, weight: 1638), StackOverlay(index: 0, weight: 16384)])
    #expect(try shown(15) == [StackOverlay(index: 1, weight: 1638)])
  }
}

import CompositionModel
import Foundation
import Media
import RenderTasks
import SheafCompositing
import Synchronization
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Compositors of an author's own against the built-in operations that do the same.
@Suite struct CustomCompositorTests {
  // MARK: Compositors

  /// A dissolve.
  struct Mix: VideoCompositing {
    static let name = "mix"
    static let revision = 1
    init(parameters: NoParameters, size: PixelSize) {}
    func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
      picture.mix(try request.from, try request.to) { _, _ in request.progress }
    }
  }

  /// The second picture, through its colours.
  struct Copy: VideoCompositing {
    static let name = "copy"
    static let revision = 1
    init(parameters: NoParameters, size: PixelSize) {}
    func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
      let to = try request.to
      picture.setEachPixel { x, y in to.pixel(x, y) }
    }
  }

  /// The tracks over one another, the first on top, as they would be without a compositor.
  struct Over: VideoCompositing {
    struct Parameters: Decodable { var tracks: [String] }
    static let name = "over"
    static let revision = 1
    let parameters: Parameters
    init(parameters: Parameters, size: PixelSize) { self.parameters = parameters }
    func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
      for track in parameters.tracks.reversed() {
        guard let source = try request.source(track) else { continue }
        picture.setEachPixel { x, y in source.pixel(x, y) }
      }
    }
  }

  /// The complement of the first track's luma, with the samples themselves. It counts its calls.
  struct Complement: VideoCompositing {
    static let calls = Atomic<Int>(0)
    static let name = "complement"
    static let revision = 1
    static let dependsOnTime = false
    init(parameters: NoParameters, size: PixelSize) {}
    func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
      Self.calls.add(1, ordering: .relaxed)
      guard try request.tracks == ["a"], let a = try request.source("a"), !a.hasAlpha, request.compositionTime == nil
      else { throw CompositorError("another request than expected") }
      let size = picture.size
      if a.format.bitDepth == 8 {
        picture.withMutableSamples(of: .luma, as: UInt8.self) { samples, stride in
          a.withSamples(of: .luma, as: UInt8.self) { from, fromStride in
            for y in 0..<size.height {
              for x in 0..<size.width { samples[y * stride + x] = 255 - from[y * fromStride + x] }
            }
          }
        }
      } else {
        picture.withMutableSamples(of: .luma, as: UInt16.self) { samples, stride in
          a.withSamples(of: .luma, as: UInt16.self) { from, fromStride in
            for y in 0..<size.height {
              for x in 0..<size.width { samples[y * stride + x] = 1023 - from[y * fromStride + x] }
            }
          }
        }
      }
      for plane in [PixelPlane.cb, .cr] { picture.setEachSample(of: plane) { x, y in a[plane, x, y] } }
    }
  }

  /// Records what it was given, and fails from a progress on.
  struct Recorder: VideoCompositing {
    struct Parameters: Decodable { var until: Double }
    static let seen = Mutex<[String]>([])
    static let name = "recorder"
    static let revision = 1
    let until: Double
    init(parameters: Parameters, size: PixelSize) throws {
      guard parameters.until >= 0 else { throw CompositorError("'until' is \(parameters.until); it must be 0 or more") }
      until = parameters.until
    }
    func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
      if request.progress >= until { throw CompositorError("too late") }
      let film = request.compositionTime.map { "\($0)" } ?? "none"
      Self.seen.withLock { $0.append("\(request.time) of \(request.duration), \(request.progress), film \(film)") }
    }
  }

  private static func registry() throws -> CompositorRegistry {
    try CompositorRegistry([Mix.self, Copy.self, Over.self, Complement.self, Recorder.self])
  }

  // MARK: Pictures

  private struct Pictures {
    var fixture: VideoFixture
    let format: PixelFormat
    let size: PixelSize
    let raw: (a: [UInt8], b: [UInt8])
    let sources: (a: Int, b: Int)

    init(_ format: PixelFormat, _ size: PixelSize, count: Int = 1) throws {
      var fixture = try VideoFixture()
      let name = FrameFormat(format).name
      func picture(_ file: String, seed: UInt64) throws -> ([UInt8], Int) {
        let raw = CompositingTests.noise(size, format, count: count, seed: seed)
        return (
          raw,
          try fixture.make(file, raw: raw, format: name, width: size.width, height: size.height, ["-c:v", "ffv1"])
        )
      }
      let (a, b) = (try picture("a.mov", seed: 11), try picture("b.mov", seed: 12))
      (raw, sources) = ((a.0, b.0), (a.1, b.1))
      (self.fixture, self.format, self.size) = (fixture, format, size)
    }

    func task(
      _ layers: [PlannedLayer], frames: Int = 1, colour: ColourTags = CompositingTests.bt709
    ) -> VideoTask {
      fixture.task(layers, size: size, format: format, colour: colour, frameCount: frames)
    }

    func transition(
      _ kind: TransitionKind, from: ClipLayer? = nil, to: ClipLayer? = nil, progress: Double
    ) throws -> PlannedLayer {
      .transition(
        from: try from ?? fixture.clip(sources.a), to: try to ?? fixture.clip(sources.b),
        progress: Ramp(
          over: try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1)), from: progress, to: progress),
        style: TransitionStyle(kind), matte: nil)
    }

    func instruction(
      _ compositor: CustomCompositor, _ tracks: [(String, ClipLayer)], start: MediaTime = .zero,
      filmStart: MediaTime = .zero
    ) throws -> PlannedLayer {
      let over = try MediaTimeRange(start: start, duration: MediaTime(seconds: 2))
      return .compositor(
        PlannedCompositor(
          sources: tracks.map { PlannedCompositor.Source(track: $0.0, clip: $0.1) },
          progress: Ramp(over: over, from: 0, to: 1), filmStart: filmStart, compositor: compositor))
    }

    func frames(_ task: VideoTask) throws -> [Frame] {
      let maker = try FrameMaker(task, inputs: fixture.inputs, compositors: try registry())
      return try (0..<task.frameCount).map { try maker.frame($0) }
    }

    func samples(_ bytes: [UInt8]) -> [Int] { CompositingTests.samples(bytes, format) }
  }

  private static func custom(_ name: String, _ parameters: String = "{}") -> CustomCompositor {
    CustomCompositor(name: name, parameters: parameters)
  }

  // MARK: Tests

  @Test(arguments: TransitionTests.formats)
  func `a mix is the dissolve`(format: PixelFormat, size: PixelSize) throws {
    let pictures = try Pictures(format, size)
    for progress in [0, 0.25, 0.61, 1] {
      let custom = try pictures.frames(
        pictures.task([try pictures.transition(.custom(Self.custom("mix")), progress: progress)]))
      let dissolve = try pictures.frames(pictures.task([try pictures.transition(.dissolve, progress: progress)]))
      #expect(custom[0].packed == dissolve[0].packed, "progress \(progress)")
    }
  }

  @Test(arguments: TransitionTests.formats)
  func `a picture that is read as colours and set again is the same`(format: PixelFormat, size: PixelSize) throws {
    let pictures = try Pictures(format, size)
    let copied = try pictures.frames(
      pictures.task([try pictures.transition(.custom(Self.custom("copy")), progress: 0.5)]))
    #expect(copied[0].packed == pictures.raw.b)
  }

  @Test func `a side is drawn over what lies below`() throws {
    let pictures = try Pictures(.yuv444p, PixelSize(width: 45, height: 29))
    let from = try pictures.fixture.clip(pictures.sources.a, opacity: .constant(0.3))
    let to = try pictures.fixture.clip(pictures.sources.a, opacity: .constant(0.8125))
    let below = PlannedLayer.clip(try pictures.fixture.clip(pictures.sources.b))
    func frame(_ kind: TransitionKind) throws -> [Int] {
      let layer = try pictures.transition(kind, from: from, to: to, progress: 0.4)
      return pictures.samples(try pictures.frames(pictures.task([layer, below]))[0].packed)
    }
    // The dissolve rounds once, the compositor's sides are rounded before they are mixed.
    let (custom, dissolve) = (try frame(.custom(Self.custom("mix"))), try frame(.dissolve))
    #expect(zip(custom, dissolve).allSatisfy { abs($0 - $1) <= 1 })
  }

  @Test(arguments: [
    (PixelFormat.yuv420p, PixelSize(width: 46, height: 30)), (.yuv444p10, PixelSize(width: 45, height: 29)),
  ])
  func `tracks with transparency are those that would be drawn`(format: PixelFormat, size: PixelSize) throws {
    var pictures = try Pictures(format, size)
    // A disc of half transparent colours, smaller than the frame.
    let star = try pictures.fixture.make(
      "star.png",
      [
        "-f", "lavfi", "-i",
        "testsrc2=size=31x21,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(lt(hypot(X-15,Y-10),9),X*8,0)'",
        "-frames:v", "1",
      ])
    let top = try pictures.fixture.clip(star, fit: .none, opacity: .constant(0.75))
    let bottom = try pictures.fixture.clip(pictures.sources.b)
    let compositor = Self.custom("over", #"{"tracks":["top","bottom"]}"#)
    // A compositor that sets pixels takes the mean of a chroma sample's, as if it was in their middle.
    var colour = CompositingTests.bt709
    colour.chromaLocation = "center"
    let layers = [try pictures.instruction(compositor, [("top", top), ("bottom", bottom)])]
    let custom = try pictures.frames(pictures.task(layers, colour: colour))
    let plain = try pictures.frames(pictures.task([.clip(top), .clip(bottom)], colour: colour))
    let (a, b) = (pictures.samples(custom[0].packed), pictures.samples(plain[0].packed))
    #expect(a.count == b.count && a != pictures.samples(pictures.raw.b))
    let worst = zip(a, b).map { abs($0 - $1) }.max() ?? 0
    // Three roundings to codes in place of one: of the premultiplied colour, of the coverage and of the sum.
    #expect(worst <= 2, "differs by \(worst)")
  }

  @Test(arguments: [
    (PixelFormat.yuv420p, PixelSize(width: 46, height: 30)), (.yuv422p10, PixelSize(width: 46, height: 29)),
  ])
  func `a picture without time is made once for equal sources`(format: PixelFormat, size: PixelSize) throws {
    let pictures = try Pictures(format, size)
    let clip = try pictures.fixture.clip(pictures.sources.a)
    let before = Complement.calls.load(ordering: .relaxed)
    let frames = try pictures.frames(
      pictures.task([try pictures.instruction(Self.custom("complement"), [("a", clip)])], frames: 20))
    #expect(frames.allSatisfy { $0 === frames[0] })
    // Of each format, one call: the cases of this test may run at the same time.
    #expect((1...2).contains(Complement.calls.load(ordering: .relaxed) - before))
    let highest = format.bitDepth == 8 ? 255 : 1023
    let count = size.width * size.height
    let (made, source) = (pictures.samples(frames[0].packed), pictures.samples(pictures.raw.a))
    #expect(zip(made, source).prefix(count).allSatisfy { $0 == highest - $1 })
    #expect(made.dropFirst(count) == source.dropFirst(count))
  }

  @Test func `a compositor is given its times, and its errors are reported with them`() throws {
    let pictures = try Pictures(.yuv420p, PixelSize(width: 46, height: 30))
    let compositor = Self.custom("recorder", #"{"until":0.27}"#)
    let clip = try pictures.fixture.clip(pictures.sources.a)
    // The segment starts half a second after the instruction, at 7 s of the film.
    let task = pictures.task(
      [
        try pictures.instruction(
          compositor, [("a", clip)], start: MediaTime(value: -1, timescale: 2), filmStart: MediaTime(seconds: 7))
      ], frames: 3)
    let error = #expect(throws: RenderError.self) { try pictures.frames(task) }
    #expect(
      error?.message
        == #"the compositor 'recorder' with {"until":0.27} failed at 106/15 s of the film: too late"#)
    if case .task = error?.code {} else { Issue.record("\(String(describing: error))") }
    #expect(Recorder.seen.withLock { $0.contains("1/2 of 2, 0.25, film 7") })

    let transition = pictures.task([try pictures.transition(.custom(compositor), progress: 0.5)])
    #expect(throws: RenderError.self) { try pictures.frames(transition) }
  }

  @Test(arguments: [
    ("nobody", "{}", "this worker's program has no compositor 'nobody'"),
    ("recorder", #"{"until":-1}"#, "refuses its parameters: 'until' is -1.0; it must be 0 or more"),
    ("recorder", #"{"until":"x"}"#, "/parameters/until: this is not a Double"),
    ("recorder", "{}", "/parameters: 'until' is missing"), ("mix", #"{"a":1}"#, "the compositor has no parameters"),
    ("over", #"{"tracks":["a",7]}"#, "/parameters/tracks/1: this is not a String"),
  ])
  func `a compositor that is not there or refuses its parameters fails the task`(
    name: String, parameters: String, words: String
  ) throws {
    let pictures = try Pictures(.yuv420p, PixelSize(width: 46, height: 30))
    let layer = try pictures.transition(.custom(Self.custom(name, parameters)), progress: 0.5)
    let error = #expect(throws: RenderError.self) { try pictures.frames(pictures.task([layer])) }
    #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    if case .task = error?.code {} else { Issue.record("\(String(describing: error))") }
  }

  @Test func `a compositor for the other use says so`() throws {
    let pictures = try Pictures(.yuv420p, PixelSize(width: 46, height: 30))
    let transition = try pictures.transition(.custom(Self.custom("over", #"{"tracks":["a"]}"#)), progress: 0.5)
    let instruction = try pictures.instruction(Self.custom("mix"), [])
    for (layer, words) in [(transition, "cannot make a transition"), (instruction, "of an instruction")] {
      let error = #expect(throws: RenderError.self) { try pictures.frames(pictures.task([layer])) }
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }
  }

  @Test func `a program refuses compositors that cannot be named`() {
    struct Nameless: VideoCompositing {
      static let name = "my compositor"
      static let revision = 1
      init(parameters: NoParameters, size: PixelSize) {}
      func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) {}
    }
    #expect(throws: CompositorError.self) { try CompositorRegistry([Nameless.self]) }
    #expect(throws: CompositorError.self) { try CompositorRegistry([Mix.self, Mix.self]) }
  }
}

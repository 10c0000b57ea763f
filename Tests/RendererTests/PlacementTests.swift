import CompositionModel
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Pictures in places of their own.
@Suite struct PlacementTests {
  static let size = PixelSize(width: 96, height: 64)

  private static func source(_ fixture: inout VideoFixture, _ name: String = "testsrc2") throws -> Int {
    try fixture.make(
      "\(name).mov",
      [
        "-f", "lavfi", "-i", "\(name)=size=96x64:rate=30:duration=1", "-pix_fmt", "yuv420p", "-g", "10", "-c:v", "ffv1",
      ])
  }

  private static func clip(_ fixture: VideoFixture, _ source: Int, _ geometry: LayerGeometry?) throws -> ClipLayer {
    var clip = try fixture.clip(source)
    clip.geometry = geometry
    return clip
  }

  private static func frame(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> LayerGeometry {
    LayerGeometry(frame: .constant(Rectangle(x: x, y: y, width: width, height: height)))
  }

  /// A picture that is not moved, or by whole chroma cells, keeps its bytes.
  @Test func `whole pixels are copied`() throws {
    var fixture = try VideoFixture()
    let source = try Self.source(&fixture)
    let plain = PackedFrame(
      try fixture.frame(fixture.task([.clip(try Self.clip(fixture, source, nil))], size: Self.size)), Self.size)
    for geometry in [
      LayerGeometry(), LayerGeometry(transform: .matrix(.constant(.identity))), Self.frame(0, 0, 96, 64),
      LayerGeometry(transform: .turn(.constant(TransformComponents(rotation: 360)))),
      LayerGeometry(crop: .constant(Rectangle(x: -10, y: 0, width: 200, height: 64))),
    ] {
      let task = fixture.task([.clip(try Self.clip(fixture, source, geometry))], size: Self.size)
      let maker = try FrameMaker(task, inputs: fixture.inputs)
      #expect(try maker.frame(0).packed == plain.bytes, "\(geometry)")
    }
    let moved = LayerGeometry(transform: .turn(.constant(TransformComponents(x: 12, y: -6))))
    let made = PackedFrame(
      try fixture.frame(fixture.task([.clip(try Self.clip(fixture, source, moved))], size: Self.size)), Self.size)
    for plane in 0..<3 {
      let (width, height, dx, dy) = plane == 0 ? (96, 64, 12, 6) : (48, 32, 6, 3)
      let background = plane == 0 ? 16 : 128
      for y in 0..<height {
        for x in 0..<width {
          let isInside = x >= dx && y < height - dy
          #expect(made[plane, x, y] == (isInside ? plain[plane, x - dx, y + dy] : background))
        }
      }
    }
  }

  /// Half a pixel to the right, a white picture's edges are half covered.
  @Test func `edges between pixels are antialiased`() throws {
    var fixture = try VideoFixture()
    let white = try fixture.make(
      "white.mov",
      ["-f", "lavfi", "-i", "color=white:size=32x16:rate=30:duration=1", "-pix_fmt", "yuv444p", "-c:v", "ffv1"])
    let geometry = Self.frame(10.5, 20.25, 32, 16)
    let task = fixture.task(
      [.clip(try Self.clip(fixture, white, geometry))], size: Self.size, format: .yuv444p,
      colour: ColourTags(matrix: "bt709"))
    let made = PackedFrame(try fixture.frame(task), Self.size, .yuv444p)
    #expect([9, 10, 11, 41, 42, 43].map { made[0, $0, 28] } == [16, 126, 235, 235, 126, 16])
    #expect([19, 20, 21, 35, 36, 37].map { made[0, 20, $0] } == [16, 180, 235, 235, 71, 16])
    #expect(made[0, 10, 20] == 98)
  }

  /// A quarter turn about the centre is a transposition.
  @Test func `a quarter turn moves every pixel to its place`() throws {
    var fixture = try VideoFixture()
    let raw = CompositingTests.noise(PixelSize(width: 64, height: 64), .yuv444p, count: 1, seed: 9)
    let source = try fixture.make("noise.mov", raw: raw, format: "yuv444p", width: 64, height: 64, ["-c:v", "ffv1"])
    let square = PixelSize(width: 64, height: 64)
    let from = PackedFrame(raw, square, .yuv444p)
    let geometry = LayerGeometry(transform: .turn(.constant(TransformComponents(rotation: 90))))
    let made = PackedFrame(
      try fixture.frame(
        fixture.task([.clip(try Self.clip(fixture, source, geometry))], size: square, format: .yuv444p)), square,
      .yuv444p)
    for plane in 0..<3 {
      for y in 0..<64 {
        // Clockwise: the left column becomes the top row.
        for x in 0..<64 { #expect(made[plane, x, y] == from[plane, y, 63 - x]) }
      }
    }
  }

  /// The interpolation is libswscale's: a picture in a smaller or larger rectangle is that of ffmpeg's filter.
  @Test(arguments: [(48, 32), (36, 24), (60, 48), (96, 96)])
  func `a picture in a rectangle is as ffmpeg scales it`(width: Int, height: Int) throws {
    var fixture = try VideoFixture()
    let source = try Self.source(&fixture)
    var clip = try Self.clip(fixture, source, Self.frame(0, 0, Double(width), Double(height)))
    clip.fit = .fill
    let size = PixelSize(width: width, height: height)
    let made = try fixture.frame(fixture.task([.clip(clip)], size: size), 7)
    let scaled = try fixture.decoded(
      fixture.folder.path("testsrc2.mov"), format: "yuv420p", size: size,
      ["-vf", "scale=\(width):\(height):flags=bicubic+accurate_rnd+bitexact"])[7]
    let luma = width * height
    let differences = zip(made.prefix(luma), scaled.prefix(luma)).map { abs(Int($0) - Int($1)) }
    #expect(Double(differences.reduce(0, +)) / Double(luma) <= 0.3)
    // ffmpeg's own chroma is a quarter of a pixel from its place where the size changes, so it is compared loosely.
    let chroma = zip(made.dropFirst(luma), scaled.dropFirst(luma)).map { abs(Int($0) - Int($1)) }
    #expect(Double(chroma.reduce(0, +)) / Double(chroma.count) <= 8)
  }

  private static func ramp(_ frames: Range<Int>) throws -> MediaTimeRange {
    let frame = MediaTime(value: 1, timescale: 30)
    return try MediaTimeRange(start: frame * Rational(frames.lowerBound), duration: frame * Rational(frames.count))
  }

  /// A film with a moving picture over two that stand still.
  private static func edit(_ description: AssetDescription, filtered: Bool) throws -> Edit {
    let second = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let tracks = ["top", "middle", "bottom"].map {
      CompositionTrack(
        id: $0, type: .video, clips: [Clip(asset: "a", sourceTrack: 0, source: second, target: second)])
    }
    let moving = LayerGeometry(
      crop: ValueRampList([
        ValueRamp(
          over: try ramp(4..<20), from: Rectangle(x: 0, y: 0, width: 96, height: 64),
          to: Rectangle(x: 20.5, y: 11, width: 40, height: 40))
      ]),
      frame: ValueRampList([
        ValueRamp(
          over: try ramp(8..<25), from: Rectangle(x: 4, y: 4, width: 40, height: 30),
          to: Rectangle(x: 50, y: 20, width: 60, height: 44), easing: .easeInOut)
      ]),
      transform: .turn(
        ValueRampList([
          ValueRamp(
            over: try ramp(10..<22), from: TransformComponents(), to: TransformComponents(rotation: 77, scaleX: -0.5)),
          ValueRamp(over: try ramp(26..<28), from: TransformComponents(), to: TransformComponents(x: 7), easing: .hold),
        ])))
    let opacity = RampList([Ramp(over: try ramp(2..<12), from: 0.25, to: 1, easing: .easeIn)])
    var top = TrackLayer(track: "top", opacity: opacity, geometry: moving)
    var middle = TrackLayer(track: "middle", geometry: frame(30.5, 10, 40, 40), blendMode: .multiply)
    if filtered {
      top.filters = [
        .contrast(amount: try .constant(1.2)),
        .chromaKey(
          color: Color(red: 0, green: 255, blue: 0), similarity: try .constant(0.2), blend: try .constant(0.1),
          spill: try .constant(0.5)),
      ]
      middle.fit = .blur
      middle.filters = [
        .blur(radius: RampList([Ramp(over: try ramp(3..<18), from: 0, to: 5)])),
        .vignette(amount: try .constant(0.7), radius: try .constant(0.3), softness: try .constant(0.5)),
      ]
    }
    var instruction = Instruction(
      over: second, background: Color(red: 90, green: 9, blue: 9),
      layers: [.track(top), .track(middle), .track(TrackLayer(track: "bottom", geometry: frame(2, 2, 90, 50)))])
    if filtered {
      instruction.filters = [.hue(degrees: RampList([Ramp(over: try ramp(5..<28), from: 0, to: 90)]))]
    }
    return Edit(
      composition: Composition(tracks: tracks),
      videoComposition: VideoComposition(
        renderSize: size, frameDuration: MediaTime(value: 1, timescale: 30),
        instructions: [instruction]), audioMix: AudioMix(),
      export: ExportSettings(
        path: "a.mov", container: .mov,
        video: VideoSettings(
          codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 30, pixelFormat: .yuv420p,
          colour: ColourTags(matrix: "bt709")),
        audio: nil))
  }

  private static let films: [(String, Bool)] = TestExtent.of(
    [("testsrc2", true), ("still", false)],
    whole: [("testsrc2", false), ("testsrc2", true), ("still", false), ("still", true)])

  /// The pictures of a film are the same however it is cut into segments, and whatever was drawn before them.
  @Test(arguments: films)
  func `every frame depends on its time alone`(name: String, filtered: Bool) throws {
    var fixture = try VideoFixture()
    let path: String
    if name == "still" {
      path = fixture.folder.path("a.png")
      _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30", "-frames:v", "1", path])
    } else {
      path = fixture.folder.path("testsrc2.mov")
      _ = try Self.source(&fixture)
    }
    let description = try AssetProbe.probe(openSource(path), name: path)
    var edit = try Self.edit(description, filtered: filtered)
    if name == "still" {
      for track in edit.composition.tracks.indices {
        edit.composition.tracks[track].clips[0].source = try MediaTimeRange(start: .zero, duration: .zero)
      }
    }
    let inputs: [String: any ByteSource] = ["digest": try openSource(path)]
    func frames(_ segmentDuration: MediaTime) throws -> [[UInt8]] {
      let plan = try RenderPlanner.plan(
        edit, assets: ["a": PlannedAsset(description: description, digest: "digest")],
        segmentDuration: segmentDuration)
      return try plan.segments.flatMap { segment in
        let maker = try FrameMaker(segment.task, inputs: inputs)
        return try (0..<segment.task.frameCount).map { try maker.frame($0).packed }
      }
    }
    let whole = try frames(MediaTime(seconds: 10))
    #expect(whole.count == 30 && Set(whole).count >= 20)
    #expect(try frames(MediaTime(value: 1, timescale: 6)) == whole)
    #expect(try frames(MediaTime(value: 7, timescale: 30)) == whole)
    // Each frame drawn by itself, without the layers that stood still before it.
    let task = try RenderPlanner.plan(
      edit, assets: ["a": PlannedAsset(description: description, digest: "digest")],
      segmentDuration: MediaTime(seconds: 10)
    ).segments[0].task
    for index in [5, 9, 15, 21, 27] {
      #expect(try FrameMaker(task, inputs: inputs).frame(index).packed == whole[index], "frame \(index)")
    }
  }

  /// A filtered picture that is not moved is that of the clip without geometry; one that moves is filtered before.
  @Test func `filters are applied before a picture is placed`() throws {
    var fixture = try VideoFixture()
    let source = try Self.source(&fixture)
    let chains: [[Filter<RampList>]] = [
      [.blur(radius: try .constant(3)), .contrast(amount: try .constant(1.4))],
      [.vignette(amount: try .constant(0.7), radius: try .constant(0.3), softness: try .constant(0.5))],
      [
        .chromaKey(
          color: Color(red: 0, green: 255, blue: 0), similarity: try .constant(0.3), blend: try .constant(0.1),
          spill: try .constant(0.5))
      ],
    ]
    for chain in chains {
      var plain = try Self.clip(fixture, source, nil)
      plain.filters = chain
      func frame(_ geometry: LayerGeometry?) throws -> PackedFrame {
        plain.geometry = geometry
        let task = fixture.task([.clip(plain)], size: Self.size, colour: ColourTags(matrix: "bt709"))
        return PackedFrame(try fixture.frame(task), Self.size)
      }
      let unmoved = try frame(nil)
      #expect(try frame(LayerGeometry()).bytes == unmoved.bytes, "\(chain)")
      let moved = try frame(LayerGeometry(transform: .turn(.constant(TransformComponents(x: 12, y: -6)))))
      for y in 0..<58 {
        for x in 12..<96 { #expect(moved[0, x, y] == unmoved[0, x - 12, y + 6], "\(chain) at \(x), \(y)") }
      }
    }
  }

  @Test func `a picture outside the frame or without area is not drawn`() throws {
    var fixture = try VideoFixture()
    let source = try Self.source(&fixture)
    let flipped = LayerGeometry(
      transform: .matrix(
        ValueRampList([
          ValueRamp(
            over: try Self.ramp(0..<10), from: .identity, to: AffineMatrix(a: -1, b: 0, c: 0, d: 1, tx: 96, ty: 0))
        ])))
    let task = fixture.task(
      [
        .clip(try Self.clip(fixture, source, flipped)),
        .clip(try Self.clip(fixture, source, Self.frame(200, 0, 10, 10))),
      ],
      size: Self.size)
    let maker = try FrameMaker(task, inputs: fixture.inputs)
    #expect(Set(try maker.frame(5).packed.prefix(96 * 64)) == [16])
    #expect(Set(try maker.frame(6).packed.prefix(96 * 64)).count > 10)
  }
}

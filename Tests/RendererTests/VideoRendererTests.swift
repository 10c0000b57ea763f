import CompositionModel
import Foundation
import Media
import PieceFiles
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

@Suite struct VideoRendererTests {
  static let size = PixelSize(width: 160, height: 90)
  static let title = StyledText(text: "Maroubra 日本", size: 21)

  /// The piece of a task as a file in the fixture's folder.
  static func piece(_ task: VideoTask, _ fixture: VideoFixture, _ name: String) throws -> String {
    let file = try fixture.folder.create(name)
    var done: [Int64] = []
    try VideoRenderer.render(task, inputs: fixture.inputs, to: file.fileDescriptor) { done.append($0) }
    #expect(done == (1...Int64(task.frameCount)).map { $0 })
    return try Pieces.take(of: fixture.folder.path(name))
  }

  /// A piece's pictures as ffmpeg decodes them.
  static func decoded(_ piece: String, _ fixture: VideoFixture) throws -> [[UInt8]] {
    let (header, packets) = try Pieces.read(piece)
    #expect(packets.map(\.pts).sorted() == (0..<Int64(packets.count)).map { $0 })
    let name = URL(fileURLWithPath: piece).lastPathComponent + ".mkv"
    let file = try fixture.folder.create(name)
    let duration = try header.timebase * Rational(packets.count)
    let muxer = try FileMuxer(
      descriptor: file.fileDescriptor, name: name, container: .mkv,
      tracks: [FileMuxer.Track(header: header, packetCount: packets.count, duration: duration)],
      indexFirst: false, metadata: [:])
    for packet in packets { try muxer.write(packet, track: 0) }
    try muxer.finish()
    return try fixture.decoded(fixture.folder.path(name), format: "yuv420p", size: size)
  }

  /// The part of a task within `frames`: two clips with a dissolve between them, an image, and a title that fades in.
  static func task(_ fixture: VideoFixture, frames: Range<Int>) throws -> VideoTask {
    let frame = MediaTime(value: 1, timescale: 30)
    let offset = try MediaTime.zero - frame * Rational(frames.lowerBound)
    func shifted(_ clip: ClipLayer) throws -> ClipLayer {
      var clip = clip
      clip.targetRange = try clip.targetRange.shifted(by: offset)
      clip.opacity = try clip.opacity.shifted(by: offset)
      return clip
    }
    func ramp(_ from: Double, _ to: Double, _ frames: Range<Int>) throws -> Ramp {
      Ramp(
        over: try MediaTimeRange(start: frame * Rational(frames.lowerBound), duration: frame * Rational(frames.count))
          .shifted(by: offset), from: from, to: to)
    }
    let a = try shifted(fixture.clip(0, from: MediaTime(value: 1, timescale: 9), frames: 0..<26, fit: .cover))
    let b = try shifted(fixture.clip(1, speed: Rational(7, 5), frames: 14..<40))
    var spans = [
      Span(frames: 0..<14, background: .black, layers: [.clip(a)]),
      Span(frames: 14..<26, background: .white, layers: [.dissolve(from: a, to: b, progress: try ramp(0, 1, 14..<26))]),
      Span(frames: 26..<40, background: .white, layers: [.clip(b)]),
    ]
    spans = spans.compactMap { span in
      var span = span
      let part = span.frames.clamped(to: frames)
      span.frames = (part.lowerBound - frames.lowerBound)..<(part.upperBound - frames.lowerBound)
      return part.isEmpty ? nil : span
    }
    func overlay(
      _ content: PlannedOverlayContent, _ shown: Range<Int>, _ place: OverlayPlacement, _ ramps: [Ramp]
    ) -> [PlannedOverlay] {
      let part = shown.clamped(to: frames)
      if part.isEmpty { return [] }
      let local = (part.lowerBound - frames.lowerBound)..<(part.upperBound - frames.lowerBound)
      return [
        PlannedOverlay(content: content, frames: [local], placement: place, opacity: 0.9, ramps: RampList(ramps))
      ]
    }
    var task = fixture.task([], size: size, colour: ColourTags(matrix: "bt709"), frameCount: frames.count)
    task.spans = spans
    task.overlays =
      overlay(.image(source: 2, width: 33, height: nil), 0..<40, .anchor(.topRight, inset: 7), [])
      + overlay(
        try fixture.content(title), 5..<30, .anchor(.bottom, inset: 5),
        [try ramp(0, 1, 5..<12)])
    return task
  }

  static func fixture() throws -> VideoFixture {
    var fixture = try VideoFixture()
    _ = try fixture.make(
      "a.mp4",
      [
        "-f", "lavfi", "-i", "testsrc2=size=120x120:rate=25:duration=2", "-pix_fmt", "yuv420p", "-c:v", "libx264",
        "-bf",
        "2",
      ])
    _ = try fixture.make(
      "b.mov",
      ["-f", "lavfi", "-i", "testsrc2=size=90x120:rate=30:duration=2", "-pix_fmt", "yuv444p", "-c:v", "ffv1"])
    _ = try OverlayTests.image(&fixture, width: 37, height: 23)
    try fixture.add(title)
    return fixture
  }

  @Test func `every cut gives the same pictures`() throws {
    let fixture = try Self.fixture()
    let whole = try Self.decoded(Self.piece(Self.task(fixture, frames: 0..<40), fixture, "whole"), fixture)
    #expect(whole.count == 40)
    #expect(Set(whole).count > 35)
    for cut in TestExtent.of([1, 20], whole: [1, 14, 20, 39]) {
      let first = try Self.decoded(Self.piece(Self.task(fixture, frames: 0..<cut), fixture, "first"), fixture)
      let second = try Self.decoded(Self.piece(Self.task(fixture, frames: cut..<40), fixture, "second"), fixture)
      #expect(first + second == whole, "cut at \(cut)")
    }
  }

  @Test func `the same task is the same bytes`() throws {
    let fixture = try Self.fixture()
    var task = try Self.task(fixture, frames: 0..<40)
    task.encoder.codec = .h264
    task.encoder.rateControl = .quality(23)
    task.encoder.preset = "veryfast"
    let (one, two) = (try Self.piece(task, fixture, "one"), try Self.piece(task, fixture, "two"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: one)) == Data(contentsOf: URL(fileURLWithPath: two)))
  }

  @Test func `an invalid task is refused`() throws {
    let fixture = try Self.fixture()
    let good = try Self.task(fixture, frames: 0..<40)
    let changes: [(inout VideoTask) -> Void] = [
      { $0.frameCount = 41 }, { $0.frameCount = 0 }, { $0.spans.removeFirst() }, { $0.sources.removeLast() },
      { $0.format.size.width = 0 }, { $0.format.frameDuration = .zero }, { $0.sources[0].digest = "unknown" },
    ]
    for change in changes {
      var task = good
      change(&task)
      let error = #expect(throws: RenderError.self) {
        try VideoRenderer.render(task, inputs: fixture.inputs, to: -1) { _ in }
      }
      guard case .task = error?.code else {
        Issue.record("\(String(describing: error)) should have the code .task")
        continue
      }
    }
  }

  @Test func `a full disk is an error of the machine`() throws {
    let fixture = try Self.fixture()
    let full = Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(full >= 0)
    defer { close(full) }
    let error = #expect(throws: RenderError.self) {
      try VideoRenderer.render(try Self.task(fixture, frames: 0..<40), inputs: fixture.inputs, to: full) { _ in }
    }
    guard case .infrastructure = error?.code else {
      Issue.record("\(String(describing: error)) should have the code .infrastructure")
      return
    }
  }
}

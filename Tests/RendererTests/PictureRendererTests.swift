import CompositionModel
import Foundation
import Media
import Segmenter
import TestPrograms
import Testing

@testable import Renderer

@Suite struct PictureRendererTests {
  static let size = PixelSize(width: 160, height: 90)

  /// The piece of a task as a file in the fixture's folder.
  static func piece(_ task: VideoTask, _ fixture: PictureFixture, _ name: String) throws -> String {
    let path = fixture.folder.path(name)
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var done: [Int64] = []
    try VideoRenderer.render(task, inputs: fixture.inputs, to: descriptor) { done.append($0) }
    #expect(done == (1...Int64(task.frameCount)).map { $0 })
    return path
  }

  /// A piece's pictures as ffmpeg decodes them.
  static func decoded(_ piece: String, _ fixture: PictureFixture) throws -> [[UInt8]] {
    let reader = try PieceReader(source: try PictureFixture.open(piece), name: piece)
    var packets: [Packet] = []
    while let packet = try reader.next() { packets.append(packet) }
    #expect(packets.map(\.pts).sorted() == (0..<Int64(packets.count)).map { $0 })
    let film = piece + ".mkv"
    let descriptor = Glibc.open(film, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let duration = try reader.header.timebase * Rational(packets.count)
    let muxer = try FileMuxer(
      descriptor: descriptor, name: film, container: .mkv,
      tracks: [FileMuxer.Track(header: reader.header, packetCount: packets.count, duration: duration)],
      indexFirst: false, metadata: [:])
    for packet in packets { try muxer.write(packet, track: 0) }
    try muxer.finish()
    return try fixture.decoded(film, format: "yuv420p", size: size)
  }

  /// Two clips with a dissolve between them, a letterboxed one below, an image and a title that fade: everything that
  /// moves, cut at frame `first` of `whole`.
  static func task(_ fixture: PictureFixture, frames: Range<Int>) throws -> VideoTask {
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
        .text(StyledText(text: "Maroubra 日本", size: 21)), 5..<30, .anchor(.bottom, inset: 5),
        [try ramp(0, 1, 5..<12)])
    return task
  }

  static func fixture() throws -> PictureFixture {
    var fixture = try PictureFixture()
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
    return fixture
  }

  @Test func everyCutGivesTheSamePictures() throws {
    let fixture = try Self.fixture()
    let whole = try Self.decoded(Self.piece(Self.task(fixture, frames: 0..<40), fixture, "whole"), fixture)
    #expect(whole.count == 40)
    #expect(Set(whole).count > 35)
    for cut in [1, 14, 20, 39] {
      let first = try Self.decoded(Self.piece(Self.task(fixture, frames: 0..<cut), fixture, "first"), fixture)
      let second = try Self.decoded(Self.piece(Self.task(fixture, frames: cut..<40), fixture, "second"), fixture)
      #expect(first + second == whole, "cut at \(cut)")
    }
  }

  @Test func theSameTaskIsTheSameBytes() throws {
    let fixture = try Self.fixture()
    var task = try Self.task(fixture, frames: 0..<40)
    task.encoder.codec = .h264
    task.encoder.rateControl = .quality(23)
    task.encoder.preset = "veryfast"
    let (one, two) = (try Self.piece(task, fixture, "one"), try Self.piece(task, fixture, "two"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: one)) == Data(contentsOf: URL(fileURLWithPath: two)))
  }

  @Test func aTaskThatMakesNoSenseIsRefused() throws {
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
        Issue.record("\(String(describing: error)) should be the task's fault")
        continue
      }
    }
  }

  @Test func aFullDiskIsTheMachinesFault() throws {
    let fixture = try Self.fixture()
    let full = Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(full >= 0)
    defer { close(full) }
    let error = #expect(throws: RenderError.self) {
      try VideoRenderer.render(try Self.task(fixture, frames: 0..<40), inputs: fixture.inputs, to: full) { _ in }
    }
    guard case .infrastructure = error?.code else {
      Issue.record("\(String(describing: error)) should be the machine's fault")
      return
    }
  }
}

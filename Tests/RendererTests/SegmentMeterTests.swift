import CompositionModel
import Foundation
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

struct SegmentMeterTests {
  private static let size = PixelSize(width: 160, height: 90)

  private func task(_ fixture: inout VideoFixture) throws -> VideoTask {
    let source = try fixture.make(
      "source.mp4",
      [
        "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=1", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-qp", "0", "-bf",
        "0",
      ])
    var task = fixture.task([.clip(try fixture.clip(source))], size: Self.size)
    task.encoder.codec = .h264
    task.encoder.rateControl = .quality(20)
    task.encoder.preset = "medium"
    return task
  }

  /// The oracle is `ffmpeg` with the options that a measurement is made with.
  @Test func `a measurement has the size of each frame at each rate factor`() throws {
    var fixture = try VideoFixture()
    let task = try task(&fixture)
    var done: [Int64] = []
    let all = try SegmentMeter.measure(task, inputs: fixture.inputs) { done.append($0) }
    let measured = try #require(all.first)
    #expect(all.count == 1)
    #expect(done == (1...30).map { Int64($0) })
    #expect(measured.rateFactors == [20, 32])
    for (factor, bits) in zip(measured.rateFactors, measured.frameBits) {
      let film = fixture.folder.path("\(factor).mkv")
      _ = try Tool.ffmpeg([
        "-i", fixture.folder.path("source.mp4"), "-c:v", "libx264", "-preset", "medium", "-crf", "\(factor)", "-g",
        "30", "-flags", "+cgop", "-threads", "1", "-x264-params",
        "stitchable=1:cpu-independent=1:open-gop=0:threads=4:lookahead-threads=1:sliced-threads=0:subme=2:ref=1:me=dia"
          + ":trellis=0", film,
      ])
      let packets = try Tool.ffprobe("-show_entries", "packet=pts,size", film).map { $0.compactMap { Int($0) } }
      let sizes = packets.sorted { $0[0] < $1[0] }.map { 8 * $0[1] }
      // The first packet has x264's options as text.
      #expect(bits.count == 30 && sizes.count == 30)
      #expect(abs(Double(bits.reduce(0, +)) / Double(sizes.reduce(0, +)) - 1) < 0.03)
      #expect(bits.max() == bits[0] && sizes.max() == sizes[0])
    }
  }

  @Test func `a codec without an average bit rate is not measured`() throws {
    var fixture = try VideoFixture()
    var task = try task(&fixture)
    task.encoder.codec = .ffv1
    #expect(throws: RenderError.self) {
      try SegmentMeter.measure(task, inputs: fixture.inputs) { _ in }
    }
  }

  /// What the rate factor of a frame is depends on how many packets were returned before it.
  @Test func `a segment that is held to its share has the same bytes each time, and fewer of them`() throws {
    var fixture = try VideoFixture()
    var task = try task(&fixture)
    task.encoder.preset = "veryfast"
    let free = try Data(contentsOf: URL(fileURLWithPath: VideoRendererTests.piece(task, fixture, "free")))
    task.renditions[0].share = BitShare(frameBits: Array(repeating: 400, count: 30))
    let held = try (0..<3).map { number in
      try Data(contentsOf: URL(fileURLWithPath: VideoRendererTests.piece(task, fixture, "held \(number)")))
    }
    #expect(Set(held).count == 1)
    #expect(held[0].count < free.count)
    task.renditions[0].share?.frameBits.removeLast()
    #expect(throws: RenderError.self) { try VideoRendererTests.piece(task, fixture, "wrong") }
  }
}

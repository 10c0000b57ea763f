import CompositionModel
import Media
import Testing

@Suite struct PipelineTests {
  private struct Refusal: Error {}

  private static func frame(_ index: Int) throws(Refusal) -> Frame {
    do {
      let frame = try Frame(size: PixelSize(width: 16, height: 16), format: FrameFormat(.yuv420p))
      frame.pts = Int64(index)
      return frame
    } catch {
      throw Refusal()
    }
  }

  @Test(arguments: [1, 3, 100]) func `frames come in order`(ahead: Int) throws {
    let pipeline = try Pipeline<Frame, Refusal>(count: 50, ahead: ahead) { Self.frame }
    defer { pipeline.finish() }
    for index in 0..<50 { #expect(try pipeline.next().pts == Int64(index)) }
  }

  @Test func `an error comes in its frame's place`() throws {
    let pipeline = try Pipeline<Frame, Refusal>(count: 50, ahead: 4) { () throws(Refusal) in
      { index throws(Refusal) in
        if index == 7 { throw Refusal() }
        return try Self.frame(index)
      }
    }
    defer { pipeline.finish() }
    for index in 0..<7 { #expect(try pipeline.next().pts == Int64(index)) }
    #expect(throws: Refusal.self) { try pipeline.next() }
  }

  @Test func `no more frames are made than may be ahead, and none after the end`() throws {
    let made = Liveness()
    let pipeline = try Pipeline<Frame, Refusal>(count: 1000, ahead: 3) { () throws(Refusal) in
      { index throws(Refusal) in
        made.advance()
        return try Self.frame(index)
      }
    }
    _ = try pipeline.next()
    pipeline.finish()
    // Three, one for the frame that was taken, and one if the thread was about to make it.
    #expect(made.count <= 5)
  }
}

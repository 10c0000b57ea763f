import CompositionModel
import Testing

@testable import Stitcher

@Suite struct VideoTimelineTests {
  /// Packets of a GOP with two B-frames, in decoding order.
  private let presented: [Int64] = [0, 3, 1, 2, 6, 4, 5]

  private func place(
    _ presented: [Int64], into timeline: inout VideoTimeline, keyframes: Set<Int> = [0]
  ) throws(VideoTimelineFault) -> [VideoTimeline.Times] {
    var placed: [VideoTimeline.Times] = []
    for (index, presentation) in presented.enumerated() {
      placed.append(
        try timeline.place(
          presentation: presentation, decoding: Int64(index) - 2, isKeyframe: keyframes.contains(index)))
    }
    return placed
  }

  @Test func `decoding times rise by one over every join`() throws {
    var all: [VideoTimeline.Times] = []
    // The middle piece reorders nothing, but has the output's delay too.
    for (first, order) in [(0, presented), (7, [0, 1, 2]), (10, presented)] as [(Int64, [Int64])] {
      var timeline = VideoTimeline(firstFrame: first, frameCount: order.count, delay: 2)
      all += try place(order, into: &timeline)
      try timeline.finish()
    }
    #expect(all.map(\.decoding) == Array(-2..<15))
    #expect(all.map(\.presentation).sorted() == Array(0..<17))
    #expect(all.allSatisfy { $0.decoding <= $0.presentation })
  }

  private func fault(_ order: [Int64], count: Int, delay: Int64 = 2, keyframes: Set<Int> = [0]) -> VideoTimelineFault? {
    var timeline = VideoTimeline(firstFrame: 0, frameCount: count, delay: delay)
    do throws(VideoTimelineFault) {
      _ = try place(order, into: &timeline, keyframes: keyframes)
      try timeline.finish()
      return nil
    } catch {
      return error
    }
  }

  @Test func `packets that are not the piece's are refused`() {
    #expect(fault(presented, count: 7) == nil)
    #expect(fault(presented, count: 6) == .outside(presentation: 6, frameCount: 6))
    #expect(fault(presented + [7], count: 7) == .tooManyFrames(expected: 7))
    #expect(fault([0, 1, 2], count: 4) == .tooFewFrames(found: 3, expected: 4))
    #expect(fault([0, 2, 2], count: 3) == .twice(presentation: 2))
    #expect(fault([0, -1], count: 2) == .outside(presentation: -1, frameCount: 2))
    #expect(fault(presented, count: 7, keyframes: [1]) == .startsWithoutKeyframe)
    #expect(fault([1, 0], count: 2) == .firstFrameIsNotShownFirst(presentation: 1))
    #expect(fault(presented, count: 7, delay: 0) == .reordersTooFar(frames: 1, delay: 0))
  }

  @Test func `a piece's own decoding times must make sense`() throws {
    var timeline = VideoTimeline(firstFrame: 0, frameCount: 3, delay: 1)
    _ = try timeline.place(presentation: 0, decoding: -1, isKeyframe: true)
    #expect(throws: VideoTimelineFault.decodingDoesNotRise(decoding: -1, after: -1)) {
      try timeline.place(presentation: 1, decoding: -1, isKeyframe: false)
    }
    #expect(throws: VideoTimelineFault.decodedAfterShown(decoding: 2, presentation: 1)) {
      try timeline.place(presentation: 1, decoding: 2, isKeyframe: false)
    }
  }
}

@Suite struct AudioTimelineTests {
  @Test func `the last packet is trimmed to the film`() throws {
    var timeline = AudioTimeline(sampleCount: 1500, initialPadding: 1024, frameSize: 1024)
    #expect(
      try timeline.place(presentation: -1024, duration: 1024)
        == .init(presentation: -1024, duration: 1024, discarded: 0))
    #expect(try timeline.place(presentation: 0, duration: 1024) == .init(presentation: 0, duration: 1024, discarded: 0))
    #expect(throws: AudioTimelineFault.tooShort(end: 1024, sampleCount: 1500)) { try timeline.finish() }
    #expect(
      try timeline.place(presentation: 1024, duration: 1024) == .init(presentation: 1024, duration: 476, discarded: 548)
    )
    try timeline.finish()
    #expect(throws: AudioTimelineFault.beyondTheEnd(presentation: 2048, sampleCount: 1500)) {
      try timeline.place(presentation: 2048, duration: 1024)
    }
  }

  @Test func `a last packet of a stated length is still decoded whole`() throws {
    var aac = AudioTimeline(sampleCount: 100, initialPadding: 1024, frameSize: 1024)
    _ = try aac.place(presentation: -1024, duration: 1024)
    #expect(try aac.place(presentation: 0, duration: 100) == .init(presentation: 0, duration: 100, discarded: 924))
    var flac = AudioTimeline(sampleCount: 100, initialPadding: 0, frameSize: 4608)
    #expect(try flac.place(presentation: 0, duration: 100) == .init(presentation: 0, duration: 100, discarded: 0))
  }

  @Test func `gaps, overlaps and empty packets are refused`() throws {
    var timeline = AudioTimeline(sampleCount: 1500, initialPadding: 0, frameSize: 0)
    #expect(throws: AudioTimelineFault.misplaced(presentation: 1, expected: 0)) {
      try timeline.place(presentation: 1, duration: 10)
    }
    #expect(throws: AudioTimelineFault.noDuration(presentation: 0)) { try timeline.place(presentation: 0, duration: 0) }
    #expect(throws: AudioTimelineFault.noDuration(presentation: 0)) {
      try timeline.place(presentation: 0, duration: -4)
    }
  }
}

@Suite struct InterleavingTests {
  @Test func `the earlier goes first, and video at the same time`() {
    let order = Interleaving(frameDuration: MediaTime(value: 1001, timescale: 30000), sampleRate: 48000)
    // Frame 5 is at 5 · 1001/30000 s, sample 8008 of 48 kHz.
    #expect(order.putsVideoFirst(frame: 5, sample: 8008))
    #expect(!order.putsVideoFirst(frame: 5, sample: 8007))
    #expect(order.putsVideoFirst(frame: -2, sample: -1024))
    #expect(!order.putsVideoFirst(frame: 0, sample: -1))
  }
}

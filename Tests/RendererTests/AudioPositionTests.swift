import CompositionModel
import RenderTasks
import Testing

@testable import Renderer

private func time(_ value: Int64, _ timescale: Int32 = 1) -> MediaTime { MediaTime(value: value, timescale: timescale) }

private func clip(_ source: (MediaTime, MediaTime), _ target: (MediaTime, MediaTime)) throws -> PlannedAudioClip {
  try PlannedAudioClip(
    source: 0, sourceRange: MediaTimeRange(start: source.0, end: source.1),
    targetRange: MediaTimeRange(start: target.0, end: target.1))
}

@Suite struct AudioPositionTests {
  @Test func `neighbours share their edit point and tile the output`() throws {
    // 30000/1001 edit points at 44.1 kHz fall between samples.
    let frames = 8_992
    let total = Int64(try (time(Int64(frames) * 1001, 30000) * Rational(44100)).exact.rounded)
    var previous: Int64 = 0
    for first in stride(from: 0, to: frames, by: 31) {
      let (start, end) = (time(Int64(first) * 1001, 30000), time(Int64(min(frames, first + 31)) * 1001, 30000))
      let placement = try ClipPlacement(clip((start, end), (start, end)), rate: 44100, sampleCount: total)
      #expect(placement.output.lowerBound == previous)
      #expect(placement.alignedSource == placement.output.lowerBound)
      #expect(placement.speed == .one)
      previous = placement.output.upperBound
    }
    #expect(previous == total)
  }

  @Test func `halves of a sample are rounded away from zero`() throws {
    // 1/96000 s is half a sample of 48 kHz; 3/96000 s one and a half.
    let placement = try ClipPlacement(
      clip((time(1, 96000), time(1)), (time(3, 96000), time(1))), rate: 48000, sampleCount: 48000)
    #expect(placement.output.lowerBound == 2)
    #expect(placement.alignedSource == 1)
  }

  @Test func `a clip that reaches beyond the output is cut`() throws {
    let placement = try ClipPlacement(clip((time(2), time(5)), (time(-1), time(2))), rate: 100, sampleCount: 150)
    #expect(placement.output == 0..<150)
    #expect(placement.skipped == 100)
    #expect(placement.alignedSource == 200)
    #expect(placement.sourceStart == Rational(2))
    let after = try ClipPlacement(clip((time(0), time(1)), (time(9), time(10))), rate: 100, sampleCount: 150)
    #expect(after.output.isEmpty)
  }

  @Test func `speed is the ratio of source to target`() throws {
    let placement = try ClipPlacement(clip((time(1), time(4)), (time(0), time(2))), rate: 48000, sampleCount: 96000)
    #expect(try placement.speed == Rational(3, 2))
  }

  @Test func `a time too large is refused`() throws {
    let far = try clip((time(0), time(1)), (time(.max / 2), time(.max / 2 + 1)))
    #expect(throws: TimeError.overflow) { try ClipPlacement(far, rate: 48000, sampleCount: 1) }
  }

  @Test(arguments: [(44100, 48000), (48000, 44100), (22050, 48000), (96000, 44100), (8000, 44100), (11025, 48000)])
  func `conversion starts where the grid meets the requested time`(_ source: Int, _ output: Int) throws {
    for start in [time(0), time(1, 3), time(1001, 30000), time(12_345_677, 90000), time(-1, 7)] {
      let phase = try ResamplePhase(
        sourceStart: start.exact, sourceRate: source, step: Rational(Int128(source), Int128(output)), runUp: 32)
      let met =
        try Rational(phase.firstSource) + Rational(phase.discarded) * Rational(Int128(source), Int128(output))
      let requested = try start.exact * Rational(source)
      let miss = try (met - requested).approximate.magnitude
      let phases = min(1024, Double(try Rational(Int128(source), Int128(output)).denominator))
      #expect(miss <= 0.5 / phases + 1e-12, "\(source) to \(output) at \(start) misses by \(miss) samples")
      #expect(try (requested - Rational(phase.firstSource)).approximate >= 31)
      // A part of the outputs starts on the same grid, and not long before the first that is needed.
      let step = try Rational(Int128(source), Int128(output))
      let later = try phase.skipping(1_234_567, step: step)
      let place = try Rational(later.firstSource) + Rational(later.discarded) * step
      #expect(try place == met + Rational(1_234_567) * step)
      #expect(later.discarded >= 2 * phase.discarded - 1 && later.discarded < 3 * phase.discarded + 1000)
    }
  }
}

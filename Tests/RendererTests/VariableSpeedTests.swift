import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

private func read(
  _ stream: any SampleStream, channels: Int = 1, count: Int, steps: Int = 1000
) throws -> [[Float]] {
  let block = SampleBlock(channels: channels, capacity: count)
  for start in stride(from: 0, to: count, by: steps) {
    try stream.read(into: block, SampleRange(start: start, count: min(steps, count - start)))
  }
  return (0..<channels).map { Array(UnsafeBufferPointer(start: block.row($0), count: count)) }
}

/// Points of a speed over time, in doubles, and its integral by the area of trapezia.
private struct PlainCurve {
  var points: [(at: Double, speed: Double)]

  init(_ points: [(at: Double, speed: Double)]) { self.points = points }

  var curve: SpeedCurve {
    get throws {
      try SpeedCurve(
        points: points.map { at, speed in
          SpeedCurve.Point(
            at: MediaTime(Int64((at * 1000).rounded()), 1000),
            speed: try Rational(Int128((speed * 1000).rounded()), 1000))
        })
    }
  }

  func played(_ time: Double) -> Double {
    let all = [(0, points[0].speed)] + points + [(1e6, points[points.count - 1].speed)]
    var total = 0.0
    for (a, b) in zip(all, all.dropFirst()) where time > a.0 && b.0 > a.0 {
      let end = min(time, b.0)
      total += (end - a.0) * (a.1 + a.1 + (b.1 - a.1) * (end - a.0) / (b.0 - a.0)) / 2
    }
    return total
  }

  func path(from start: Double = 0, _ sourceRate: Int, _ outputRate: Int = 48000) throws -> SourcePath {
    try SourcePath(
      curve, from: Rational(Int128((start * 1_000_000).rounded()), 1_000_000), sourceRate: sourceRate,
      outputRate: outputRate, firstTime: .zero)
  }

  /// Slower, frozen, and then twice as fast.
  static let usual = PlainCurve([(0, 1), (0.5, 1), (1, 0.25), (1.25, 0), (1.5, 0), (1.6, 2)])
}

@Suite struct VarispeedTests {
  @Test func `every sample is at the integral of the speed`() throws {
    var random = SeededRandom(seed: 11)
    for _ in 0..<20 {
      var at = 0.0
      let points = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        at += Double(Int.random(in: 1...2000, using: &random)) / 1000
        return (at, Double(Int.random(in: 0...9000, using: &random)) / 1000)
      }
      let plain = PlainCurve(points)
      let path = try SourcePath(
        plain.curve, from: Rational(7, 3), sourceRate: 44100, outputRate: 48000, firstTime: Rational(1, 200_000))
      for sample in stride(from: Int64(0), to: 600_000, by: 997) {
        let run = path.run(at: sample).run
        let place = Double(run.whole) + run.distance(at: sample)
        let expected = (7.0 / 3 + plain.played(Double(sample) / 48000 + 1 / 200_000)) * 44100
        #expect(abs(place - expected) < 1e-5, "sample \(sample) of \(points)")
      }
    }
  }

  @Test(arguments: [44100, 48000])
  func `the sound is that of a plain resampler`(_ rate: Int) throws {
    // At twice the speed the highest is still below half of the output's rate.
    let partials = [(317.3, 0.2), (4100.7, 1.4), (9803.9, 3.3)]
    func sound(_ time: Double) -> Double {
      partials.reduce(0) { $0 + 0.2 * sin(2 * .pi * $1.0 * time + $1.1) }
    }
    let source = ComputedSource(sampleRate: rate) { _, position in Float(sound(Double(position) / Double(rate))) }
    let plain = PlainCurve.usual
    let stream = try VarispeedStream(
      source, plan: .same, plain.path(from: 0.2, rate), skipping: 0, outputChannels: 1)
    let converted = try read(stream, count: 96_000)[0]
    var worst = 0.0
    for index in stride(from: 0, to: converted.count, by: 7) {
      worst = max(worst, abs(Double(converted[index]) - sound(0.2 + plain.played(Double(index) / 48000))))
    }
    #expect(worst < 1e-5, "\(worst)")
  }

  @Test func `every click is where the picture is`() throws {
    // A click every 0.05 s of the source; each comes out where the integral has reached it, and nowhere else.
    let source = ComputedSource(sampleRate: 48000) { _, position in position > 0 && position % 2400 == 0 ? 1 : 0 }
    let plain = PlainCurve([(0.25, 1), (0.75, 3), (1, 0.3), (1.5, 0.3), (2, 1.7)])
    let stream = try VarispeedStream(source, plan: .same, plain.path(48000), skipping: 0, outputChannels: 1)
    let sound = try read(stream, count: 120_000)[0]
    var click = 1
    var sample = 0
    while true {
      while sample < sound.count, plain.played(Double(sample) / 48000) < Double(click) * 0.05 { sample += 1 }
      guard sample + 20 < sound.count else { break }
      let near = max(0, sample - 200)..<min(sound.count, sample + 200)
      let peak = near.max { sound[$0] < sound[$1] } ?? 0
      #expect(abs(peak - sample) <= 1, "click \(click) is at \(peak), not \(sample)")
      click += 1
    }
    #expect(click > 40)
  }

  @Test func `at its own speed, sound is copied, and nothing above half the rate is heard`() throws {
    let noise = ComputedSource(sampleRate: 48000) { _, position in Float((position &* 7919) % 1009) / 2000 }
    let still = PlainCurve([(0, 1), (10, 1), (11, 2)])
    let copied = try read(
      VarispeedStream(noise, plan: .same, still.path(from: 0.5, 48000), skipping: 0, outputChannels: 1), count: 20_000)[
        0]
    let isCopied = copied.indices.allSatisfy { copied[$0] == Float((Int64($0 + 24_000) &* 7919) % 1009) / 2000 }
    #expect(isCopied)
    let high = ComputedSource(sampleRate: 48000) { _, position in
      Float(sin(2 * .pi * 10_000 * Double(position) / 48000))
    }
    let fast = PlainCurve([(0, 4), (1, 5)])
    let folded = try read(
      VarispeedStream(high, plan: .same, fast.path(48000), skipping: 0, outputChannels: 1), count: 48_000)[0]
    #expect(folded.allSatisfy { abs($0) < 1e-4 })
  }

  @Test func `a part is the same, wherever reading begins`() throws {
    let source = ComputedSource(sampleRate: 44100, channels: 6) { channel, position in
      Float((position &* 7919 &+ Int64(channel) &* 101) % 1009) / 2000
    }
    let plan = ChannelPlan(from: AudioFormat(sampleRate: 44100, channels: 6, layout: "5.1"), to: 2)
    func stream(_ skipped: Int64) throws -> VarispeedStream {
      try VarispeedStream(
        source, plan: plan, PlainCurve.usual.path(44100), skipping: skipped, outputChannels: 2)
    }
    let whole = try read(stream(0), channels: 2, count: 90_000)
    for skipped in [1, 30_011, 61_000, 77_777] {
      let part = try read(stream(Int64(skipped)), channels: 2, count: 10_000, steps: 333)
      for channel in 0..<2 {
        let isSame = Array(whole[channel][skipped..<skipped + 10_000]) == part[channel]
        #expect(isSame, "from \(skipped)")
      }
    }
  }
}

@Suite struct VariableStretchTests {
  private func stretched(_ source: ComputedSource, _ plain: PlainCurve, count: Int) throws -> [Float] {
    let stream = VariableStretchStream(try plain.path(source.sampleRate), outputRate: 48000, outputChannels: 1) {
      CopiedStream(source, from: $0.whole)
    }
    return try read(stream, count: count)[0]
  }

  @Test func `the pitch is kept and a frozen picture is silent`() throws {
    let source = ComputedSource(sampleRate: 48000) { _, position in
      Float(0.5 * sin(2 * .pi * 440 * Double(position) / 48000))
    }
    let sound = try stretched(source, .usual, count: 120_000)
    for start in [4800, 28_000, 36_000, 84_000, 100_000] {
      let part = sound[start..<start + 9600]
      let crossings = zip(part, part.dropFirst()).count { $0 < 0 && $1 >= 0 }
      #expect(abs(crossings - 88) <= 2, "\(crossings) periods from \(start)")
      let power = part.reduce(0) { $0 + Double($1) * Double($1) } / 9600
      #expect(abs(power.squareRoot() - 0.3536) < 0.03, "from \(start)")
    }
    // From a hundredth of the speed, just before 1.25 s, to where it is as fast again, after 1.5 s.
    #expect(sound[59_600..<72_000].allSatisfy { $0 == 0 })
    // Nothing jumps where the silence begins and ends: a period of 440 Hz rises by 0.03 a sample at most.
    #expect(zip(sound, sound.dropFirst()).allSatisfy { abs($0 - $1) < 0.05 })
  }

  @Test func `clicks stay with the picture`() throws {
    // The speed rises and falls every second; a click is every half second of the source.
    let plain = PlainCurve((0..<40).map { (Double($0), $0 % 2 == 0 ? 0.5 : 2.0) })
    let source = ComputedSource(sampleRate: 48000) { _, position in position % 24_000 == 12_000 ? 0.8 : 0 }
    let seconds = TestExtent.of(16, whole: 40)
    let count = 48_000 * seconds
    let sound = try stretched(source, plain, count: count)
    var misses: [Double] = []
    while true {
      let reached = Double(misses.count) * 0.5 + 0.25
      var (low, high) = (0, count)
      while high - low > 1 {
        let middle = (low + high) / 2
        if plain.played(Double(middle) / 48000) < reached { low = middle } else { high = middle }
      }
      let sample = high
      guard sample + 9600 < count else { break }
      var (sum, moment) = (0.0, 0.0)
      for index in max(2, sample - 4800)..<sample + 4800 {
        let bend = Double(sound[index]) - 2 * Double(sound[index - 1]) + Double(sound[index - 2])
        sum += bend * bend
        moment += bend * bend * (Double(index - 1) - Double(sample))
      }
      misses.append(moment / sum / 48)
    }
    #expect(misses.count > seconds * 9 / 4)
    let worst = misses.map(abs).max() ?? .infinity
    #expect(worst < 6, "a click is \(worst) ms from its time")
    let late = misses.suffix(20).reduce(0, +) / 20
    #expect(abs(late) < 3, "in the end clicks are \(late) ms from their times")
  }
}

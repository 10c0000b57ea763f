import Foundation
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// An encoder in small: it begins a frame after `delay` others were sent, and returns its packet `late` frames later.
struct BitShareControlTests {
  /// Encodes a segment whose frames take `factor` times what was expected of them, and returns the share of the share
  /// that was taken, and the rate factor of each frame.
  private func encode(
    factor: (Int) -> Double, count: Int = 125, delay: Int = 40, late: Int = 3
  ) -> (taken: Double, factors: [Double]) {
    let bits = (0..<count).map { $0 == 0 ? 60_000 : $0 % 3 == 0 ? 9_000 : 3_000 }
    var control = BitShareControl(planned: 25, share: BitShare(frameBits: bits), concurrency: late)
    var (current, factors, taken) = (25.0, [Double](), 0)
    for frame in 0..<(count + delay + late) {
      if frame < count, let next = control.nextFactor() { current = next }
      if frame >= delay, factors.count < count { factors.append(current) }
      guard frame >= delay + late else { continue }
      let done = frame - delay - late
      let size = Int(Double(bits[done]) * factor(done) * exp(-0.12 * (factors[done] - 25)))
      taken += size
      // After the last frame nothing can be changed.
      if frame < count { control.receive(frame: done, bits: size) }
    }
    return (Double(taken) / Double(bits.reduce(0, +)), factors)
  }

  @Test
  func `a prediction that is right changes nothing`() {
    let (taken, factors) = encode { _ in 1 }
    #expect(abs(taken - 1) < 0.001 && Set(factors) == [25])
  }

  @Test(arguments: [0.88, 0.94, 1.06, 1.12])
  func `a segment that takes other bits than expected comes near to its share`(factor: Double) {
    let (taken, factors) = encode { _ in factor }
    #expect(abs(taken - 1) < 0.02)
    #expect(factors.allSatisfy { abs($0 - 25) <= BitShareControl.range })
    #expect(zip(factors, factors.dropFirst()).allSatisfy { abs($1 - $0) < 0.11 })
    #expect(factors.first == 25)
  }

  @Test
  func `what is far from the prediction moves the rate factor no further than its range`() {
    let (taken, factors) = encode { _ in 3 }
    #expect(factors.max() == 25 + BitShareControl.range && taken > 2)
  }

  @Test
  func `what varies from frame to frame is not followed`() {
    var random = SeededRandom(seed: 5)
    let noise = (0..<125).map { _ in Double.random(in: 0.7...1.3, using: &random) }
    let (taken, factors) = encode { noise[$0] }
    #expect(abs(taken - 1) < 0.03)
    #expect(factors.allSatisfy { abs($0 - 25) < 1 })
  }
}

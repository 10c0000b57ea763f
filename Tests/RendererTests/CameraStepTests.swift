import Foundation
import TestPrograms
import Testing

@testable import Renderer

@Suite struct CameraStepTests {
  /// Parts of a picture of 960x540 that move as a camera does, and others that do not.
  private func parts(
    _ count: Int, x: Double, y: Double, angle: Double, others: Int, by distance: Double, seed: UInt64 = 3
  ) -> [CameraStep.Part] {
    var random = SeededRandom(seed: seed)
    return (0..<(count + others)).map { index in
      let place = (Double.random(in: -470...470, using: &random), Double.random(in: -260...260, using: &random))
      let isOther = index >= count
      return CameraStep.Part(
        x: place.0, y: place.1, across: isOther ? distance : x - angle * place.1,
        down: isOther ? -distance / 3 : y + angle * place.0)
    }
  }

  @Test func `the motion of all parts is found exactly`() throws {
    let step = try #require(CameraStep(parts(50, x: 7.3, y: -2.1, angle: 0.013, others: 0, by: 0)))
    #expect(abs(step.x - 7.3) < 1e-9 && abs(step.y + 2.1) < 1e-9 && abs(step.angle - 0.013) < 1e-12)
  }

  @Test(arguments: [(5, 60.0), (15, -25), (20, 12)])
  func `parts that move otherwise do not count`(others: Int, distance: Double) throws {
    let step = try #require(CameraStep(parts(40, x: -3.4, y: 5.2, angle: -0.006, others: others, by: distance)))
    #expect(abs(step.x + 3.4) < 0.01 && abs(step.y - 5.2) < 0.01 && abs(step.angle + 0.006) < 1e-4)
  }

  @Test func `motion in whole pixels is found between them`() throws {
    let rounded = parts(300, x: 2.4, y: 0.3, angle: 0.004, others: 0, by: 0).map { part in
      CameraStep.Part(x: part.x, y: part.y, across: part.across.rounded(), down: part.down.rounded())
    }
    let step = try #require(CameraStep(rounded))
    #expect(abs(step.x - 2.4) < 0.1 && abs(step.y - 0.3) < 0.1 && abs(step.angle - 0.004) < 3e-4)
  }

  @Test func `one part moves and does not turn, and none is no motion`() {
    #expect(CameraStep([]) == nil)
    let step = CameraStep([CameraStep.Part(x: 100, y: -30, across: 4, down: 1)])
    #expect(step?.x == 4 && step?.y == 1 && step?.angle == 0)
  }
}

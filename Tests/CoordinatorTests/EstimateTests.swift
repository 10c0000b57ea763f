import FarmModel
import Jobs
import Testing

@testable import FarmAPI

/// The time that segments take on so many slots.
@Suite struct EstimateTests {
  @Test func `slots take the longest of what is left`() {
    #expect(EstimateReport.Time.schedule([], slots: 3) == 0)
    #expect(EstimateReport.Time.schedule([5], slots: 3) == 5)
    #expect(EstimateReport.Time.schedule([1, 2, 3, 4], slots: 1) == 10)
    #expect(EstimateReport.Time.schedule([4, 3, 3, 2], slots: 2) == 6)
    #expect(EstimateReport.Time.schedule([7, 1, 1, 1], slots: 2) == 7)
  }

  @Test func `more slots are never slower, and no task is divided`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      let tasks = (0..<20).map { _ in Double.random(in: 0.1...9, using: &generator) }
      let sum = tasks.reduce(0, +)
      for slots in 1...25 {
        let time = EstimateReport.Time.schedule(tasks, slots: slots)
        // Graham's bound for the longest first.
        let best = max(sum / Double(slots), tasks.max() ?? 0)
        #expect(best <= time + 1e-9 && time <= best * (4.0 / 3 + 1) && time <= sum + 1e-9)
      }
    }
  }

  @Test func `the pace is that of half the work, or assumed if little is measured`() {
    func segments(_ paces: [Double], work: Double = 10) -> [MeasuredSegment] {
      paces.map { MeasuredSegment(seconds: $0 * work, work: work) }
    }
    #expect(RenderingPace(measured: segments([0.1, 0.1, 0.1])) == .assumed)
    let pace = RenderingPace(measured: segments([0.5, 0.25, 4, 0.125, 1, .infinity, 0]))
    #expect(pace == RenderingPace(mean: 1.175, median: 0.5, fast: 0.125, slow: 4, count: 5))
    // Many short segments weigh no more than their work.
    let mixed = segments([0.5, 0.5, 0.5]) + segments(Array(repeating: 8, count: 20), work: 0.1)
    #expect(RenderingPace(measured: mixed).median == 0.5)
  }
}

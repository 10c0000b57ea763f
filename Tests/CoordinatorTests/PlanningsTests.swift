import FarmModel
import Jobs
import Testing

@testable import Coordinator

@Suite struct PlanningsTests {
  private static let jobs = (1...7).map { JobID("j\($0)") }

  @Test func `as many are planned at once as may be, the first ones first`() {
    var plannings = Plannings()
    #expect(plannings.begin(Self.jobs).map(\.job) == Array(Self.jobs[0..<4]))
    #expect(plannings.begin(Self.jobs).isEmpty)
    plannings.end(Self.jobs[2], mustBeAlone: false)
    #expect(plannings.begin([Self.jobs[0]] + Self.jobs[4...]).map(\.job) == [Self.jobs[4]])
    #expect(plannings.running.values.allSatisfy { !$0 })
  }

  @Test func `one that must be alone waits for those that run, and others for it`() {
    var plannings = Plannings()
    _ = plannings.begin(Array(Self.jobs[0..<2]))
    plannings.end(Self.jobs[1], mustBeAlone: true)
    #expect(plannings.begin(Self.jobs).isEmpty)
    plannings.end(Self.jobs[0], mustBeAlone: false)
    let alone = plannings.begin(Self.jobs)
    #expect(alone.map(\.job) == [Self.jobs[1]] && alone[0].isAlone)
    #expect(plannings.begin(Self.jobs).isEmpty)
    plannings.end(Self.jobs[1], mustBeAlone: false)
    #expect(plannings.begin(Array(Self.jobs[2...])).map(\.isAlone) == [false, false, false, false])
  }

  @Test func `none waits for one that cannot be planned any more`() {
    var plannings = Plannings()
    _ = plannings.begin(Array(Self.jobs[0..<2]))
    plannings.end(Self.jobs[1], mustBeAlone: true)
    #expect(plannings.begin([Self.jobs[0], Self.jobs[2]]).map(\.job) == [Self.jobs[2]])
  }
}

package import FarmModel

// Attempts to plan a job. `JobStore` specifies each operation.

/// The attempts to plan a job since it was submitted, taken up, or planned in part.
struct PlanningRecord: Sendable {
  /// The coordinator whose attempt has not ended. Nil: none.
  var planner: String?
  var until: Duration
  /// How many ran out.
  var lost = 0
}

extension FarmState {
  package mutating func beginPlanning(_ id: JobID, by planner: String, isAlone: Bool, now: Duration) -> PlanningStart {
    guard let number = numbers[id], jobs[number].job.purpose == .render, jobs[number].job.state.precedesPlan,
      jobs[number].counts.isFinished
    else { return .notPlannable }
    let planner = planner.withoutNul
    var planning = jobs[number].planning ?? PlanningRecord(until: now)
    if let other = planning.planner, other != planner {
      if planning.until > now { return .underWay }
      planning.lost += 1
      planning.planner = nil
    }
    let start = policy.planningStart(afterLost: planning.lost, isAlone: isAlone)
    if start == .begun {
      planning.planner = planner
      planning.until = now + policy.lease
    }
    jobs[number].planning = planning
    return start
  }

  package mutating func endPlanning(_ id: JobID, by planner: String) {
    guard let number = numbers[id], jobs[number].planning?.planner == planner.withoutNul else { return }
    jobs[number].planning?.planner = nil
  }
}

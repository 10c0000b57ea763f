package import FarmModel
package import Jobs

// Attempts to plan a job.

extension PostgresJobStore {
  package func beginPlanning(
    _ job: JobID, by planner: String, isAlone: Bool
  ) async throws(JobStoreError) -> PlanningStart {
    let (policy, planner) = (policy, planner.withoutNul)
    return try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let number = try connection.lockFinished(job) else { return .notPlannable }
        var (other, isHeld, lost) = (String?.none, false, Int32(0))
        if var fields = try connection.run(.planningOf, [.long(number)]).first {
          (other, isHeld, lost) = (fields.optionalText(), try fields.flag(), try fields.int())
        }
        if let current = other, current != planner {
          if isHeld { return .underWay }
          lost = lost.addingReportingOverflow(1).partialValue
          other = nil
        }
        let start = policy.planningStart(afterLost: Int(lost), isAlone: isAlone)
        if start == .begun { other = planner }
        _ = try connection.run(
          .recordPlanning, [.long(number), .text(other), .long(policy.lease.microseconds), .int(lost)])
        return start
      }
    }
  }

  package func endPlanning(_ job: JobID, by planner: String) async throws(JobStoreError) {
    try await results.perform { (connection) throws(JobStoreError) in
      _ = try connection.run(.endPlanning, [.text(job.description.withoutNul), .text(planner.withoutNul)])
    }
  }
}

extension Connection {
  /// Locks a job that can be planned now. Nil: it cannot.
  fileprivate func lockFinished(_ id: JobID) throws(JobStoreError) -> Int64? {
    guard var fields = try run(.lockFinished, [.text(id.description.withoutNul)]).first else { return nil }
    return try fields.long()
  }
}

extension Statement {
  fileprivate static let lockFinished = Statement(
    "lock-finished",
    """
    SELECT number FROM sheaf.job
    WHERE id = $1 AND state IN ('probing', 'measuring') AND purpose = 'render' AND probes_done = probes
      AND measures_done = measures
    FOR NO KEY UPDATE
    """)

  fileprivate static let planningOf = Statement(
    "planning-of", "SELECT planner, until > sheaf.now(), lost FROM sheaf.planning WHERE job = $1")

  /// Records a planning. If it is not under way, the time at which it would run out has no meaning.
  fileprivate static let recordPlanning = Statement(
    "record-planning",
    """
    INSERT INTO sheaf.planning (job, planner, until, lost)
    VALUES ($1, $2, sheaf.now() + $3 * interval '1 microsecond', $4)
    ON CONFLICT (job) DO UPDATE SET planner = excluded.planner, until = excluded.until, lost = excluded.lost
    """)

  fileprivate static let endPlanning = Statement(
    "end-planning",
    """
    UPDATE sheaf.planning SET planner = NULL
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND planner = $2
    """)

  /// When the job is planned, or its plan is removed.
  static let forgetPlannings = Statement("forget-plannings", "DELETE FROM sheaf.planning WHERE job = $1")

  static let movePlannings = Statement(
    "move-plannings",
    """
    UPDATE sheaf.planning SET until = least(
      until + $1 * interval '1 microsecond', sheaf.now() + $2 * interval '1 microsecond')
    """)
}

/// What became of the request to plan a job. A plan may end the process that makes it, so an attempt is recorded before
/// it begins, as a lease of the job: the coordinator renews it while it plans, and ends it. One that runs out was lost
/// with its coordinator.
package enum PlanningStart: Sendable, Hashable {
  /// The coordinator may plan the job now.
  case begun
  /// An attempt was lost: the job is planned while its coordinator plans no other, so that no job is counted for what
  /// another one did to their coordinator. Nothing has begun.
  case mustBeAlone
  /// Another coordinator plans it, or has ended so lately that this is not known yet.
  case underWay
  /// So many attempts were lost that the job is not planned once more.
  case failed
  /// The job has another state, is an inspection, or is not there.
  case notPlannable
}

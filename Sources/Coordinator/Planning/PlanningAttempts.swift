import FarmModel
import Jobs
import Logging

/// Records that this coordinator plans a job before it does, and for as long as it does: what a job contains may end
/// the process, and would end the next one too.
struct PlanningAttempts: Sendable {
  let store: any JobStore
  /// Names this process.
  let planner: String
  /// After how long an attempt is recorded once more.
  let renewal: Duration
  let logger: Logger

  /// Runs `body` if the job may be planned, and returns whether it might.
  /// - Parameter isAlone: Whether no other job is planned until this returns.
  func run(
    _ job: JobID, isAlone: Bool, _ body: () async throws(JobStoreError) -> Void
  ) async throws(JobStoreError) -> PlanningStart {
    let start = try await store.beginPlanning(job, by: planner, isAlone: isAlone)
    guard start == .begun else { return start }
    let renewing = Task { await renew(job, isAlone: isAlone) }
    var failure: JobStoreError?
    do throws(JobStoreError) { try await body() } catch { failure = error }
    renewing.cancel()
    // None is recorded after the end.
    await renewing.value
    try await store.endPlanning(job, by: planner)
    if let failure { throw failure }
    return start
  }

  private func renew(_ job: JobID, isAlone: Bool) async {
    while true {
      do { try await Task.sleep(for: renewal) } catch { return }
      do throws(JobStoreError) {
        _ = try await store.beginPlanning(job, by: planner, isAlone: isAlone)
      } catch {
        logger.debug("attempt to plan not renewed", metadata: ["job": "\(job)", "error": "\(error)"])
      }
    }
  }
}

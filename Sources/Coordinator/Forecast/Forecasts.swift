import FarmAPI
import FarmModel
import Jobs

/// When the jobs of the farm will have ended, as it was last found.
actor Forecasts {
  /// How long a forecast is used again: it costs the store a look at all tasks that are left.
  private static let freshness = Duration.seconds(1)

  private let store: any JobStore
  private let paces: RenderPaces
  private let now: @Sendable () -> Duration
  private var last: (ends: [JobID: Double], at: Duration)?
  /// When a new one was begun last: others have the one before until it is found.
  private var begun: Duration?

  /// - Parameter now: Time since any fixed moment.
  init(store: any JobStore, paces: RenderPaces, now: @escaping @Sendable () -> Duration) {
    (self.store, self.paces, self.now) = (store, paces, now)
  }

  /// In how many seconds a job will have ended. Nil: it is not known, or the job does not render.
  func secondsLeft(of job: Job) async throws(JobStoreError) -> Double? {
    guard job.state == .rendering else { return nil }
    if begun.map({ now() - $0 >= Self.freshness }) ?? true {
      begun = now()
      let ends = try await find()
      last = (ends, now())
    }
    guard let last, let end = last.ends[job.id] else { return nil }
    return max(0, end - (now() - last.at) / .seconds(1))
  }

  private func find() async throws(JobStoreError) -> [JobID: Double] {
    let workloads = try await store.workloads()
    var jobs: [Forecast.Job] = []
    for workload in workloads where workload.mayGoOn {
      let (usual, sound) = (await paces.times(of: workload.build), await paces.soundTimes(of: workload.build))
      if let job = Forecast.Job(workload, usual: usual, sound: sound) { jobs.append(job) }
    }
    if jobs.isEmpty { return [:] }
    return Forecast.ends(of: jobs, workers: try await store.workers(), owners: try await store.owners())
  }
}

@testable import Jobs

/// A job `j1` of four pictures on a farm's clock, which Anna has all taken: three took 4 s each, and one goes on.
struct SlowPicture {
  /// What Anna has of it.
  let lease: Lease

  /// After it the fourth picture has run for 4 s and is slow when it has run for more than 6 s.
  init(on farm: Farm) async throws {
    try await farm.store.submitRendering("j1", tasks: .pictures(4))
    let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 4).map(\.lease)
    try farm.advance(.seconds(4))
    for lease in leases.prefix(3) {
      guard try await farm.store.publish(lease, result: content(1)) == .published else {
        throw JobStoreError(.internal, "\(lease) was not published")
      }
    }
    lease = leases[3]
  }

  /// Bert has it too, 7 s after Anna's grant.
  func double(on farm: Farm) async throws -> Lease {
    try farm.advance(.seconds(3))
    guard let grant = try await farm.store.claimOne(.bert), grant.lease.task == lease.task else {
      throw JobStoreError(.internal, "bert was not given \(lease)")
    }
    return grant.lease
  }
}

extension JobStore {
  /// Leases of a worker that the store no longer renews, of one.
  func lost(_ lease: Lease, of worker: WorkerID, done: Int64 = 0) async throws -> [Lease] {
    try await renew(worker: worker, leases: [LeaseProgress(lease: lease, done: done)])
  }
}

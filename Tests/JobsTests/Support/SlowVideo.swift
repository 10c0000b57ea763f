import FarmModel

@testable import Jobs

/// A job `j1` of four video tasks on a farm's clock. Anna has claimed them all; three took 4 s each, and one is
/// running.
struct SlowVideo {
  /// Anna's lease of the fourth task.
  let lease: Lease

  /// After it the fourth task has run for 4 s. It is slow when it has run for more than 6 s.
  init(on farm: Farm) async throws {
    try await farm.store.submitRendering("j1", tasks: .videos(4))
    let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 4).map(\.lease)
    try farm.advance(.seconds(4))
    for lease in leases.prefix(3) {
      guard try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published else {
        throw JobStoreError(.internal, "\(lease) was not published")
      }
    }
    lease = leases[3]
  }

  /// Grants Bert a backup lease, 7 s after Anna's grant.
  func backUp(on farm: Farm) async throws -> Lease {
    try farm.advance(.seconds(3))
    guard let grant = try await farm.store.claimOne(.bert), grant.lease.task == lease.task else {
      throw JobStoreError(.internal, "bert was not granted \(lease.task)")
    }
    return grant.lease
  }
}

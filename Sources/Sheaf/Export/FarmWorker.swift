import Client
import FarmAPI
public import FoundationEssentials

extension Farm {
  /// A worker that is connected to the farm.
  public struct Worker: Sendable, Hashable {
    /// Stays the same when the worker connects again.
    public var id: String
    /// For people: that of its machine, unless it was given another.
    public var name: String
    /// How many tasks it executes at a time.
    public var slots: Int
    /// How many it has.
    public var busySlots: Int
    /// Everything that the bytes of its results depend on. Workers of one build render a film together.
    public var build: String
    /// By the farm's clock, to a millisecond. Nil: the coordinator is of an older version.
    public var connected: Date?
    /// The coordinator that it is connected to.
    public var coordinator: String
    /// How many bytes of memory each of its tasks may use. Nil: as many as it needs.
    public var taskMemory: Int64?
    /// Why it takes no tasks for now, for a person; empty if it takes some.
    public var paused: String
    /// The pools whose jobs it takes, besides those without a pool.
    public var pools: [String]

    init(_ status: WorkerStatus) {
      (id, name, slots, busySlots) = (status.id, status.name, status.slots, status.busy)
      build = status.build
      connected = status.connectedAt?.date
      coordinator = status.coordinator
      taskMemory = status.taskMemory
      paused = status.paused ?? ""
      pools = status.pools
    }
  }

  /// The workers of all coordinators of the farm, by name. Throws `SheafError` with the code `.unavailable` if the
  /// coordinator cannot be reached.
  public func workers() async throws(SheafError) -> [Worker] {
    try await sheafErrors { try await client.run { try await $0.workers() }.map { Worker($0) } }
  }
}

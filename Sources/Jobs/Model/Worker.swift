package import FarmModel

/// A worker as `sheaf workers` lists it.
package struct WorkerRecord: Sendable, Hashable {
  package var id: WorkerID
  package var session: SessionID
  /// Shown to people, such as the host's name.
  package var name: String
  /// By what the farm knows it beyond its connections: its name, and the owner of its token if it has one.
  package var account: String
  /// How many tasks it executes at a time. From 0.
  package var slots: Int32
  /// How many bytes of memory each of its tasks may use. From 0.
  package var memory: Int64
  package var build: String
  /// Those whose jobs it takes, in their order as bytes.
  package var pools: [String]
  /// The coordinator that it is connected to.
  package var coordinator: String
  /// How many leases it holds. Set by the store.
  package var busy: Int32
  /// Why it takes no tasks for now, for a person; empty if it takes some.
  package var paused: String
  /// Why the farm grants it none. Set by the store.
  package var hold: WorkerHold?
  /// For a person: why it is held. Set by the store.
  package var holdReason: String
  /// Whether it is granted nothing because all of its pools are closed now. Set by the store.
  package var isClosed: Bool
  /// When the session was first registered, since 1970. Set by the store, for people.
  package var connectedAt: Duration
  /// Time since the session was first registered. Set by the store.
  package var connected: Duration

  package init(
    id: WorkerID, session: SessionID, name: String, slots: Int32, memory: Int64 = .max, build: String,
    pools: [String] = [], coordinator: String, account: String? = nil, busy: Int32 = 0, paused: String = "",
    hold: WorkerHold? = nil,
    holdReason: String = "", isClosed: Bool = false, connectedAt: Duration = .zero, connected: Duration = .zero
  ) {
    self.id = id
    self.session = session
    self.name = name
    self.account = account ?? (name.isEmpty ? id.description : name)
    self.slots = slots
    self.memory = memory
    self.build = build
    self.pools = pools
    self.coordinator = coordinator
    self.busy = busy
    self.paused = paused
    self.hold = hold
    self.holdReason = holdReason
    self.isClosed = isClosed
    self.connectedAt = connectedAt
    self.connected = connected
  }
}

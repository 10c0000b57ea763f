package import FarmModel

/// A worker as `sheaf workers` lists it.
package struct WorkerRecord: Sendable, Hashable {
  package var id: WorkerID
  package var session: SessionID
  /// Shown to people, such as the host's name.
  package var name: String
  /// How many tasks it executes at a time. From 0.
  package var slots: Int32
  /// How many bytes of memory each of its tasks may use. From 0.
  package var memory: Int64
  package var build: String
  /// The coordinator that it is connected to.
  package var coordinator: String
  /// How many leases it holds. Set by the store.
  package var busy: Int32
  /// Why it takes no tasks for now, for a person; empty if it takes some.
  package var paused: String
  /// When the session was first registered, since 1970. Set by the store, for people.
  package var connectedAt: Duration
  /// Time since the session was first registered. Set by the store.
  package var connected: Duration

  package init(
    id: WorkerID, session: SessionID, name: String, slots: Int32, memory: Int64 = .max, build: String,
    coordinator: String,
    busy: Int32 = 0, paused: String = "", connectedAt: Duration = .zero, connected: Duration = .zero
  ) {
    self.id = id
    self.session = session
    self.name = name
    self.slots = slots
    self.memory = memory
    self.build = build
    self.coordinator = coordinator
    self.busy = busy
    self.paused = paused
    self.connectedAt = connectedAt
    self.connected = connected
  }
}

/// Identifies one run of one worker. 1 to 128 visible ASCII characters.
package struct WorkerID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: WorkerID, right: WorkerID) -> Bool { left.description < right.description }
}

/// Identifies one connection of a worker. Chosen by the coordinator. 1 to 128 visible ASCII characters.
package struct SessionID: Sendable, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// A worker as `sheaf workers` lists it.
package struct WorkerRecord: Sendable, Hashable {
  package var id: WorkerID
  package var session: SessionID
  /// Shown to people, such as the host's name.
  package var name: String
  /// How many tasks it executes at a time. From 0.
  package var slots: Int32
  package var build: String
  /// The coordinator that it is connected to.
  package var coordinator: String
  /// How many leases it holds. Set by the store.
  package var busy: Int32
  /// Time since the session was first registered. Set by the store.
  package var connected: Duration

  package init(
    id: WorkerID, session: SessionID, name: String, slots: Int32, build: String, coordinator: String,
    busy: Int32 = 0, connected: Duration = .zero
  ) {
    self.id = id
    self.session = session
    self.name = name
    self.slots = slots
    self.build = build
    self.coordinator = coordinator
    self.busy = busy
    self.connected = connected
  }
}

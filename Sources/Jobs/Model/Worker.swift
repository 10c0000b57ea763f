/// Identifies one run of one worker. 1 to 128 visible ASCII characters.
package struct WorkerID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: WorkerID, right: WorkerID) -> Bool { left.description < right.description }
}

/// Identifies one connection of a worker: the worker counts its connections from 1, so a later connection has a higher
/// number. 0 is before every connection.
package struct SessionID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let number: Int64

  package init(_ number: Int64) {
    self.number = number
  }

  package static func < (left: SessionID, right: SessionID) -> Bool { left.number < right.number }

  package var description: String { String(number) }
}

/// A worker in one of its connections.
///
/// A holder holds a lease that was granted to its worker, unless a later session of the worker has it.
package struct Holder: Sendable, Hashable {
  package var worker: WorkerID
  package var session: SessionID

  package init(worker: WorkerID, session: SessionID) {
    self.worker = worker
    self.session = session
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
  /// How many bytes of memory each of its tasks may use. From 0.
  package var memory: Int64
  package var build: String
  /// The coordinator that it is connected to.
  package var coordinator: String
  /// How many leases it holds. Set by the store.
  package var busy: Int32
  /// Why it takes no tasks for now, for a person; empty if it takes some.
  package var paused: String
  /// Time since the session was first registered. Set by the store.
  package var connected: Duration

  package init(
    id: WorkerID, session: SessionID, name: String, slots: Int32, memory: Int64 = .max, build: String,
    coordinator: String,
    busy: Int32 = 0, paused: String = "", connected: Duration = .zero
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
    self.connected = connected
  }
}

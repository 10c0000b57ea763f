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

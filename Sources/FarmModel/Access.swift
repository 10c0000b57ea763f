/// What a token is for.
package enum Role: String, Sendable, Hashable, Codable, CaseIterable {
  /// Sees everything, and changes nothing.
  case viewer
  /// Submits jobs, and sees and changes those of its owner.
  case submitter
  /// May do everything that a client can.
  case `operator`
  /// Registers workers.
  case worker
  /// Reads metrics.
  case metrics
}

/// What a request needs.
package enum Permission: Sendable, Hashable, CaseIterable {
  /// To see jobs, films, workers and events.
  case see
  /// To submit jobs and upload their media, and to stop, take up and delete jobs.
  case submit
  /// To change what is the whole farm's: tokens, webhooks; and to read the audit.
  case operate
  /// To register a worker.
  case work
  /// To read how many of everything there is.
  case measure
}

extension Role {
  package func allows(_ permission: Permission) -> Bool {
    switch self {
    case .viewer: permission == .see || permission == .measure
    case .submitter: permission == .see || permission == .submit
    case .operator: permission != .work
    case .worker: permission == .work
    case .metrics: permission == .measure
    }
  }
}

/// Identifies a token without being one: 1 to 64 characters of 0-9, a-z and `_`. Chosen by the coordinator.
package struct AccessTokenID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: AccessTokenID, right: AccessTokenID) -> Bool { left.description < right.description }
}

/// Who asks for something.
package struct Caller: Sendable, Hashable {
  package var role: Role
  /// For whom. Nil: for whoever has the farm's own token, or runs the process.
  package var owner: String?
  /// Nil: it has the farm's own token, or needs none.
  package var token: AccessTokenID?
  /// The token's: the only pool of its workers and jobs. Nil: they choose.
  package var pool: String?
  /// Where from: an address without its port. Empty: this process.
  package var address: String
  /// Whether it is known by a certificate that it was given for the token, so that the end of the token's time is not
  /// its end.
  package var hasJoined = false

  package init(role: Role, owner: String? = nil, token: AccessTokenID? = nil, pool: String? = nil, address: String = "")
  {
    self.role = role
    self.owner = owner
    self.token = token
    self.pool = pool
    self.address = address
  }

  package static let ownProcess = Caller(role: .operator)

  /// Whether it may know of a job.
  /// - Parameter jobOwner: The job's. Nil: it has none.
  package func sees(jobOf jobOwner: String?) -> Bool {
    role != .submitter || owner != nil && owner == jobOwner
  }
}

/// Why somebody does not get a pool, for a person.
package struct PoolRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  package var description: String
}

extension Caller {
  /// The pools of a session of a worker that asks for some: one whose token has a pool need not ask for it, and has no
  /// other. In their order as bytes.
  package func pools(asking names: [String]) throws(PoolRefusal) -> [String] {
    guard let pool else { return PoolName.sorted(names) }
    for name in names { try requirePool(name, pool) }
    return [pool]
  }

  /// The pool of a job that is submitted with one, or without: that of a token that has one is the job's.
  package func pool(asking name: String?) throws(PoolRefusal) -> String? {
    guard let pool else { return name }
    if let name { try requirePool(name, pool) }
    return pool
  }

  private func requirePool(_ name: String, _ own: String) throws(PoolRefusal) {
    guard name != own else { return }
    throw PoolRefusal(description: "the token is for the pool \"\(own)\" alone, not for \"\(name.prefix(64))\"")
  }
}

package import Digest
package import FarmModel

/// An owner of jobs, as a farm serves it.
package struct Owner: Sendable, Hashable {
  /// Empty: whoever has the farm's own token, or none.
  package var owner: String
  /// Of two owners who always have tasks the one with twice the weight gets twice as much.
  package var weight: Double
  /// How many of its tasks may run, without backup leases. Nil: any number.
  package var mostRunning: Int64?
  /// How many of its jobs may not have ended. Nil: any number.
  package var mostOpen: Int64?
  /// How many bytes of the content store its jobs may name. Nil: any number.
  package var mostStored: Int64?
  /// How many of its tasks run.
  package var running: Int64
  /// How many of its jobs have not ended.
  package var open: Int64

  package init(
    owner: String, weight: Double, mostRunning: Int64? = nil, mostOpen: Int64? = nil, mostStored: Int64? = nil,
    running: Int64, open: Int64
  ) {
    self.owner = owner
    self.weight = weight
    self.mostRunning = mostRunning
    self.mostOpen = mostOpen
    self.mostStored = mostStored
    self.running = running
    self.open = open
  }
}

/// What is changed of an owner. Nil: it stays.
package struct OwnerChange: Sendable, Hashable {
  package enum Most: Sendable, Hashable {
    case any
    case most(Int64)

    package var number: Int64? {
      switch self {
      case .any: nil
      case .most(let number): number
      }
    }
  }

  /// More than 0, and finite.
  package var weight: Double?
  package var mostRunning: Most?
  package var mostOpen: Most?
  package var mostStored: Most?

  package init() {}

  package func validate(_ owner: String) throws(JobStoreError) {
    guard owner.utf8.count <= 64, owner.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw JobStoreError(.invalid, "an owner is at most 64 visible ASCII characters")
    }
    guard weight.map({ $0 > 0 && $0.isFinite }) ?? true else {
      throw JobStoreError(.invalid, "an owner's weight is a finite number above 0")
    }
    guard [mostRunning?.number, mostOpen?.number, mostStored?.number].allSatisfy({ $0 ?? 0 >= 0 }) else {
      throw JobStoreError(.invalid, "the numbers that an owner may have are at least 0")
    }
  }
}

/// What an owner who may not store any number of bytes has stored.
package struct OwnerStorage: Sendable, Hashable {
  /// How many bytes it may have.
  package var most: Int64
  /// What its jobs name, each content once, in the order of their digests: inputs, results and films. It may be a file
  /// of the media root, which takes no room in the content store.
  package var contents: [Content]

  package init(most: Int64, contents: [Content]) {
    self.most = most
    self.contents = contents
  }
}

extension JobStoreError {
  package static func tooMany(_ most: Int64) -> JobStoreError {
    JobStoreError(.full, "the owner has \(most) jobs that have not ended, and may have no more")
  }
}

/// What holds jobs up, and who goes first. Part of a `JobStore`.
package protocol JobSteering: Sendable {
  /// Pauses a job that has not ended: none of its tasks is granted any more.
  ///
  /// - Parameter stopping: Whether its leases end at once, as `released`. Otherwise what runs goes on to its end.
  /// - Returns: The job's state. Nil: there is no such job.
  func pause(_ job: JobID, stopping: Bool) async throws(JobStoreError) -> JobState?

  /// Takes up a job that is paused, or held until a time. What is to be done before it is still waited for.
  ///
  /// - Returns: The job's state. Nil: there is no such job.
  func resume(_ job: JobID) async throws(JobStoreError) -> JobState?

  /// Records that somebody watches the film of a job that has not ended, for `LeasePolicy.watching`. To be repeated
  /// while they do.
  ///
  /// - Returns: The job's state. Nil: there is no such job.
  func watch(_ job: JobID) async throws(JobStoreError) -> JobState?

  /// Changes the priority of a job that has not ended.
  ///
  /// - Returns: The job's state. Nil: there is no such job.
  func setPriority(of job: JobID, to priority: Int32) async throws(JobStoreError) -> JobState?

  /// What an owner has stored. Nil: it may have any number of bytes.
  /// - Parameter owner: Nil: nobody.
  func storage(of owner: String?) async throws(JobStoreError) -> OwnerStorage?

  /// The owners that have jobs that have not ended, have had tasks, or for whom something is set; in their order as
  /// bytes.
  func owners() async throws(JobStoreError) -> [Owner]

  /// Sets what an owner may have, whether it has jobs or not.
  func change(_ owner: String, _ change: OwnerChange) async throws(JobStoreError)
}

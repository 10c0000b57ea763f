/// The content of one frame.
package typealias WireMessage = Sheaf_Frame.OneOf_Message

/// Numbers that both ends of a connection obey (`docs/wire.md`).
package enum WireProtocol {
  /// Peers whose versions differ by at most one work together: see `accepts`.
  package static let version: UInt32 = 1

  /// Whether a peer of another version is understood. The later one of two versions that differ by one has no change
  /// that the earlier one would misunderstand; whatever it adds, the other leaves out.
  package static func accepts(_ other: UInt32) -> Bool {
    other > 0 && max(other, version) - min(other, version) <= 1
  }

  /// The most bytes of content in one `ContentData` or `UploadChunk`. Other messages wait for one of them at most.
  package static let maximumChunk = 256 << 10
  /// How many chunks an uploader may send beyond those that were answered.
  package static let uploadWindow = 32
  /// How many reads a peer may have requested that were not answered yet.
  package static let readWindow = 64
  /// How long the first frame of a connection may take.
  package static let helloTimeout: Duration = .seconds(10)
  /// How many connections a server keeps that have not said hello: of one address, and in all.
  package static let pendingConnections = (ofAddress: 64, all: 256)
  /// How long a peer with a wrong token waits for its refusal.
  package static let refusalDelay: Duration = .seconds(1)
  /// While a frame is not complete, `leastProgress` bytes must arrive within this time.
  package static let frameTimeout: Duration = .seconds(30)
  /// In bytes. Far below what the slowest link carries in `frameTimeout`.
  package static let leastProgress = 16 << 10
  /// In bytes. While somebody waits for memory, a frame that holds some must bring this much in a sixth of
  /// `frameTimeout`.
  package static let contendedProgress = 64 << 10
  /// The most bytes that a server holds for all connections together (`MemoryBudget`).
  package static let serverMemory = 256 << 20
}

/// The longest frame that an end accepts, in bytes, without the four bytes of length.
package struct FrameLimits: Sendable, Hashable {
  /// For the first frame, when the peer is not known yet.
  package var first: Int
  /// For all frames after the first.
  package var later: Int

  package init(first: Int, later: Int) {
    self.first = first
    self.later = later
  }

  /// What a coordinator accepts from a worker: a chunk and the fields around it.
  package static let fromWorker = FrameLimits(first: 4 << 10, later: WireProtocol.maximumChunk + 64 << 10)
  /// What a coordinator accepts from a client: a document may be longer than a chunk.
  package static let fromClient = FrameLimits(first: 4 << 10, later: 8 << 20)
  /// What workers and clients accept from the coordinator, whose address they were given: a plan, or the description of
  /// a long film of variable frame rate, is long.
  package static let fromCoordinator = FrameLimits(first: 4 << 10, later: 64 << 20)
}

/// Why an operation on a connection failed.
package struct WireError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    /// No coordinator answers at the address.
    case unreachable
    /// The coordinator's certificate is not one that is trusted.
    case untrusted
    /// The coordinator does not accept the certificate that this end has presented.
    case ownCertificate
    /// Another program listens at the address.
    case addressInUse
    /// The peer sent a refusal and closed the connection.
    case refused(Sheaf_Refusal.Code)
    /// The peer sent something that the protocol does not allow.
    case violation
    /// A frame was damaged on its way. The same messages may arrive whole over another connection.
    case damaged
    /// The peer took too long.
    case timeout
    /// The connection is closed.
    case closed
    /// Content could not be read or uploaded. The connection stays open.
    case content
    /// Content could not be uploaded for now, such as when the coordinator's disk is full. The same upload may succeed
    /// after a wait, and goes on where it was interrupted. The connection stays open.
    case temporary
  }

  package var code: Code
  /// A sentence for a person.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }

  /// The code of the refusal that reports this error to the peer.
  var refusalCode: Sheaf_Refusal.Code {
    switch code {
    case .refused(let code): code
    case .unreachable, .untrusted, .ownCertificate, .addressInUse, .temporary: .unavailable
    // The peer may have been stopped, as by a laptop's lid, and repeats what it did.
    case .timeout, .damaged: .unavailable
    case .violation, .closed, .content: .protocol
    }
  }
}

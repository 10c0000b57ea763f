/// What one frame says.
package typealias WireMessage = Sheaf_Frame.OneOf_Message

/// Numbers that both ends hold to (docs/wire.md).
package enum WireProtocol {
  /// Both ends speak the same version or part.
  package static let version: UInt32 = 2
  /// The most bytes of content in one `ContentData` or `UploadChunk`.
  package static let maximumChunk = 1 << 20
  /// Chunks that an uploader may have sent beyond those that were answered.
  package static let uploadWindow = 8
  /// Reads that a peer may have asked for and not been answered.
  package static let readWindow = 16
  /// How long the first frame of a connection may take.
  package static let helloTimeout: Duration = .seconds(10)
}

/// The longest frame, without its four bytes of length, that an end takes.
package struct FrameLimits: Sendable, Hashable {
  /// For the first frame, when nothing is known of the peer.
  package var first: Int
  /// For all after it.
  package var later: Int

  package init(first: Int, later: Int) {
    self.first = first
    self.later = later
  }

  /// What a coordinator takes of workers: a chunk and what goes round it.
  package static let fromWorker = FrameLimits(first: 4 << 10, later: WireProtocol.maximumChunk + 64 << 10)
  /// What a coordinator takes of clients: a document may be longer than a chunk.
  package static let fromClient = FrameLimits(first: 4 << 10, later: 8 << 20)
  /// What workers and clients take of the coordinator that they chose to trust: a plan, or the description of a long
  /// film of variable frame rate, is long.
  package static let fromCoordinator = FrameLimits(first: 4 << 10, later: 64 << 20)
}

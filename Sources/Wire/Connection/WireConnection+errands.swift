extension WireConnection {
  /// Does what goes on beside the reading of a connection. Where it fails the peer is told why and the connection is
  /// closed, so that `inbound` ends too: a reader knows nothing of what its siblings throw.
  package func beside(_ errand: () async throws -> Void) async throws {
    do {
      try await errand()
    } catch {
      if !Task.isCancelled {
        let word = error as? WireError ?? WireError(.refused(.unavailable), "\(error)")
        await refuse(word.refusalCode, word.message)
      }
      throw error
    }
  }
}

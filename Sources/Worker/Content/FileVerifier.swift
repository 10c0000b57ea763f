import Digest

/// Digests files, each once as long as it stays as it is, and once for all who ask at the same time.
actor FileVerifier {
  private var digests: [FileIdentity: Task<SHA256Digest, any Error>] = [:]

  /// The digest of an open file. Throws what reading it threw.
  func digest(of file: OpenFile, _ identity: FileIdentity) async throws -> SHA256Digest {
    if let digest = digests[identity] { return try await digest.value }
    let task = Task { try await FileThreads.run { try FileDigest.of(descriptor: file.descriptor).digest } }
    digests[identity] = task
    do {
      return try await task.value
    } catch {
      digests[identity] = nil
      throw error
    }
  }

  /// Notes what is known already.
  func note(_ digest: SHA256Digest, for identity: FileIdentity) {
    digests[identity] = Task { digest }
  }
}

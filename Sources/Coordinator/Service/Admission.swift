import Jobs
import SwiftProtobuf
import Wire

extension Farm.Configuration {
  /// Whether a peer may stay: the token, and for a worker that its words can be kept.
  func admit(_ hello: Sheaf_Hello) -> Result<Sheaf_Welcome, WireError> {
    if let token, !Self.areEqual(token, hello.token) {
      let reason = hello.token.isEmpty ? "this coordinator wants a token, and none was given" : "the token is wrong"
      return .failure(WireError(.refused(.token), reason))
    }
    switch hello.role {
    case .client: break
    case .worker:
      guard (1...128).contains(hello.workerID.utf8.count), hello.workerID.utf8.allSatisfy({ (33...126).contains($0) })
      else { return .failure(WireError(.violation, "a worker's id is 1 to 128 visible ASCII characters")) }
      guard (1...1024).contains(hello.slots) else {
        return .failure(WireError(.violation, "a worker has 1 to 1024 slots, not \(hello.slots)"))
      }
      guard !hello.build.isEmpty, hello.build.utf8.count <= 1024, hello.name.utf8.count <= 256 else {
        return .failure(WireError(.violation, "a worker has a build of 1 to 1024 bytes and a name of up to 256"))
      }
    case .unspecified, .UNRECOGNIZED:
      return .failure(WireError(.violation, "a hello is a worker's or a client's"))
    }
    return .success(
      .with {
        $0.protocolVersion = WireProtocol.version
        $0.server = name
        $0.heartbeatMilliseconds = policy.heartbeat.wholeMilliseconds
        $0.leaseMilliseconds = policy.lease.wholeMilliseconds
        $0.maxChunkBytes = UInt32(WireProtocol.maximumChunk)
      })
  }

  /// Takes as long whatever the difference, so that nobody learns a token letter by letter.
  static func areEqual(_ secret: String, _ guess: String) -> Bool {
    let (secret, guess) = (Array(secret.utf8), Array(guess.utf8))
    var difference = UInt8(secret.count == guess.count ? 0 : 1)
    for index in guess.indices { difference |= guess[index] ^ (secret.isEmpty ? 1 : secret[index % secret.count]) }
    return difference == 0
  }
}

extension Duration {
  var wholeMilliseconds: UInt32 {
    UInt32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
  }
}

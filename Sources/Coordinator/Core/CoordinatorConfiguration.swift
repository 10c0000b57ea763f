import FarmModel
package import Jobs
import SwiftProtobuf
package import TLS
import Wire

/// The settings of a coordinator.
package struct CoordinatorConfiguration: Sendable {
  /// The name of this coordinator in `sheaf workers`.
  package var name: String
  /// What clients present. Nil: every peer that can connect is admitted.
  package var token: String?
  /// What workers present, and no client. Nil: workers present that of the clients.
  package var workerToken: String?
  /// Signs the certificates that this farm's workers must have. Nil: their tokens are enough.
  package var authority: CertificateAuthority?
  /// How long a worker's certificate is valid.
  package var certificateLifetime: Duration = .seconds(86_400)
  package var maximumConnections: Int
  /// The same for all coordinators of a database.
  package var policy: LeasePolicy
  /// How long results and failures that workers have reported may take to reach the store when the coordinator stops.
  /// It must be shorter than the time that container engines wait before they kill.
  package var grace: Duration = .seconds(7)
  /// Below this many free bytes of the content store's disk no task is granted and no upload is taken. 0: there is no
  /// such limit.
  package var minimumFree: Int64 = 0
  /// The most bytes that the content store keeps beyond what is needed. Nil: it grows.
  package var storeLimit: Int64?
  /// How long a film that was not fetched is kept.
  package var keepResults: Duration = .seconds(7 * 86_400)
  /// How long a job is kept after its end.
  package var keepJobs: Duration = .seconds(7 * 86_400)
  /// How long a client may send nothing while nothing is being answered.
  package var idleLimit: Duration = .seconds(300)
  /// Whether a job waits for a worker that has the author's own compositors that it uses. If not, it fails if no worker
  /// that is connected has them.
  package var waitsForCompositors = true
  /// The numbers of the segments that are rendered of each film, which has these alone. Nil: all of them.
  package var segments: Set<Int>?
  /// Whether who does what is recorded.
  package var audits = true
  /// How long that is kept, and tokens that are not valid any more.
  package var keepAudit: Duration = .seconds(365 * 86_400)
  /// How often old jobs are deleted and the content store is trimmed.
  package var retentionInterval: Duration = .seconds(60)

  package init(
    name: String, token: String?, maximumConnections: Int = 1024, policy: LeasePolicy = LeasePolicy()
  ) {
    self.name = name
    self.token = token
    self.maximumConnections = maximumConnections
    self.policy = policy
  }

  /// Checks the fields of a hello that the store keeps.
  func welcome(_ hello: Sheaf_Hello) -> Result<Sheaf_Welcome, WireError> {
    switch hello.role {
    case .client: break
    case .worker:
      guard (1...128).contains(hello.workerID.utf8.count), hello.workerID.utf8.allSatisfy({ (33...126).contains($0) })
      else { return .failure(WireError(.violation, "a worker's id must be 1 to 128 visible ASCII characters")) }
      guard hello.session >= 1 else {
        return .failure(WireError(.violation, "a worker's connections must count from 1, not \(hello.session)"))
      }
      guard (1...1024).contains(hello.slots) else {
        return .failure(WireError(.violation, "a worker must have 1 to 1024 slots, not \(hello.slots)"))
      }
      guard !hello.build.isEmpty, hello.build.utf8.count <= 1024, hello.name.utf8.count <= 256 else {
        return .failure(WireError(.violation, "a worker must have a build of 1 to 1024 bytes and a name of up to 256"))
      }
      // A slash is behind the owner of a token, and what is written must be read as the same.
      guard !hello.workerID.contains("/"), hello.name.unicodeScalars.allSatisfy({ $0 != "/" && $0.value >= 32 }) else {
        return .failure(WireError(.violation, "a worker's name must have no slash and no control character"))
      }
      if let problem = PoolName.problem(with: hello.pools) { return .failure(WireError(.violation, problem)) }
    case .unspecified, .UNRECOGNIZED:
      return .failure(WireError(.violation, "the role of a hello must be worker or client"))
    }
    return .success(
      .with {
        $0.protocolVersion = WireProtocol.version
        $0.server = name
        $0.heartbeatMilliseconds = UInt32(clamping: policy.heartbeat.milliseconds)
        $0.leaseMilliseconds = UInt32(clamping: policy.lease.milliseconds)
        $0.maxChunkBytes = UInt32(WireProtocol.maximumChunk)
        $0.hangMilliseconds = UInt32(clamping: policy.workerHang.milliseconds)
      })
  }
}

package import Digest
import FoundationEssentials
import SwiftProtobuf

extension Sheaf_Content {
  /// - Parameter path: Relative to the media root that both ends share; empty where there is none.
  package init(digest: SHA256Digest, size: Int64, path: String = "") {
    self.init()
    self.digest = Data(digest.bytes)
    self.size = UInt64(size)
    self.path = path
  }

  /// Nil where the peer sent something that is no SHA-256.
  package var sha256: SHA256Digest? { SHA256Digest(bytes: digest) }
}

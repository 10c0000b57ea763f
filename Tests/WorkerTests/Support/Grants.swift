import Digest
import Foundation
import SwiftProtobuf
import Wire

extension Sheaf_Lease {
  static func task(epoch: Int64) -> Sheaf_Lease {
    .with {
      $0.task = "job/0"
      $0.epoch = epoch
    }
  }
}

extension Sheaf_Grant {
  static func probe(_ digest: SHA256Digest, _ data: Data, path: String = "", epoch: Int64 = 1) -> Sheaf_Grant {
    .with {
      $0.lease = .task(epoch: epoch)
      $0.kind = .probe
      $0.payload = Data(#"{"probe":{}}"#.utf8)
      $0.inputs = [Sheaf_Content(Content(digest: digest, size: Int64(data.count)), path: path)]
      $0.work = 1
    }
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ message: WireMessage) {
    description = "\(message)"
  }
}

extension WireMessage {
  /// Whether it ends a task.
  var isResult: Bool {
    switch self {
    case .publish, .failure: true
    default: false
    }
  }

  /// Whether it is a heartbeat that says why no task is taken; nil if it is no heartbeat.
  var isPaused: Bool? {
    guard case .heartbeat(let heartbeat) = self else { return nil }
    return !heartbeat.paused.isEmpty
  }

  /// Whether it is a heartbeat with so many free slots and so many leases.
  func isHeartbeat(freeSlots: UInt32, leases: Int) -> Bool {
    guard case .heartbeat(let heartbeat) = self else { return false }
    return heartbeat.freeSlots == freeSlots && heartbeat.progress.count == leases
  }
}

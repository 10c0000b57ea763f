import Digest
import FoundationEssentials
import SwiftProtobuf
import Wire

/// Between the wire's messages and the agent's words.
extension AgentEvent {
  /// Nil for messages that say nothing to an agent. Throws what breaks the protocol.
  init?(_ message: WireMessage) throws(WireError) {
    switch message {
    case .grant(let grant): self = .granted(try TaskGrant(grant))
    case .heartbeatReply(let reply): self = .heartbeatAnswered(cancelled: reply.cancelled.map(TaskLease.init))
    case .publishReply(let reply):
      let outcome: PublishOutcome
      switch reply.outcome {
      case .published, .duplicate: outcome = .published
      case .missingContent: outcome = .missingContent
      case .stale: outcome = .stale
      case .unspecified, .UNRECOGNIZED: throw WireError(.violation, "a publish was answered with no outcome")
      }
      self = .publishAnswered(TaskLease(reply.lease), outcome)
    case .failureReply(let reply): self = .failureAnswered(TaskLease(reply.lease))
    default: return nil
    }
  }
}

extension TaskLease {
  init(_ lease: Sheaf_Lease) {
    self.init(task: lease.task, epoch: lease.epoch)
  }

  var message: Sheaf_Lease {
    .with {
      $0.task = task
      $0.epoch = epoch
    }
  }
}

extension TaskGrant {
  init(_ grant: Sheaf_Grant) throws(WireError) {
    var inputs: [InputContent] = []
    for input in grant.inputs {
      guard let digest = input.sha256, let size = Int64(exactly: input.size) else {
        throw WireError(.violation, "an input of task \(grant.lease.task) is named by no SHA-256")
      }
      inputs.append(InputContent(digest: digest, size: size, path: input.path))
    }
    self.init(
      lease: TaskLease(grant.lease), kind: "\(grant.kind)", payload: Array(grant.payload), inputs: inputs,
      work: grant.work)
  }
}

extension AgentEffect {
  /// What the effect says to the coordinator; nil where it does something else.
  var message: WireMessage? {
    switch self {
    case .sendHeartbeat(let progress, let freeSlots, let isDraining):
      .heartbeat(
        .with {
          $0.progress = progress.map { progress in
            .with {
              $0.lease = progress.lease.message
              $0.done = progress.done
            }
          }
          $0.freeSlots = UInt32(freeSlots)
          $0.draining = isDraining
        })
    case .sendPublish(let lease, let result):
      .publish(
        .with {
          $0.lease = lease.message
          $0.digest = Data(result.digest.bytes)
          $0.size = UInt64(result.size)
          $0.cpuMilliseconds = result.cpuMilliseconds
        })
    case .sendFailure(let lease, let failure):
      .failure(
        .with {
          $0.lease = lease.message
          $0.cause =
            switch failure.cause {
            case .media: .media
            case .infrastructure: .infrastructure
            case .document: .document
            }
          $0.message = failure.message
        })
    case .disconnect, .start, .kill, .upload, .discard, .leave: nil
    }
  }
}

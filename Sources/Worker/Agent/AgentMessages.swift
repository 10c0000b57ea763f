import Digest
import FarmModel
import FarmWire
import FoundationEssentials
import SwiftProtobuf
import Wire

// The agent's events and effects as messages of the wire.

extension AgentEvent {
  /// Nil for messages that an agent ignores. Throws if a message breaks the protocol.
  init?(_ message: WireMessage) throws(WireError) {
    switch message {
    case .grant(let grant): self = .granted(try TaskGrant(grant))
    case .heartbeatReply(let reply):
      self = .heartbeatAnswered(
        cancelled: try reply.cancelled.map { lease throws(WireError) in try Lease(lease) }, drains: reply.drain)
    case .publishReply(let reply):
      let outcome: PublishAnswer
      switch reply.outcome {
      case .published, .duplicate: outcome = .published
      case .missingContent: outcome = .missingContent
      case .stale: outcome = .stale
      case .unspecified, .UNRECOGNIZED: throw WireError(.violation, "the reply to a publish has no outcome")
      }
      self = .publishAnswered(try Lease(reply.lease), outcome)
    case .failureReply(let reply): self = .failureAnswered(try Lease(reply.lease))
    default: return nil
    }
  }
}

extension AgentEffect {
  /// The message that carries out the effect; nil if something else does.
  var message: WireMessage? {
    switch self {
    case .sendHeartbeat(let progress, let freeSlots, let isDraining, let paused):
      .heartbeat(
        .with {
          $0.progress = progress.map { progress in
            .with {
              $0.lease = progress.lease.message
              $0.done = progress.done
              $0.moved = progress.moved
            }
          }
          $0.freeSlots = UInt32(freeSlots)
          $0.draining = isDraining
          $0.paused = paused ?? ""
        })
    case .sendPublish(let lease, let result):
      .publish(
        .with {
          $0.lease = lease.message
          $0.digest = Data(result.content.digest.bytes)
          $0.size = UInt64(result.content.size)
          $0.damage = Data(result.damage)
          $0.usage = result.usage.message
        })
    case .sendFailure(let lease, let failure):
      .failure(
        .with {
          $0.lease = lease.message
          $0.end = failure.end.message
          $0.message = failure.message
          if let process = failure.process { $0.process = process.message }
          if let digest = failure.damagedInput { $0.damagedInput = Data(digest.bytes) }
          if let usage = failure.usage { $0.usage = usage.message }
        })
    case .disconnect, .start, .kill, .upload, .discard, .reportEnd, .leave: nil
    }
  }
}

extension TaskGrant {
  fileprivate init(_ grant: Sheaf_Grant) throws(WireError) {
    var inputs: [InputContent] = []
    for input in grant.inputs {
      guard let content = input.content else {
        throw WireError(.violation, "an input of task \(grant.lease.task) has no SHA-256 or no size")
      }
      inputs.append(InputContent(content: content, path: input.path))
    }
    self.init(
      lease: try Lease(grant.lease), kind: "\(grant.kind)", job: grant.job,
      trace: TraceContext(grant.traceparent)?.traceID ?? "", payload: Array(grant.payload),
      inputs: inputs, work: grant.work, isFilm: grant.kind == .stitch)
  }
}
